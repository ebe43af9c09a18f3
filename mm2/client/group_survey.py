"""
Reads what the clusters of a flow have about consumer groups, for all commands about groups.

Each function reads one thing: who follows which groups, checkpoints, copied positions, heartbeats,
    and where logs begin and end. All raise ``ClusterError`` if a cluster does not answer, or
    refuses: ``mm2 groups`` leaves out what cannot be read; a move is refused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from mm2.client.remote_checkpoints import GroupCheckpoints, last_checkpoints
from mm2.config.flow_settings import FlowConfig
from mm2.core.failover.copy_progress import CopyProgress
from mm2.core.filters import build_group_filter
from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.positions.exactly_once import MIRROR_GROUP_PREFIX
from mm2.errors import ClusterError, SchemaError
from mm2.herder.offsets.position_store import FlowPositions
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import FlowClusters, admin_clients, check_reachable
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.kafka.logs.first_records import Range
from mm2.kafka.logs.read_log import read_to_end, records_to_end
from mm2.kafka.logs.records import Record

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterClients:
    """The clients of one cluster; ``consumer`` has Java's client keys."""

    alias: ClusterAlias
    admin: Admin
    consumer: Mapping[str, str]


def followed_by(config: FlowConfig) -> Callable[[GroupId], bool]:
    """Which groups a flow follows: never those that hold positions."""
    group_filter = build_group_filter(config.checkpoint.properties)
    return lambda group: (
        not group.startswith(MIRROR_GROUP_PREFIX) and group_filter.should_replicate_group(group)
    )


async def read_checkpoints(
    config: FlowConfig,
    upstream: ClusterAlias,
    side: ClusterClients,
    is_meant: Callable[[GroupId], bool] = lambda _: True,
) -> GroupCheckpoints:
    """Last checkpoints of groups of ``upstream`` on a cluster; none if it has no topic of them."""
    topic = build_policy(config.checkpoint.properties).checkpoints_topic(upstream)
    return await last_checkpoints(records_of(side, topic), is_meant)


async def known_checkpoints(
    config: FlowConfig, target: Admin, is_meant: Callable[[GroupId], bool] = lambda _: True
) -> GroupCheckpoints:
    """The flow's last checkpoints on its target; none if it has no topic for them."""
    consumer = config.checkpoint.target_consumer("checkpoints-target-consumer")
    side = ClusterClients(alias=config.flow.target, admin=target, consumer=consumer)
    return await read_checkpoints(config, config.flow.source, side, is_meant)


async def checkpoints_now(
    config: FlowConfig, is_meant: Callable[[GroupId], bool]
) -> GroupCheckpoints:
    """As ``known_checkpoints``, of a target that must answer soon."""
    async with admin_clients(config) as clusters:
        await check_reachable(clusters.target)
        return await known_checkpoints(config, clusters.target, is_meant)


async def records_of(side: ClusterClients, topic: str) -> AsyncIterator[Record]:
    """All records of a topic of one partition, in their order; none if it is not there."""
    if TopicName(topic) in await side.admin.list_topics():
        async for record in records_to_end(side.alias, side.consumer, topic, partitions=[0]):
            yield record


async def read_copy_progress(config: FlowConfig, clusters: FlowClusters) -> CopyProgress:
    """The positions of a flow; empty if it never had any."""
    if config.herder.offsets_topic not in await clusters.target.list_topics():
        return CopyProgress()
    return CopyProgress(*await FlowPositions(config, clusters).last())


async def newest_heartbeat_ms(
    side: ClusterClients, topic: str, flow: SourceAndTarget | None = None
) -> int | None:
    """
    When the newest heartbeat in a topic was sent, ms since the epoch; None if there is none.

    Args:
        flow: only heartbeats of this flow count; None for those of all.
    """
    if topic not in await side.admin.list_topics():
        return None
    newest: int | None = None
    for record in await read_to_end(side.alias, side.consumer, topic, newest_only=True):
        try:
            heartbeat = Heartbeat.decode(record.key, record.value)
        except SchemaError:
            continue
        if flow in (None, SourceAndTarget(heartbeat.source, heartbeat.target)):
            newest = max(newest or 0, heartbeat.timestamp_ms)
    return newest


async def log_ranges(
    side: ClusterClients, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, Range]:
    """Where logs begin and end; partitions that do not exist are left out."""
    asked = set(partitions)
    known = await side.admin.describe_topics({where.topic for where in asked})
    there = [
        where
        for where in asked
        if where.topic in known and where.partition < known[where.topic].partitions
    ]
    starts = await side.admin.list_offsets(there, OffsetAt.EARLIEST)
    ends = await side.admin.list_offsets(there, OffsetAt.LATEST)
    return {where: (starts[where], ends[where]) for where in starts if where in ends}


def all_answers(answers: Mapping[str, T | ClusterError]) -> dict[str, T]:
    """
    The answers about groups.

    Raises:
        ClusterError: one of them is a failure; part of what a group has is not enough for a move.
    """
    found: dict[str, T] = {}
    for group, answer in answers.items():
        if isinstance(answer, ClusterError):
            raise answer
        found[group] = answer
    return found
