"""
Consumer group positions on both clusters: committed, lag, translated offset.

Puts together what the source, the target and the checkpoints tell. Without the source, checkpoints
are all there is, and what only the source knows is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from mm2.core.mirror_records import Checkpoint
from mm2.core.model import GroupId, SourceAndTarget, TopicPartition
from mm2.core.policy import ReplicationPolicy
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.offset_translation import MappedOffset, OffsetTranslation

EXACT: Final = "exact"
APPROXIMATE: Final = "approximate"
TOO_OLD: Final = "too old"
UNKNOWN: Final = "unknown"


class KnownCheckpoint(Protocol):
    """A checkpoint as it stands in its topic."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The offsets."""

    @property
    def exact(self) -> bool:
        """Whether it says of itself that it is exact; Java's never do."""

    @property
    def timestamp_ms(self) -> int:
        """When it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """
    What is known of some groups; None is what could not be asked for.

    Attributes:
        now_ms: the time.
        committed: by group and partition of the source.
        ends: of the source's partitions.
        positions: source offset of the last copied record of each partition.
        checkpoints: by group and partition of the target.
        states: of the groups on the target; a group that is not there has none.
        target_offsets: what the groups have committed on the target.
    """

    now_ms: int
    committed: Mapping[GroupId, Mapping[TopicPartition, CommittedOffset]] | None
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    checkpoints: Mapping[GroupId, Mapping[TopicPartition, KnownCheckpoint]]
    states: Mapping[GroupId, str] = field(default_factory=dict)
    target_offsets: Mapping[GroupId, Mapping[TopicPartition, CommittedOffset]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPosition:
    """
    One group on one partition; None is what is not known.

    Attributes:
        group: which.
        partition: of the source.
        remote: its copy.
        committed: the group's offset on the source; without the source, that of the checkpoint.
        lag: records that the source has and the group has not read.
        mirror_lag: records that the source has and the target has not.
        translated: where the group would go on, on the target.
        accuracy: whether the record there is the first unread one: EXACT, or maybe one before:
            APPROXIMATE; otherwise why it is not translated: TOO_OLD, UNKNOWN.
        checkpoint_age_ms: how long ago the group's last checkpoint was written.
        state: of the group on the target.
        target_offset: what it has committed there.
        exact_since: source offset from which on translations are exact; None: nowhere.
    """

    group: GroupId
    partition: TopicPartition
    remote: TopicPartition
    committed: int
    lag: int | None
    mirror_lag: int | None
    translated: int | None
    accuracy: str
    checkpoint_age_ms: int | None
    state: str | None
    target_offset: int | None
    exact_since: int | None


def upstream_partition(
    policy: ReplicationPolicy, flow: SourceAndTarget, partition: TopicPartition
) -> TopicPartition:
    """
    Names a partition of the target as the source does: the way back of ``downstream_partition``.

    What is no copy of the source's is an original of the target, whose copy the group has read.
    """
    if policy.topic_source(partition.topic) == flow.source:
        topic = policy.upstream_topic(partition.topic) or partition.topic
    else:
        topic = policy.format_remote_topic(flow.target, partition.topic)
    return TopicPartition(topic, partition.partition)


def group_positions(
    facts: Facts,
    *,
    downstream: Callable[[TopicPartition], TopicPartition | None],
    upstream: Callable[[TopicPartition], TopicPartition],
    translation: OffsetTranslation | None,
) -> list[GroupPosition]:
    """
    Says of each group where it stands, sorted by group and partition.

    Args:
        facts: what is known.
        downstream: names a partition of the source as the target does; None: it does not count.
        upstream: the way back.
        translation: what is known of the flow's offsets; None if it cannot be read.
    """
    found = []
    for group, offsets in _committed(facts, upstream).items():
        for partition, committed in offsets.items():
            if (remote := downstream(partition)) is not None:
                known = facts.checkpoints.get(group, {}).get(remote)
                answer = translation.explain(partition, committed) if translation else None
                translated, accuracy = _translated(committed, answer, known)
                found.append(
                    GroupPosition(
                        group=group,
                        partition=partition,
                        remote=remote,
                        committed=committed,
                        lag=_behind(facts.ends.get(partition), committed),
                        mirror_lag=_mirror_lag(facts, partition),
                        translated=translated,
                        accuracy=accuracy,
                        checkpoint_age_ms=_age_ms(facts, known),
                        state=facts.states.get(group),
                        target_offset=_offset(facts, group, remote),
                        exact_since=translation.exact_since(partition) if translation else None,
                    )
                )
    return sorted(found, key=lambda each: (each.group, each.partition))


def _committed(
    facts: Facts, upstream: Callable[[TopicPartition], TopicPartition]
) -> dict[GroupId, dict[TopicPartition, int]]:
    if facts.committed is not None:
        return {
            group: {partition: each.offset for partition, each in offsets.items()}
            for group, offsets in facts.committed.items()
        }
    return {
        group: {
            upstream(partition): each.checkpoint.upstream_offset
            for partition, each in known.items()
        }
        for group, known in facts.checkpoints.items()
    }


def accuracy_of(answer: MappedOffset | None) -> tuple[int | None, str]:
    """The offset of an answer, if it has one, and how good it is."""
    if answer is None:
        return None, UNKNOWN
    if answer.offset < 0:
        return None, TOO_OLD
    return answer.offset, EXACT if answer.exact else APPROXIMATE


def _translated(
    committed: int, answer: MappedOffset | None, known: KnownCheckpoint | None
) -> tuple[int | None, str]:
    """What can be said now, or else what the last checkpoint says."""
    offset, accuracy = accuracy_of(answer)
    if offset is None and known is not None and known.checkpoint.upstream_offset <= committed:
        is_exact = known.exact and known.checkpoint.upstream_offset == committed
        return known.checkpoint.downstream_offset, EXACT if is_exact else APPROXIMATE
    return offset, accuracy


def _mirror_lag(facts: Facts, partition: TopicPartition) -> int | None:
    position = facts.positions.get(partition)
    return None if position is None else _behind(facts.ends.get(partition), position + 1)


def _age_ms(facts: Facts, known: KnownCheckpoint | None) -> int | None:
    return None if known is None else max(0, facts.now_ms - known.timestamp_ms)


def _behind(end: int | None, following: int) -> int | None:
    return None if end is None else max(0, end - following)


def _offset(facts: Facts, group: GroupId, remote: TopicPartition) -> int | None:
    committed = facts.target_offsets.get(group, {}).get(remote)
    return None if committed is None else committed.offset
