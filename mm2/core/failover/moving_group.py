"""
A consumer group that is to move to another cluster, and where it goes on.

A group moves from the cluster where it has committed, its origin, to the one where it is to go on,
its destination. ``mm2.core.failover.group_checks`` decides whether it may.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mm2.core.failover.group_partition import GroupPartition
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.group_sync_rules import Order

IDLE_STATES: Final = frozenset({"EMPTY", "DEAD"})
"""States of groups without members."""


class WithoutCheckpoint(StrEnum):
    """
    Where a group goes on that has committed nothing, as far as is known, when its origin is lost.

    Other partitions of a topic that it has read are taken for ones that it would have read: there
    it begins at the start if nothing else is asked for. Whether it reads other topics is not known.
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
class MovingPartition(GroupPartition):
    """
    A partition of a group that moves, and the offset where it goes on.

    Attributes:
        to_copy: offsets before ``committed`` that the destination does not have yet.
        start: first offset of the destination's log.
        end: the offset after its last.
        exists: whether the destination has this partition at all.
        order: what ``target_offset`` is to ``committed``.
        is_synced: whether a flow has written ``committed``, and the group has not read so far.
        read_again: if another flow copies it the other way, records that may come again though
            all is known.
        is_opposite_known: whether it is known what the group has read of such a flow's copies.
        has_other_flows: whether flows that are not known here may bring records to either side.
    """

    destination: TopicPartition
    to_copy: int = 0
    start: int
    end: int
    metadata: str = ""
    exists: bool = True
    order: Order = Order.UNKNOWN
    is_synced: bool = False
    read_again: int = 0
    is_opposite_known: bool = True
    has_other_flows: bool = False

    @property
    def mapped_offset(self) -> int:
        """What the offset of the origin is there, within the log."""
        if self.translated is None or not self.is_known:
            return self.start
        return min(max(self.translated.offset, self.start), self.end)

    @property
    def keeps_target_offset(self) -> bool:
        """
        Whether the group is to go on at its own offset there, so that nothing is written.

        It is so if that was committed later. If it is not known which was, the earlier offset is
        right: to read again is better than to skip. With a live origin it is, unless both were
        committed at about the same time, and what is further there is for people to decide.
        """
        if self.target_offset is None or self.target_offset == self.mapped_offset:
            return False
        if self.order is Order.LATER and (self.is_synced or self.origin is None):
            return True
        is_before = self.target_offset < self.mapped_offset
        if self.order is Order.UNKNOWN:
            return is_before and self.origin is None
        return is_before and self.order in (Order.LATER, Order.UNSURE)

    @property
    def new_offset(self) -> int:
        """Where the group is to go on; never after its first unread record that is there."""
        if self.target_offset is not None and self.keeps_target_offset:
            return max(self.target_offset, self.start)
        return self.mapped_offset

    @property
    def may_go_back(self) -> bool:
        """Whether the group may be set back there: it has not read on since it was here."""
        return self.order in (Order.GIVEN, Order.EARLIER) or self.origin is None

    @property
    def has_no_checkpoint(self) -> bool:
        """Whether no commit of the group is known, and ``WithoutCheckpoint`` decides."""
        return self.origin is None and self.committed < 0

    @property
    def is_contested(self) -> bool:
        """Whether the group has another offset on the destination than the mapped one."""
        return self.target_offset is not None and self.target_offset != self.mapped_offset


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingGroup:
    """
    All about one group that moves.

    Attributes:
        origin_state: Kafka's name of its state on the origin; None if it is not known.
        destination_state: the same on the destination; None if the group is not there.
        not_mirrored: its partitions that have no counterpart on the destination.
        is_of_other_type: whether it is a share or streams group on either side.
        unplaced: copies that it may read, of which it has no checkpoint.
    """

    group: str
    origin_state: str | None
    destination_state: str | None
    partitions: tuple[MovingPartition, ...] = ()
    not_mirrored: tuple[TopicPartition, ...] = ()
    is_of_other_type: bool = False
    unplaced: tuple[TopicName, ...] = ()
    without_checkpoint: WithoutCheckpoint = WithoutCheckpoint.LEAVE


def offsets_to_write(group: MovingGroup) -> dict[TopicPartition, CommittedOffset]:
    """What the group is to have on the destination; not where it keeps what it has."""
    return {
        each.destination: CommittedOffset(each.new_offset, each.metadata)
        for each in group.partitions
        if not each.keeps_target_offset or each.new_offset != each.target_offset
    }
