"""
One log partition as one instance knows it: whether it may answer for it, and what.

An instance that takes a partition has fenced former leaders before: it knows where the log ended
then, and loads what stands before that end. From then on it counts what it appends. Two rules
follow, and no clock is needed for either:

- a commit is acknowledged only if its batch stands right behind what the instance knows;
- a fetch is answered only if the log, asked after the fetch came in, ends where the instance's
  knowledge does.

If anything else is in the log, somebody else has taken it, and this instance leads no more. So of
two instances that both believe that they lead, only the one answers whose knowledge is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from mm2.core.offset_manager.commits import OffsetError, StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey
from mm2.core.offset_manager.offset_table import Change, OffsetTable


class LogRole(StrEnum):
    """What an instance is to a log partition."""

    FOLLOWING = "following"
    TAKING = "taking"
    """It is to lead, and former leaders are not fenced yet."""
    LOADING = "loading"
    LEADING = "leading"

    @property
    def is_led(self) -> bool:
        """Whether former leaders are fenced, so that commits are taken."""
        return self in {LogRole.LOADING, LogRole.LEADING}


class Confirmation(StrEnum):
    """What the end of the log says of an instance's knowledge."""

    CURRENT = "current"
    WAITING = "waiting"
    """Something of its own is in the log that has not been acknowledged yet."""
    OVERTAKEN = "overtaken"
    """Somebody else has written, or the log has lost something."""


class LogPartition:
    """
    A log partition's state in one instance.

    Attributes:
        role: what the instance is to it.
        term: grows each time that the partition is taken or lost.
        next_offset: where the log ends as far as the instance knows.
        table: the offsets.
    """

    def __init__(self) -> None:
        self.role = LogRole.FOLLOWING
        self.term = 0
        self.next_offset = -1
        self.table = OffsetTable()

    def claim(self) -> None:
        """The partition is to be taken: clients are at the right instance, and have to wait."""
        if self.role is LogRole.FOLLOWING:
            self.role = LogRole.TAKING

    def take(self, end: int) -> None:
        """Former leaders are fenced, and the log ends here: commits are taken from now on."""
        self.table.clear()
        self.role, self.next_offset = LogRole.LOADING, end
        self.term += 1

    def load(self, key: OffsetKey, stored: StoredOffset | None, log_offset: int) -> None:
        """A record of the log that was there when the partition was taken, or was added since."""
        self.table.apply(key, stored, log_offset)

    def loaded(self) -> None:
        """All that was there has been loaded: fetches are answered from now on."""
        self.table.forget_tombstones()
        self.role = LogRole.LEADING

    def lose(self) -> None:
        """Leads no more, and knows nothing."""
        if self.role is not LogRole.FOLLOWING:
            self.table.clear()
            self.role, self.next_offset = LogRole.FOLLOWING, -1
            self.term += 1

    def appended(self, base_offset: int, changes: Sequence[Change]) -> bool:
        """
        All replicas have a batch: applies it, unless it does not stand where it should.

        Returns:
            Whether it counts; if it does not, the partition is lost.
        """
        if not self.role.is_led or base_offset != self.next_offset:
            self.lose()
            return False
        self.table.apply_all(changes, base_offset)
        if self.role is LogRole.LEADING:
            self.table.forget_deleted(changes)
        self.next_offset = base_offset + len(changes)
        return True

    def confirm(self, before: int, end: int, *, is_appending: bool) -> Confirmation:
        """
        Compares what the instance knows with where the log ends.

        Args:
            before: ``next_offset`` when the log was asked.
            end: what it answered.
            is_appending: whether an append is under way.
        """
        if end < before:
            return Confirmation.OVERTAKEN
        if end <= self.next_offset:
            return Confirmation.CURRENT
        return Confirmation.WAITING if is_appending else Confirmation.OVERTAKEN

    @property
    def commit_error(self) -> OffsetError:
        """Why no commit is taken."""
        if self.role is LogRole.TAKING:
            return OffsetError.COORDINATOR_LOAD_IN_PROGRESS
        is_following = self.role is LogRole.FOLLOWING
        return OffsetError.NOT_COORDINATOR if is_following else OffsetError.NONE

    @property
    def fetch_error(self) -> OffsetError:
        """Why no fetch is answered."""
        if self.role is LogRole.LOADING:
            return OffsetError.COORDINATOR_LOAD_IN_PROGRESS
        return self.commit_error
