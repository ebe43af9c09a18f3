"""Translates one offset of a group from the origin to the destination, by what was read of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from mm2.core.failover.moving_group import MovingPartition
from mm2.core.model import NO_OFFSET, GroupId, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.offset_translation import MappedOffset
from mm2.failover.directions import (
    FlowDirection,
    OffsetMapping,
    ReverseMapping,
    UnreadRecords,
)
from mm2.failover.empty_ranges import OffsetRange
from mm2.kafka.logs.first_records import Range


class Opposite(NamedTuple):
    """A flow that copies a partition the other way, and whether it may be about these logs."""

    mapping: ReverseMapping
    is_same_log: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetLookup:
    """
    A committed offset, and what its translation depends on.

    Attributes:
        direction: the flow that it goes with, or against.
        destination: the same records on the destination.
        commit: what the group has committed on the origin.
        origin_log: where the log begins and ends.
        destination_log: the same of the destination's; None if it is not there.
        target_offset: what the group has committed there; None for nothing.
        is_same_log: whether ``mapping`` may be about these logs, and not about former ones.
        opposite: what is known of the flow that copies the same partition the other way; None if
            there is none.
        has_other_flows: whether flows that are not known may bring records to either side.
    """

    group: GroupId
    origin: TopicPartition
    direction: FlowDirection
    mapping: OffsetMapping
    destination: TopicPartition
    commit: CommittedOffset
    origin_log: Range
    destination_log: Range | None
    target_offset: int | None
    is_same_log: bool = True
    opposite: Opposite | None = None
    has_other_flows: bool = False

    @property
    def offset(self) -> int:
        """What the group reads next; what the origin has deleted, it will not."""
        return max(self.commit.offset, self.origin_log[0])

    @property
    def direct(self) -> MappedOffset | None:
        """The translation of that offset; None if it is not known, or of other logs."""
        if not self.is_same_log or self.commit.offset > self.origin_log[1]:
            return None
        return self.mapping.translate(self.origin, self.offset)

    @property
    def nearest(self) -> int | None:
        """An earlier offset that may be known better; None if there is none, or no need."""
        if not self.is_same_log or ((found := self.direct) is not None and found.exact):
            return None
        return self.mapping.nearest(self.origin, self.offset)

    def since(self, earlier: int) -> OffsetRange:
        """The range between an earlier offset and the group's."""
        first = max(earlier, self.origin_log[0])
        return OffsetRange(self.origin, first, min(self.offset, self.origin_log[1]))

    def nothing_copied(self, copied: int) -> MappedOffset | None:
        """Where nothing was copied yet, everything that ever will be is still to come."""
        if copied > self.origin_log[0] or self.destination_log is None:
            return None
        start, end = self.destination_log
        return MappedOffset(start, start == end)


class Nearest(NamedTuple):
    """An earlier offset that may be known better, and whether records are in between."""

    offset: int
    has_records: bool


def moving_partition(lookup: OffsetLookup, nearest: Nearest | None) -> MovingPartition:
    """Where a group is to go on; ``nearest`` helps where its own offset is not known exactly."""
    translated, to_copy = lookup.direct, 0
    if lookup.commit.offset <= lookup.origin_log[1] and nearest is not None:
        if not nearest.has_records:
            earlier = nearest.offset
            translated = lookup.mapping.translate(lookup.origin, earlier) or lookup.nothing_copied(
                earlier
            )
        elif lookup.mapping.may_lag:
            to_copy = lookup.offset - max(nearest.offset, lookup.origin_log[0])
    start, end = lookup.destination_log or (0, 0)
    both = _lower(lookup, translated)
    return MovingPartition(
        group=lookup.group,
        origin=lookup.origin,
        destination=lookup.destination,
        committed=lookup.commit.offset,
        translated=both.translated,
        to_copy=to_copy,
        target_offset=lookup.target_offset,
        start=start,
        end=end,
        metadata=lookup.commit.metadata,
        exists=lookup.destination_log is not None,
        read_again=both.read_again,
        is_opposite_known=both.is_known,
        has_other_flows=lookup.has_other_flows,
    )


class _Lower(NamedTuple):
    """Where a group goes on, the flow the other way included."""

    translated: MappedOffset | None
    read_again: int = 0
    is_known: bool = True


def _lower(lookup: OffsetLookup, onward: MappedOffset | None) -> _Lower:
    """
    Takes the lower offset, as checkpoints do, where both flows copy a partition.

    What lies behind it was read in part, in another order than it has here.
    """
    if lookup.opposite is None:
        return _Lower(onward)
    unread = _unread(lookup, lookup.opposite)
    if unread is None:
        return _Lower(None, is_known=False)
    if lookup.mapping.copies_none(lookup.origin, lookup.offset, lookup.origin_log):
        # What is unread is the other side's own; copies of what was read end at ``onward``.
        copied = onward.offset if onward is not None and onward.exact else 0
        onward = MappedOffset(max(copied, unread.first), exact=True)
    if onward is None or onward.offset <= NO_OFFSET:
        return _Lower(onward)
    offset, (_, end) = min(onward.offset, unread.first), lookup.destination_log or (0, 0)
    last = max(onward.offset, unread.read) if unread.is_exact else end
    again = max(0, last - offset)
    exact = onward.exact and not again
    return _Lower(MappedOffset(offset, exact), again if onward.exact else 0)


def _unread(lookup: OffsetLookup, opposite: Opposite) -> UnreadRecords | None:
    if not opposite.is_same_log or lookup.destination_log is None:
        return None
    if lookup.commit.offset > lookup.origin_log[1]:
        return None
    return opposite.mapping.unread(lookup.origin, lookup.offset, lookup.destination_log)


def overshoot(partition: MovingPartition) -> OffsetRange | None:
    """How far a group's offset on the destination is beyond the new one; None if it is not."""
    offset, current = partition.new_offset, partition.target_offset
    if not partition.is_known or current is None or not offset < current <= partition.end:
        return None
    return OffsetRange(partition.destination, offset, current)


def at_target_offset(partition: MovingPartition) -> MovingPartition:
    """The offset on the destination is as good: nothing but markers and gaps lies between."""
    assert partition.target_offset is not None  # noqa: S101 - it overshoots
    translated = MappedOffset(partition.target_offset, partition.is_exact)
    return replace(partition, translated=translated)
