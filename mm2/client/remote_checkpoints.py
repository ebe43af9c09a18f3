"""Reads the checkpoints that stand on a cluster, whoever has written them."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

import structlog

from mm2.core.internal_records import Checkpoint
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy
from mm2.core.topics.cycle_detection import checkpoint_topics
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import SchemaError
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.logs.records import Record

log = structlog.get_logger()

Group = TypeVar("Group", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCheckpoint:
    """
    Where a group of another cluster is in the copies on this one.

    Attributes:
        timestamp_ms: when it was written, ms since the epoch.
    """

    checkpoint: Checkpoint
    timestamp_ms: int

    @property
    def exact(self) -> bool:
        """
        Whether the record at the downstream offset is the first one that the group has not read.

        Otherwise it may have read some of those that follow.
        """
        return self.checkpoint.exact

    @property
    def committed(self) -> CommittedOffset:
        """What the group should be given on this cluster."""
        return CommittedOffset(self.checkpoint.downstream_offset, self.checkpoint.metadata)


GroupCheckpoints = dict[GroupId, dict[TopicPartition, RemoteCheckpoint]]


def topic_of_checkpoints(
    policy: ReplicationPolicy, topics: Collection[TopicName], upstream: str, *, cluster: str
) -> TopicName:
    """
    Returns the topic that holds the checkpoints of another cluster.

    Args:
        topics: those of the cluster that is asked.
        cluster: the alias of the one that is asked.

    Raises:
        UnknownTopic: there is none; the message names those that there are.
    """
    topic = policy.checkpoints_topic(ClusterAlias(upstream))
    if topic not in topics:
        others = ", ".join(sorted(checkpoint_topics(policy, topics))) or "none"
        message = f"no checkpoints of {upstream}: no topic {topic}; there are: {others}"
        raise UnknownTopic(cluster, message)
    return topic


async def last_checkpoints(
    records: AsyncIterable[Record], is_meant: Callable[[GroupId], bool]
) -> GroupCheckpoints:
    """
    Returns the last checkpoint of each group that is meant and downstream partition (C143, C144).

    A record that is none is passed over. A tombstone takes away what stood under its key, where
    Java's client fails.
    """
    found: GroupCheckpoints = {}
    keys: dict[bytes | None, Checkpoint] = {}
    async for record in records:
        if record.value is None:
            if (gone := keys.pop(record.key, None)) is not None:
                found[gone.group].pop(gone.partition, None)
            continue
        try:
            checkpoint = Checkpoint.decode(record.key, record.value, record.headers)
        except SchemaError as error:
            log.warning("checkpoint.ignored", offset=record.offset, error=str(error))
            continue
        if is_meant(checkpoint.group):
            keys[record.key] = checkpoint
            found.setdefault(checkpoint.group, {})[checkpoint.partition] = _remote(
                checkpoint, record
            )
    return {group: partitions for group, partitions in found.items() if partitions}


def of_live_topics(
    found: Mapping[Group, Mapping[TopicPartition, RemoteCheckpoint]],
    live: Mapping[TopicName, UUID | None],
) -> dict[Group, dict[TopicPartition, RemoteCheckpoint]]:
    """
    Checkpoints of topics that were deleted and created again begin at the start.

    As the flow of checkpoints does where it runs; what was committed upstream stays.

    Args:
        live: ids of the topics downstream; what is not known contradicts nothing.
    """
    return {
        group: {
            where: each
            if each.checkpoint.may_be_about(live.get(where.topic))
            else _started_over(each)
            for where, each in known.items()
        }
        for group, known in found.items()
    }


def _started_over(last: RemoteCheckpoint) -> RemoteCheckpoint:
    checkpoint = replace(last.checkpoint, downstream_offset=0, metadata="", exact=False)
    return replace(last, checkpoint=checkpoint)


def _remote(checkpoint: Checkpoint, record: Record) -> RemoteCheckpoint:
    return RemoteCheckpoint(checkpoint=checkpoint, timestamp_ms=record.timestamp_ms)
