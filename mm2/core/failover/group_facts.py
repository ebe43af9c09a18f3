"""
A consumer group that is to move to another cluster: what is known of it, and where it goes on.

A group moves from the cluster where it has committed, its origin, to the one where it is to go on,
its destination. Whether it may, ``mm2.core.failover.group_checks`` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mm2.core.model import NO_OFFSET, TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.group_sync_rules import Order
from mm2.core.translation.offset_translation import MappedOffset


class WithoutCheckpoint(StrEnum):
    """
    Where a group goes on that has committed nothing, as far as is known, when its origin is lost.

    Other partitions of a topic that it has read are taken for ones that it would have read: there
    it begins at the start if nothing else is said. Whether it reads other topics nobody knows.
    """

    LEAVE = "leave"
    """Other topics are left to the consumers' ``auto.offset.reset``."""

    EARLIEST = "earliest"
    """At the start of each copy, of all topics."""

    LATEST = "latest"
    """At the end of each copy, of all topics."""

    REFUSE = "refuse"
    """It does not move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOffset:
    """
    Where a group stands in one partition, and where it is to go on.

    Attributes:
        origin: the partition that it has read; None if only the destination's name is known.
        destination: the same records on the destination.
        committed: next offset to read on the origin; negative if only that of other partitions
            is known.
        translated: that offset on the destination; None if it is not known.
        to_copy: offsets before ``committed`` that the destination does not have yet.
        current: what the group has committed on the destination; None for nothing.
        start: first offset of the destination's log.
        end: the offset after its last.
        metadata: what the group has committed beside its offset.
        age_ms: age of the checkpoint that all this comes from; None if it comes from the origin.
        is_there: whether the destination has this partition at all.
        order: what ``current`` is to ``committed``.
        is_carried: whether ``committed`` was only given to the group where it comes from.
    """

    origin: TopicPartition | None
    destination: TopicPartition
    committed: int
    translated: MappedOffset | None
    to_copy: int = 0
    current: int | None = None
    start: int
    end: int
    metadata: str = ""
    age_ms: int | None = None
    is_there: bool = True
    order: Order = Order.UNKNOWN
    is_carried: bool = False

    @property
    def stays(self) -> bool:
        """
        Whether the group is to go on where it stands there, so that nothing is written.

        It is so if that was committed later. If it is not known which was, the earlier place is
        right: to read again is better than to skip. With a live origin it is, unless both were
        committed at about the same time, and what is further there is for people to decide.
        """
        if self.current is None or self.current == self.found:
            return False
        if self.order is Order.LATER and (self.is_carried or self.origin is None):
            return True
        is_before = self.current < self.found
        if self.order is Order.UNKNOWN:
            return is_before and self.origin is None
        return is_before and self.order in (Order.LATER, Order.UNSURE)

    @property
    def may_go_back(self) -> bool:
        """Whether the group may be set back there: it has not read on since it was here."""
        return self.order in (Order.GIVEN, Order.EARLIER) or self.origin is None

    @property
    def is_guessed(self) -> bool:
        """Whether the group has committed nothing that is known, and somebody else decides."""
        return self.origin is None and self.committed < 0

    @property
    def is_known(self) -> bool:
        """Whether there is an offset to go on at, be it exact or not."""
        return self.translated is not None and self.translated.offset > NO_OFFSET

    @property
    def is_exact(self) -> bool:
        """Whether the record there is the first unread one."""
        return self.translated is not None and self.is_known and self.translated.exact

    @property
    def offset(self) -> int:
        """Where the group is to go on; never after its first unread record that is there."""
        return (
            max(self.current, self.start) if self.current is not None and self.stays else self.found
        )

    @property
    def found(self) -> int:
        """What the offset of the origin is there, within the log."""
        if self.translated is None or not self.is_known:
            return self.start
        return min(max(self.translated.offset, self.start), self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """
    All about one group that moves.

    Attributes:
        group: its id.
        origin_state: Kafka's name of its state where it comes from; None if it is not known.
        destination_state: the same where it goes; None if the group is not there.
        places: where it stands.
        left_behind: its partitions that have no counterpart on the destination.
        is_of_other_type: whether it is a share or streams group on either side.
        unplaced: copies that it may read, of which it has no checkpoint.
        without: what becomes of a group without checkpoints.
    """

    group: str
    origin_state: str | None
    destination_state: str | None
    places: tuple[TargetOffset, ...]
    left_behind: tuple[TopicPartition, ...] = ()
    is_of_other_type: bool = False
    unplaced: tuple[TopicName, ...] = ()
    without: WithoutCheckpoint = WithoutCheckpoint.LEAVE


IDLE_STATES: Final = frozenset({"EMPTY", "DEAD"})
"""States of groups without members."""


def offsets_to_write(facts: GroupFacts) -> dict[TopicPartition, CommittedOffset]:
    """What the group is to have on the destination; not where it stays as it is."""
    return {
        place.destination: CommittedOffset(place.offset, place.metadata)
        for place in facts.places
        if not place.stays or place.offset != place.current
    }
