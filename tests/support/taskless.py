"""The control side of a source flow between real clusters, without tasks: it looks when told to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.topics.acls import AclBinding, AclOperation
from mm2.herder.topics.discovery import Discovery
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.flow_clusters import FlowClusters, admin_clients
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.mirror import QUICK

_ALICE = "User:alice"


@dataclass(frozen=True)
class TasklessFlow:
    """
    A flow without tasks.

    Attributes:
        config: of the flow.
        clusters: its admin clients.
        discovery: what looks.
        topic: the name that all its topics begin with.
    """

    config: FlowConfig
    clusters: FlowClusters
    discovery: Discovery
    topic: str

    @property
    def alias(self) -> str:
        """Of the source."""
        return self.config.flow.source

    @property
    def remote(self) -> TopicName:
        """The name of the topic's copy."""
        return TopicName(f"{self.alias}.{self.topic}")

    async def settings(self, topic: str) -> dict[str, str | None]:
        """What a topic of the target is set to."""
        described = await self.clusters.target.describe_configs([TopicName(topic)])
        return {entry.name: entry.value for entry in described[TopicName(topic)]}

    async def rules(self, prefix: str = "") -> set[AclBinding]:
        """ACLs of copies whose topics begin so."""
        found = await self.clusters.target.describe_topic_acls()
        return {rule for rule in found if rule.name.startswith(f"{self.alias}.{prefix}")}

    async def begin(self) -> None:
        """Looks until the topic has its copy: brokers may take a moment to know of a new one."""

        async def looked() -> set[TopicName]:
            await self.look(1)
            return await self.clusters.target.list_topics()

        await eventually_async(looked, until=lambda names: self.remote in names)

    async def look(self, times: int) -> None:
        """Looks at both clusters."""
        for _ in range(times):
            await self.discovery.refresh()
            await self.discovery.delete_orphans()

    async def delete_source(self, name: str) -> None:
        """Deletes a topic of the source, and waits until it is gone."""
        source = self.clusters.source
        await source.delete_topics([TopicName(name)])
        await eventually_async(source.list_topics, until=lambda names: name not in names)


@asynccontextmanager
async def taskless_flow(
    source: Cluster, target: Cluster, unique: str, settings: dict[str, str] | None = None
) -> AsyncIterator[TasklessFlow]:
    """A flow whose topics begin with ``unique``, and whose names are its own."""
    alias = f"S{unique[-8:]}"
    raw = {
        "clusters": f"{alias}, T",
        f"{alias}.bootstrap.servers": source.bootstrap,
        "T.bootstrap.servers": target.bootstrap,
        f"{alias}->T.enabled": "true",
        "topics": f"{unique}.*",
        "heartbeats.replication.enabled": "false",
        **QUICK,
        **(settings or {}),
    }
    flow = SourceAndTarget(ClusterAlias(alias), ClusterAlias("T"))
    config = flow_config(MirrorMakerConfig(raw=raw), flow)
    async with admin_clients(config) as clusters:
        discovery = Discovery(config, clusters)
        await create_internal_topics(config, discovery.policy, clusters, on_source=False)
        yield TasklessFlow(config, clusters, discovery, unique)


def alices_rule(name: str, operation: AclOperation, **more: object) -> AclBinding:
    """A rule of a topic for the user alice."""
    return AclBinding(name=name, principal=_ALICE, operation=operation, **more)  # type: ignore[arg-type]
