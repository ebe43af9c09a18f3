"""
One partition of a consumer group between two clusters: the model of all commands about groups.

Puts together what the source, the target and the checkpoints have. Without the source, checkpoints
are all there is, and what only the source has is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from mm2.core.internal_records import Checkpoint
from mm2.core.model import NO_OFFSET, GroupId, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset, offset_of
from mm2.core.translation.offset_translation import MappedOffset, OffsetTranslation


class Accuracy(StrEnum):
    """How good a translated offset is, or why there is none."""

    EXACT = "exact"
    """The record there is the first unread one."""

    APPROXIMATE = "approximate"
    """It may be one before the first unread one."""

    TOO_OLD = "too old"
    """The offset is older than all that is known of the copy."""

    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPartition:
    """
    An offset of a group on one cluster, the origin, and what it is on the other, the destination.

    Attributes:
        group: None for an offset that is no group's.
        origin: None if only the destination's name is known.
        destination: the same records there; None if the flow does not follow them.
        committed: next offset to read on the origin, that of the checkpoint if the origin is away;
            negative if there is none.
        translated: ``committed`` on the destination; None if it is not known.
        origin_end: the offset behind the last record on the origin; None if it is not known.
        copied_end: the offset behind the last copied record; None if it is not known.
        exact_since: source offset from which on translations are exact; None: nowhere.
        target_offset: what the group has committed on the destination; None for nothing.
        target_state: Kafka's name of the group's state there; None if it is not known.
        checkpoint_age_ms: how long ago the group's last checkpoint was written; None if there is
            none, or if it was not used.
    """

    group: GroupId | None = None
    origin: TopicPartition | None
    destination: TopicPartition | None
    committed: int
    translated: MappedOffset | None
    origin_end: int | None = None
    copied_end: int | None = None
    exact_since: int | None = None
    target_offset: int | None = None
    target_state: str | None = None
    checkpoint_age_ms: int | None = None

    @property
    def lag(self) -> int | None:
        """Records that the origin has and the group has not read; None if it is not known."""
        return _behind(self.origin_end, self.committed)

    @property
    def mirror_lag(self) -> int | None:
        """Records that the origin has and the destination has not; None if it is not known."""
        return None if self.copied_end is None else _behind(self.origin_end, self.copied_end)

    @property
    def is_known(self) -> bool:
        """Whether there is an offset to go on at, be it exact or not."""
        return self.translated is not None and self.translated.offset > NO_OFFSET

    @property
    def is_exact(self) -> bool:
        """Whether the record there is the first unread one."""
        return self.accuracy is Accuracy.EXACT

    @property
    def accuracy(self) -> Accuracy:
        """How good ``translated`` is, or why there is none."""
        if self.translated is None:
            return Accuracy.UNKNOWN
        if not self.is_known:
            return Accuracy.TOO_OLD
        return Accuracy.EXACT if self.translated.exact else Accuracy.APPROXIMATE

    @property
    def translated_offset(self) -> int | None:
        """``committed`` on the destination, without its accuracy."""
        return self.translated.offset if self.translated is not None and self.is_known else None


def _behind(end: int | None, following: int) -> int | None:
    return None if end is None else max(0, end - following)


class KnownCheckpoint(Protocol):
    """A checkpoint as it stands in its topic."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The offsets."""

    @property
    def exact(self) -> bool:
        """Whether it claims to be exact; Java's never do."""

    @property
    def timestamp_ms(self) -> int:
        """When it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """
    What was read about some groups.

    Attributes:
        committed: by group and partition of the source; None if the source does not answer.
        positions: source offset of the last copied record of each partition.
        checkpoints: by group and partition of the target.
        states: of the groups on the target; a group that is not there has none.
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


def group_partitions(
    facts: GroupFacts,
    *,
    downstream: Callable[[TopicPartition], TopicPartition | None],
    upstream: Callable[[TopicPartition], TopicPartition],
    translation: OffsetTranslation | None,
) -> list[GroupPartition]:
    """
    The partitions of all groups, sorted by group and partition.

    Args:
        downstream: names a partition of the source as the target does; None: it does not count.
        upstream: the reverse.
        translation: None if it cannot be read.
    """
    found = []
    for group, offsets in sorted(_committed(facts, upstream).items()):
        for origin, committed in sorted(offsets.items()):
            if (destination := downstream(origin)) is None:
                continue
            known = facts.checkpoints.get(group, {}).get(destination)
            mapped = translation.explain(origin, committed) if translation else None
            position = facts.positions.get(origin)
            target_commit = facts.target_offsets.get(group, {}).get(destination)
            found.append(
                GroupPartition(
                    group=group,
                    origin=origin,
                    destination=destination,
                    committed=committed,
                    translated=_translated(committed, mapped, known),
                    origin_end=facts.ends.get(origin),
                    copied_end=None if position is None else position + 1,
                    exact_since=translation.exact_since(origin) if translation else None,
                    target_offset=offset_of(target_commit),
                    target_state=facts.states.get(group),
                    checkpoint_age_ms=_age_ms(facts, known),
                )
            )
    return found


def _committed(
    facts: GroupFacts, upstream: Callable[[TopicPartition], TopicPartition]
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


def _translated(
    committed: int, mapped: MappedOffset | None, known: KnownCheckpoint | None
) -> MappedOffset | None:
    """What offset syncs and runs give, or else the last checkpoint."""
    is_usable = mapped is not None and mapped.offset > NO_OFFSET
    if is_usable or known is None or known.checkpoint.upstream_offset > committed:
        return mapped
    is_exact = known.exact and known.checkpoint.upstream_offset == committed
    return MappedOffset(known.checkpoint.downstream_offset, is_exact)


def _age_ms(facts: GroupFacts, known: KnownCheckpoint | None) -> int | None:
    return None if known is None else max(0, facts.now_ms - known.timestamp_ms)
