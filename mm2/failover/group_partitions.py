"""
What is known of one partition that a group reads, on its way from one cluster to the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from mm2.core.failover.group_facts import TargetOffset
from mm2.core.model import TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.offset_translation import MappedOffset
from mm2.failover.directions import FlowDirection, OffsetMapping
from mm2.failover.empty_ranges import OffsetRange
from mm2.kafka.logs.first_records import Range


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPartition:
    """
    One partition on its way.

    Attributes:
        where: on the origin.
        passage: the flow that it goes with, or against.
        crossing: what is known of the flow's offsets.
        destination: the same records on the other side.
        commit: what the group has committed on the origin.
        origin: where the log begins and ends.
        there: the same of the destination's; None if it is not there.
        current: what the group has committed there; None for nothing.
        is_same: whether what is known may be about these logs, and not about former ones.
    """

    where: TopicPartition
    passage: FlowDirection
    crossing: OffsetMapping
    destination: TopicPartition
    commit: CommittedOffset
    origin: Range
    there: Range | None
    current: int | None
    is_same: bool = True

    @property
    def offset(self) -> int:
        """What the group reads next; what the origin has deleted, it will not."""
        return max(self.commit.offset, self.origin[0])

    @property
    def direct(self) -> MappedOffset | None:
        """What is known of that offset; of other logs, nothing."""
        if not self.is_same or self.commit.offset > self.origin[1]:
            return None
        return self.crossing.translate(self.where, self.offset)

    @property
    def nearest(self) -> int | None:
        """An earlier offset that may be known better; None if there is none, or no need."""
        if not self.is_same or ((found := self.direct) is not None and found.exact):
            return None
        return self.crossing.nearest(self.where, self.offset)

    def since(self, earlier: int) -> OffsetRange:
        """What lies between an earlier offset and where the group stands."""
        first = max(earlier, self.origin[0])
        return OffsetRange(self.where, first, min(self.offset, self.origin[1]))


class Nearest(NamedTuple):
    """An earlier offset that may be known better, and whether records are in between."""

    offset: int
    has_records: bool


def place_of(step: GroupPartition, nearest: Nearest | None) -> TargetOffset:
    """
    Where a group is to go on.

    Args:
        step: what is known.
        nearest: what more is known, where that is not exact.
    """
    translated, to_copy = step.direct, 0
    if step.commit.offset <= step.origin[1] and nearest is not None:
        if not nearest.has_records:
            earlier = nearest.offset
            translated = step.crossing.translate(step.where, earlier) or _untouched(step, earlier)
        elif step.crossing.may_lack:
            to_copy = step.offset - max(nearest.offset, step.origin[0])
    return TargetOffset(
        origin=step.where,
        destination=step.destination,
        committed=step.commit.offset,
        translated=translated,
        to_copy=to_copy,
        current=step.current,
        start=0 if step.there is None else step.there[0],
        end=0 if step.there is None else step.there[1],
        metadata=step.commit.metadata,
        is_there=step.there is not None,
    )


def overshoot(place: TargetOffset) -> OffsetRange | None:
    """What a group is further on the destination than it should be; None if it is not."""
    if not place.is_known or place.current is None:
        return None
    if not place.offset < place.current <= place.end:
        return None
    return OffsetRange(place.destination, place.offset, place.current)


def is_contested(place: TargetOffset) -> bool:
    """Whether a group stands somewhere on the destination, but not where it should be."""
    return place.current is not None and place.current != place.found


def keep_current(place: TargetOffset) -> TargetOffset:
    """A group stays where it is on the destination: nothing but markers and gaps lies between."""
    assert place.current is not None  # noqa: S101 - it is ahead
    return replace(place, translated=MappedOffset(place.current, place.is_exact))


def _untouched(step: GroupPartition, copied: int) -> MappedOffset | None:
    """Where nothing was copied yet, everything that ever will be is still to come."""
    if copied > step.origin[0] or step.there is None:
        return None
    start, end = step.there
    return MappedOffset(start, start == end)
