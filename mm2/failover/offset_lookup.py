"""Translates one offset of a group from the origin to the destination, by what was read of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from mm2.core.failover.moving_group import MovingPartition
from mm2.core.model import GroupId, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.offset_translation import MappedOffset
from mm2.failover.directions import FlowDirection, OffsetMapping
from mm2.failover.empty_ranges import OffsetRange
from mm2.kafka.logs.first_records import Range


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
    return MovingPartition(
        group=lookup.group,
        origin=lookup.origin,
        destination=lookup.destination,
        committed=lookup.commit.offset,
        translated=translated,
        to_copy=to_copy,
        target_offset=lookup.target_offset,
        start=start,
        end=end,
        metadata=lookup.commit.metadata,
        exists=lookup.destination_log is not None,
    )


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
