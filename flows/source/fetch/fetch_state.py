"""Where a source partition is fetched, and whether that position is known to fit its log."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from uuid import UUID

from flows.source.forward.overlap import Overlap
from mm2.core.model import NO_OFFSET
from mm2.core.positions.log_identity import UNKNOWN_EPOCH


@dataclass(slots=True)
class FetchState:
    """
    Where a partition is fetched, and what keeps it from being fetched.

    Attributes:
        position: next offset to fetch; None until it is known.
        leader_epoch: of the last batch taken; -1 if not known.
        end: high watermark of the source, or the last stable offset when read committed.
        start: first offset that the source has; -1 if not known.
        broker: node that answered last.
        pause_until: by the monotonic clock, in seconds; it is not fetched before.
        failed_reads: how often in a row the batch at ``position`` could not be read.
        overlap: what the target has of an earlier task behind the stored position; None once
            something is sent.
        pending_from: the first offset that was fetched and is still to be transformed; None if
            there is none.
        resets: how often it went back; what was fetched before is void then.
    """

    position: int | None = None
    leader_epoch: int = UNKNOWN_EPOCH
    end: int = NO_OFFSET
    start: int = NO_OFFSET
    broker: int | None = None
    pause_until: float = 0.0
    failed_reads: int = 0
    overlap: Overlap | None = None
    pending_from: int | None = None
    resets: int = 0

    @property
    def handed_on(self) -> int:
        """The offset before which everything was handed to the sender, or skipped."""
        return (self.position or 0) if self.pending_from is None else self.pending_from

    @property
    def is_held(self) -> bool:
        """Whether it is not fetched until ``resume``."""
        return self.pause_until == inf

    @property
    def waits_for_overlap(self) -> bool:
        """Whether more of what the target has must be read before it is fetched."""
        return self.overlap is not None and self.overlap.is_used_up

    def begin(self, offset: int, leader_epoch: int = UNKNOWN_EPOCH) -> None:
        """Fetches from ``offset`` on, and compares nothing with what the target has."""
        self.go_back(offset)
        self.leader_epoch, self.overlap = leader_epoch, None

    def go_back(self, offset: int) -> None:
        """Fetches again from ``offset`` on, in the same log."""
        self.position, self.pending_from = offset, None
        self.resets += 1

    def go_back_before(self, offset: int) -> None:
        """Goes back to ``offset``, unless what was handed on ends before it."""
        if offset < self.handed_on:
            self.go_back(offset)

    def leave_pending(self, offset: int) -> None:
        """What was fetched from ``offset`` on is to be transformed."""
        if self.pending_from is None:
            self.pending_from = offset

    def hand_on(self, end: int | None) -> None:
        """Everything before ``end`` was transformed and given to the sender; None: all was."""
        self.pending_from = end

    def advance(self, offset: int, leader_epoch: int, *, is_read: bool = True) -> None:
        """
        Goes on at ``offset``, behind a batch of this leader epoch.

        Args:
            is_read: whether its records were read; else that may still fail.
        """
        self.position, self.leader_epoch = offset, leader_epoch
        if is_read:
            self.failed_reads = 0

    def move_to(self, offset: int | None) -> None:
        """Goes on at ``offset``, in the same log."""
        self.position = offset

    def forget_epoch(self) -> None:
        """The next batch may have any leader epoch."""
        self.leader_epoch = UNKNOWN_EPOCH

    def answered_by(self, broker: int) -> None:
        """Remembers the node that answered last."""
        self.broker = broker

    def set_bounds(self, start: int, end: int) -> None:
        """Learns the start and the end of the log."""
        self.start, self.end = start, end

    def pause(self, seconds: float) -> None:
        """Fetches nothing for some time."""
        self.pause_until = time.monotonic() + seconds

    def hold(self) -> None:
        """Fetches nothing until ``resume``."""
        self.pause_until = inf

    def resume(self) -> None:
        """Ends a pause."""
        self.pause_until = 0.0

    def count_failed_reads(self, count: int) -> int:
        """The batch at the position could not be read; returns how often in a row."""
        self.failed_reads += count
        return self.failed_reads

    def reset_failed_reads(self) -> None:
        """Reads the batch at the position as if for the first time."""
        self.failed_reads = 0

    def compare_with(self, overlap: Overlap | None) -> None:
        """Skips records that the target has already."""
        self.overlap = overlap

    def end_overlap(self) -> None:
        """Copies everything from here on."""
        self.overlap = None


@dataclass(slots=True)
class ValidationState:
    """
    Whether the position belongs to the log that the source has now.

    Attributes:
        topic_id: of the topic that the position belongs to; None if not known.
        former_id: of the topic that had its name before, if that was seen.
        checked_epoch: of the source's leader when the position was last compared with its log.
        is_valid: whether it was compared since the leader or the topic may have changed; only
            then is it fetched.
        known_end: end of the log when the topic last certainly was the one with ``topic_id``.
        unexpected_epoch: leader epoch of a batch that does not follow; -1 if there is none.
        is_missing: the source does not have the topic.
    """

    topic_id: UUID | None = None
    former_id: UUID | None = None
    checked_epoch: int = UNKNOWN_EPOCH
    is_valid: bool = False
    known_end: int = NO_OFFSET
    unexpected_epoch: int = UNKNOWN_EPOCH
    is_missing: bool = False

    def invalidate(self) -> None:
        """The position must be compared with the log before the next fetch."""
        self.is_valid = False

    def reject(self, leader_epoch: int) -> None:
        """A batch of this leader epoch does not follow: another log may be behind it."""
        self.is_valid, self.unexpected_epoch = False, leader_epoch

    def accept(self, leader_epoch: int) -> None:
        """The position fits the log of the leader with this epoch."""
        self.checked_epoch, self.unexpected_epoch = leader_epoch, UNKNOWN_EPOCH
        self.is_valid = True

    def identify(self, topic_id: UUID | None) -> None:
        """The position belongs to the topic with this id."""
        self.topic_id = topic_id

    def recreated(self, topic_id: UUID | None) -> None:
        """The topic was deleted and created again."""
        self.former_id, self.topic_id = self.topic_id, topic_id
        self.known_end = NO_OFFSET

    def confirm_end(self, end: int) -> None:
        """The log with this end certainly was of ``topic_id``."""
        self.known_end = end

    def mark_missing(self, *, is_missing: bool) -> bool:
        """Records whether the source topic is missing; returns whether that is new."""
        changed, self.is_missing = self.is_missing != is_missing, is_missing
        return changed
