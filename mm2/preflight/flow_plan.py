"""
What a flow would do if it were started now.

Decided by the functions that a running flow decides by (``Discovery``); nothing is changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.config.offset_topics import topic_refusals
from mm2.core.checks import Check
from mm2.core.model import SourceAndTarget, TopicName, TopicPartition
from mm2.core.preflight.copy_time import Backlog, total_bytes
from mm2.core.topics.acls import AclBinding
from mm2.core.topics.remote_configs import AlterConfig
from mm2.core.topics.topic_plan import CreateTopic, GrowTopic
from mm2.errors import NotAuthorized
from mm2.herder.offsets.position_store import PositionStore
from mm2.herder.topics.discovery import Discovery
from mm2.herder.topics.internal_topics import InternalTopic, internal_topics
from mm2.kafka.client_errors import NotSupported, SecurityDisabled
from mm2.kafka.flow_clusters import FlowClusters
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.preflight.first_offsets import first_offsets


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCopy:
    """A topic that is to be copied; ``backlogs`` by partition."""

    topic: TopicName
    remote: TopicName
    partitions: int
    backlogs: Mapping[int, Backlog] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Offsets without a copy."""
        return sum(each.records for each in self.backlogs.values())

    @property
    def pending_bytes(self) -> int | None:
        """Bytes without a copy; None if unknown."""
        return total_bytes(self.backlogs.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowPlan:
    """
    What a flow would do.

    Attributes:
        internal: topics that it would create for itself.
        existing: remote topics that are there.
        config_changes: settings that it would change of those.
        acls: rules that it would create.
        skipped: topics of the source that it leaves alone, each with the reason.
        has_run: whether it has positions from an earlier run.
        checks: what keeps it from doing so, or may be a mistake.
    """

    flow: SourceAndTarget
    internal: Sequence[InternalTopic]
    create: Sequence[CreateTopic]
    grow: Sequence[GrowTopic]
    existing: Sequence[TopicName]
    config_changes: Sequence[AlterConfig]
    acls: Sequence[AclBinding]
    skipped: Mapping[TopicName, str]
    copies: Sequence[TopicCopy]
    has_run: bool
    checks: Sequence[Check]

    @property
    def pending_bytes(self) -> int | None:
        """Bytes without a copy; None if unknown."""
        sizes = [each.pending_bytes for each in self.copies]
        known = [each for each in sizes if each is not None]
        return sum(known) if len(known) == len(sizes) else None


async def plan_flow(config: FlowConfig, clusters: FlowClusters) -> FlowPlan:
    """
    Compares the clusters of a flow.

    Raises:
        ClusterError: a cluster does not answer, or refuses what nothing can be planned without.
    """
    about, checks = str(config.flow), list[Check]()
    discovery = Discovery(config, clusters)
    existing, plan = await discovery.planned()
    names = {
        True: await clusters.source.list_topics(),
        False: await clusters.target.list_topics(),
    }
    needed = internal_topics(config, discovery.policy)
    positions = await _positions(config, names[False])
    return FlowPlan(
        flow=config.flow,
        internal=[each for each in needed if each.name not in names[each.is_on_source]],
        create=plan.create,
        grow=plan.grow,
        existing=sorted(existing),
        config_changes=await _config_changes(config, discovery, checks),
        acls=await _acls(config, discovery, about, checks),
        skipped=await asyncio.to_thread(topic_refusals, config, sorted(discovery.listed)),
        copies=await _copies(config, clusters, discovery, positions),
        has_run=bool(positions),
        checks=checks,
    )


async def _positions(config: FlowConfig, names: set[TopicName]) -> dict[TopicPartition, int]:
    return await PositionStore(config).load() if config.herder.offsets_topic in names else {}


async def _config_changes(
    config: FlowConfig, discovery: Discovery, checks: list[Check]
) -> list[AlterConfig]:
    if config.source.sync_topic_configs is None:
        return []
    try:
        return await discovery.config_changes()
    except NotAuthorized as error:
        message = f"which settings would be changed is not known: {error}"
        about = str(config.flow)
        checks.append(Check.caution("topic-settings", about, message))
        return []


async def _acls(
    config: FlowConfig, discovery: Discovery, about: str, checks: list[Check]
) -> list[AclBinding]:
    if config.source.sync_topic_acls is None:
        return []
    try:
        return sorted(await discovery.missing_acls())
    except SecurityDisabled as error:
        checks.append(
            Check.note(
                "topic-acls",
                about,
                f"no ACLs are copied: {error}",
                remedy="Set sync.topic.acls.enabled = false, and nobody asks for them.",
            )
        )
    except NotAuthorized as error:
        message = f"which ACLs would be copied is not known: {error}"
        checks.append(Check.caution("topic-acls", about, message))
    return []


async def _copies(
    config: FlowConfig,
    clusters: FlowClusters,
    discovery: Discovery,
    positions: Mapping[TopicPartition, int],
) -> list[TopicCopy]:
    partitions = [
        TopicPartition(topic.name, number)
        for topic in discovery.mirrored
        for number in range(topic.partitions)
    ]
    begins = await clusters.source.known_offsets(partitions, OffsetAt.EARLIEST)
    ends = await clusters.source.known_offsets(partitions, OffsetAt.LATEST)
    logs = {where: (begins[where], ends[where]) for where in begins if where in ends}
    firsts = await first_offsets(config, clusters.source, positions, logs, now_ms())
    sizes = await _sizes(clusters)

    def backlog(where: TopicPartition) -> Backlog:
        begin, end = logs[where]
        return Backlog(
            records=end - firsts[where],
            offsets=end - begin,
            size=None if sizes is None else sizes.get(where, 0),
        )

    return [
        TopicCopy(
            topic=topic.name,
            remote=discovery.remote(topic.name),
            partitions=topic.partitions,
            backlogs={
                number: backlog(where)
                for number in range(topic.partitions)
                if (where := TopicPartition(topic.name, number)) in logs
            },
        )
        for topic in discovery.mirrored
    ]


async def _sizes(clusters: FlowClusters) -> dict[TopicPartition, int] | None:
    try:
        return await clusters.source.survey.log_sizes()
    except NotSupported:
        return None
