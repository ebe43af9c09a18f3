"""
Checkpoints and the offsets of groups on the target (Java: ``MirrorCheckpointTask``).

Pure decisions: what a group's committed offset becomes downstream, whether that is news, and which
offsets the target's group of the same name should be given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from mm2.core.codec import Checkpoint
from mm2.core.filters import TopicFilter
from mm2.core.model import GroupId, SourceAndTarget, TopicPartition
from mm2.core.policy import ReplicationPolicy


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """What a group has committed for one partition."""

    offset: int
    metadata: str = ""


class Translator(Protocol):
    """What translates offsets of the source, as ``OffsetSyncStore`` does."""

    def translate(self, partition: TopicPartition, upstream_offset: int) -> int | None:
        """Returns the offset downstream; None or a negative number if it has none."""


def downstream_partition(
    policy: ReplicationPolicy, flow: SourceAndTarget, partition: TopicPartition
) -> TopicPartition:
    """
    Names a partition of the source as the target does (C285).

    A copy of the target's own topic is that topic there, unwrapped altogether and not only by one
    name (C286).
    """
    if policy.topic_source(partition.topic) == flow.target:
        return TopicPartition(policy.original_topic(partition.topic), partition.partition)
    topic = policy.format_remote_topic(flow.source, partition.topic)
    return TopicPartition(topic, partition.partition)


def checkpoints_for_group(
    group: GroupId,
    committed: Mapping[TopicPartition, CommittedOffset | None],
    *,
    flow: SourceAndTarget,
    policy: ReplicationPolicy,
    topic_filter: TopicFilter,
    translator: Translator,
    last: Mapping[TopicPartition, Checkpoint],
) -> Iterator[Checkpoint]:
    """
    Yields the checkpoints to emit for what a group has committed on the source (C284).

    Args:
        group: the consumer group.
        committed: its offsets by the source's partitions; None where there is none.
        flow: from where to where.
        policy: names the topics downstream.
        topic_filter: only its topics count.
        translator: translates the offsets.
        last: the group's last checkpoints by downstream partition. Those yielded are news beside
            them; the caller adds each one.
    """
    for partition, commit in committed.items():
        if commit is None or not topic_filter.should_replicate_topic(partition.topic):
            continue
        offset = translator.translate(partition, commit.offset)
        if offset is None or offset < 0:
            continue
        downstream = downstream_partition(policy, flow, partition)
        checkpoint = Checkpoint(group, downstream, commit.offset, offset, commit.metadata)
        if is_more_recent(checkpoint, last.get(downstream)):
            yield checkpoint


def is_more_recent(checkpoint: Checkpoint, last: Checkpoint | None) -> bool:
    """
    Tells whether a checkpoint is news (C291).

    Downstream offsets go forward only, unless the group itself went back on the source.
    """
    return (
        last is None
        or checkpoint.upstream_offset < last.upstream_offset
        or checkpoint.downstream_offset > last.downstream_offset
    )


def group_offsets_to_sync(
    checkpoints: Iterable[Checkpoint],
    idle: Mapping[TopicPartition, CommittedOffset | None] | None,
) -> dict[TopicPartition, CommittedOffset]:
    """
    Returns the offsets to give to the target's group of the same name (C301, C309).

    Args:
        checkpoints: the group's last checkpoints, one per downstream partition.
        idle: what the group has committed on the target, if it exists there and has no members; a
            partition with None was committed and reset. None if nothing is known of the group,
            which then counts as new: all its offsets are written, and the broker refuses that if
            the group has members (C304).
    """
    offsets = {
        each.partition: CommittedOffset(each.downstream_offset, each.metadata)
        for each in checkpoints
    }
    if idle is None:
        return offsets
    return {
        partition: offset
        for partition, offset in offsets.items()
        if (current := idle.get(partition)) is None or current.offset < offset.offset
    }
