"""
Finds what a flow is to mirror, and makes the target ready for it.

Java's ``MirrorSourceConnector`` without its tasks: which source topics are mirrored, which remote
topics and partitions are missing, and what of settings and ACLs has to be copied.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.config.offset_topics import accepted, accepted_topics
from mm2.core.filters import build_config_property_filter
from mm2.core.model import TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy, build_policy
from mm2.core.topics.acls import AclBinding
from mm2.core.topics.cycle_detection import is_own_copy
from mm2.core.topics.remote_configs import AlterConfig, ConfigEntry
from mm2.core.topics.topic_plan import (
    CreateTopic,
    GrowTopic,
    TopicDescription,
    TopicPlan,
    plan_topics,
)
from mm2.errors import ClusterError, NotAuthorized
from mm2.herder.control.leader_state import LeaderState
from mm2.herder.topics.acl_sync import TopicAcls
from mm2.herder.topics.config_sync import TopicSettings
from mm2.herder.topics.topic_creation import create_topics, grow_topics
from mm2.herder.topics.topic_deletion import TopicDeletion
from mm2.kafka.client_errors import TopicExists, needs_more_brokers
from mm2.kafka.flow_clusters import FlowClusters

log = structlog.get_logger()

Assigned = dict[TopicPartition, TopicName]
"""Source partitions that can be copied now, each with its remote topic."""


class Discovery:
    """
    Reads the topics of both clusters for one flow.

    Attributes:
        is_complete: False while a remote topic or partition could not be created.
    """

    def __init__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        properties = config.source.properties
        self._config = config
        self._clusters = clusters
        self.policy: ReplicationPolicy = build_policy(properties)
        self._accepts = accepted_topics(config)
        self._property_filter = build_config_property_filter(properties)
        self._listed: set[TopicName] = set()
        self._loops: set[TopicName] = set()
        self._failed: Collection[TopicName] = ()
        self._told: dict[TopicName, str] = {}
        self._mirrored: tuple[TopicDescription, ...] = ()
        memory = LeaderState(config)
        self._settings = TopicSettings(clusters, self._property_filter)
        self._acls = TopicAcls(
            config, clusters, policy=self.policy, accepts=self._accepts, memory=memory
        )
        self._deletion = TopicDeletion(
            config, clusters, policy=self.policy, accepts=self._accepts, memory=memory
        )
        self.is_complete = True

    async def refresh(self) -> Assigned:
        """
        Creates remote topics and partitions that are missing, and returns what can be copied.

        A topic that could not be created is left out, and tried again next time; the reason is
        logged once.
        """
        target, plan = await self.planned()
        return self._assignable(target | await self._apply(plan))

    async def planned(self) -> tuple[dict[TopicName, TopicDescription], TopicPlan]:
        """
        Compares the clusters; returns the remote topics that exist, and what is to be created.

        Changes nothing. ``mirrored`` and ``listed`` are as of this comparison afterwards.
        """
        source = await self._clusters.source.describe_topics(await self._source_topics())
        target_names = await self._clusters.target.list_topics()
        remotes = {self.remote(topic) for topic in source} & target_names
        target = await self._clusters.target.describe_topics(remotes)
        self._mirrored = tuple(sorted(source.values()))
        configs = await self._configs_of_new(source, target)
        plan = await asyncio.to_thread(  # Patterns of excluded properties may take long.
            plan_topics,
            [t for t in source.values() if t.name in configs or self.remote(t.name) in target],
            target.values(),
            policy=self.policy,
            alias=self._config.flow.source,
            configs=configs,
            property_filter=self._property_filter,
            replication_factor=(
                None
                if self._config.source.replication_factor_of_source
                else self._config.source.replication_factor
            ),
        )
        return target, plan

    @property
    def mirrored(self) -> tuple[TopicDescription, ...]:
        """The source topics that the flow mirrors, in order."""
        return self._mirrored

    @property
    def listed(self) -> frozenset[TopicName]:
        """All topics of the source."""
        return frozenset(self._listed)

    async def config_changes(self) -> list[AlterConfig]:
        """What ``sync_configs`` would change of remote topics that exist."""
        return await self._settings.changes(await self._existing_remotes())

    async def missing_acls(self) -> frozenset[AclBinding]:
        """
        The rules that ``sync_acls`` would create.

        Raises:
            SecurityDisabled: a cluster has no authorizer.
            ClusterError: a cluster does not answer, or refuses to list its rules.
        """
        return await self._acls.missing([topic.name for topic in self._mirrored])

    async def sync_configs(self) -> None:
        """Makes the settings of remote topics follow those of their sources."""
        if remotes := await self._existing_remotes():
            await self._settings.sync(remotes)

    async def sync_acls(self) -> None:
        """Copies the ACLs of mirrored topics."""
        await self._acls.sync([topic.name for topic in self._mirrored])

    async def delete_orphans(self) -> None:
        """Deletes copies of deleted topics, if ``source.topic.deleted.policy`` says so."""
        if self._config.source.deletes_topics:
            await self._deletion.look(self._listed, [topic.name for topic in self._mirrored])

    def remote(self, topic: TopicName) -> TopicName:
        """The name of a topic's copy."""
        return self.policy.format_remote_topic(self._config.flow.source, topic)

    async def _existing_remotes(self) -> dict[TopicName, TopicName]:
        known = await self._clusters.target.list_topics()
        remotes = {topic.name: self.remote(topic.name) for topic in self._mirrored}
        return {topic: remote for topic, remote in remotes.items() if remote in known}

    async def _source_topics(self) -> set[TopicName]:
        self._listed = await self._clusters.source.list_topics()
        return await self._without_loops(await accepted(self._accepts, self._listed))

    async def _without_loops(self, topics: set[TopicName]) -> set[TopicName]:
        """Leaves out what would be copied without end if both aliases are of one cluster (C418)."""
        clusters, alias = self._clusters, self._config.flow.source
        if await clusters.source.cluster_id() != await clusters.target.cluster_id():
            return topics
        loops = {topic for topic in topics if is_own_copy(self.policy, topic, alias)}
        if loops != self._loops:
            self._loops = loops
            log.error("flow.mirrors_itself", topics=sorted(loops))
        return topics - loops

    async def _configs_of_new(
        self, source: Iterable[TopicName], target: Collection[TopicName]
    ) -> dict[TopicName, Sequence[ConfigEntry]]:
        """Settings of topics without a remote topic; one that we may not read is left out."""
        new = [topic for topic in source if self.remote(topic) not in target]
        try:
            return dict(await self._clusters.source.describe_configs(new)) if new else {}
        except NotAuthorized:
            found: dict[TopicName, Sequence[ConfigEntry]] = {}
            for topic in new:
                try:
                    found |= await self._clusters.source.describe_configs([topic])
                except NotAuthorized as error:
                    log.warning("remote_topic.not_created", topic=topic, error=str(error))
            return found

    async def _apply(self, plan: TopicPlan) -> dict[TopicName, TopicDescription]:
        failures = {
            **await create_topics(self._clusters.target, plan.create),
            **await grow_topics(self._clusters.target, plan.grow),
        }
        self.is_complete = not failures
        self._tell(failures)
        wanted: list[CreateTopic | GrowTopic] = [*plan.create, *plan.grow]
        made = [each for each in wanted if each.name not in failures]
        for each in made:
            log.info("remote_topic.created", topic=each.name, partitions=each.partitions)
        return {each.name: TopicDescription(each.name, each.partitions) for each in made}

    def _tell(self, failures: Mapping[TopicName, ClusterError]) -> None:
        """A topic that exists, although it is not listed, may be new: said if it stays so."""
        told = {
            topic: _text(error)
            for topic, error in failures.items()
            if not isinstance(error, TopicExists) or topic in self._failed
        }
        for topic, error in told.items():
            if self._told.get(topic) != error:
                log.warning("remote_topic.not_created", topic=topic, error=error)
        self._failed, self._told = failures.keys(), told

    def _assignable(self, target: dict[TopicName, TopicDescription]) -> Assigned:
        assigned: Assigned = {}
        for topic in self._mirrored:
            remote = target.get(self.remote(topic.name))
            count = min(topic.partitions, remote.partitions) if remote is not None else 0
            for number in range(count):
                assigned[TopicPartition(topic.name, number)] = self.remote(topic.name)
        return assigned


def _text(error: ClusterError) -> str:
    """What has failed, and the key to set if that is known."""
    if needs_more_brokers(error):
        return f"{error}: set replication.factor to the number of brokers at most"
    if isinstance(error, TopicExists):
        return f"{error}: the target does not list it; allow us to describe it"
    return str(error)
