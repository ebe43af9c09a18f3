"""
Whether a copy can go on where it stopped, or what of the source is missing in between.

Nothing here asks a broker: the caller brings the answers. A ``Gap`` names the offsets of
the source that may be missing and the offset at which the copy can go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from mm2.core.model import NO_OFFSET
from mm2.core.positions.log_identity import NEVER

DEFAULT_DELETE_RETENTION_MS: Final = 86_400_000
"""The brokers' default of ``delete.retention.ms``: how long a tombstone stays after cleaning."""


class GapKind(StrEnum):
    """What may have happened to a log."""

    TOPIC_RECREATED = "topic-recreated"
    LOG_TRUNCATED = "log-truncated"
    RECORDS_EXPIRED = "records-expired"
    TOMBSTONES_EXPIRED = "tombstones-expired"
    TRANSACTION_HANGING = "transaction-hanging"
    REMOTE_RECREATED = "remote-recreated"
    REMOTE_TRUNCATED = "remote-truncated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """
    A range of source offsets that the copy does not hold, or holds and should not.

    Attributes:
        end: the offset after its last; the same as ``first`` if the range is not known.
    """

    kind: GapKind
    first: int
    end: int
    resume: int

    @property
    def lost(self) -> int:
        """Offsets that the target does not have and cannot get any more."""
        if self.kind is GapKind.REMOTE_TRUNCATED:
            return self.resume - self.first
        return self.end - self.first if self.kind in _LOSING else 0

    @property
    def diverged(self) -> int:
        """Offsets whose copies the source itself no longer has."""
        return self.end - self.first if self.kind is GapKind.LOG_TRUNCATED else 0


_LOSING: Final = frozenset({GapKind.TOPIC_RECREATED, GapKind.RECORDS_EXPIRED})


def recreated(
    position: int, *, known: UUID | None, found: UUID | None, seen_end: int, start: int
) -> Gap | None:
    """
    The gap, if the topic was deleted and created again since the position was taken.

    Args:
        position: next offset to copy.
        known: id of the topic that the position speaks of.
        found: id of the topic that is there now.
        seen_end: end of the old log when it was last seen, or ``NO_OFFSET``.
        start: first offset of the new log, where the copy begins again.
    """
    if known is None or found is None or known == found:
        return None
    end = max(position, seen_end)
    return Gap(kind=GapKind.TOPIC_RECREATED, first=position, end=end, resume=start)


def truncated(position: int, *, epoch_end: int, start: int) -> Gap | None:
    """
    The gap, if the log was cut off before the position (KIP-320).

    Args:
        position: next offset to copy.
        epoch_end: where the leader epoch of the last copied record ends in the leader's log; -1
            if the leader cannot tell.
    """
    if not NO_OFFSET < epoch_end < position:
        return None
    resume = max(epoch_end, start)
    return Gap(kind=GapKind.LOG_TRUNCATED, first=epoch_end, end=position, resume=resume)


def is_cut_off(remote_end: int, *, end: int, stable: int, marker: int | None) -> bool:
    """
    Whether a remote log ends before what was copied into it.

    Records that expire do not make a log end earlier. One to which others write as well may have
    grown again; then it cannot be found out.

    Args:
        remote_end: offset behind the copy of the last record.
        marker: where the commit marker of that copy was written, if it was, as the runs say. A
            transaction that has lost nothing else is open again.
    """
    return end < remote_end or (stable < end == remote_end == marker)


def remote_truncated(reached: int, *, back: int | None, start: int) -> Gap:
    """
    The gap that a remote log leaves whose end was cut off.

    Args:
        reached: first source offset that was not copied.
        back: source offset of the first copy that is lost, or one before it; None if it is not
            known, and then all is copied again.
    """
    first = start if back is None else min(back, reached)
    resume = max(first, start)
    return Gap(kind=GapKind.REMOTE_TRUNCATED, first=first, end=max(reached, resume), resume=resume)


def out_of_range(
    position: int, *, start: int, end: int, same_topic: bool, reset: str
) -> Gap | None:
    """
    The gap, if the position is outside of the log.

    Where it goes on is what ``auto.offset.reset`` says, as in Java (C418), with one exception: a
    log that is certainly the same one and ends before the position was truncated, and its
    beginning need not be copied twice.

    Args:
        position: next offset to copy.
        same_topic: whether the topic certainly is the one that the position speaks of.
        reset: ``latest``; all else is from the start.
    """
    if position < start:
        resume = end if reset == "latest" else start
        return Gap(kind=GapKind.RECORDS_EXPIRED, first=position, end=resume, resume=resume)
    if position > end:
        resume = end if same_topic or reset == "latest" else start
        return Gap(kind=GapKind.LOG_TRUNCATED, first=end, end=position, resume=resume)
    return None


def deletion_retention_ms(settings: dict[str, str]) -> int | None:
    """
    How long a topic keeps tombstones after it was cleaned, in ms; None if it is not compacted.

    Args:
        settings: ``cleanup.policy`` and ``delete.retention.ms`` of the topic.
    """
    policies = (each.strip() for each in settings.get("cleanup.policy", "").split(","))
    if "compact" not in policies:
        return None
    return int(settings.get("delete.retention.ms", DEFAULT_DELETE_RETENTION_MS))


@dataclass(slots=True)
class CatchingUp:
    """
    Knows since when a copy has been behind, also if it never stands still at the end.

    From time to time the end of the log is noted; once the copy has passed that end, it is known
    to have been complete at that time.

    Attributes:
        caught_up_ms: when the copy was last known to be complete; -1 if not known.
        is_reported: whether falling behind has been reported; it is once until it has caught up.
    """

    caught_up_ms: int = NEVER
    is_reported: bool = False
    _last: int = NO_OFFSET
    _noted_ms: int = NEVER
    _noted_end: int = NO_OFFSET

    def begin(self, position: int, caught_up_ms: int) -> None:
        """Starts over at a position that was complete at that time."""
        self.caught_up_ms, self._last, self.is_reported = caught_up_ms, position, False
        self._noted_ms, self._noted_end = NEVER, NO_OFFSET

    def look(self, position: int, end: int, *, now_ms: int, retention_ms: int) -> Gap | None:
        """
        Learns how far the copy is; the range in which tombstones may be gone, once.

        A tombstone stays for ``delete.retention.ms`` at least after it was written. Those that
        were written before the copy was last complete have been copied.
        """
        gap = None
        is_overdue = self.caught_up_ms != NEVER and now_ms - self.caught_up_ms > retention_ms
        if is_overdue and self._last < end and not self.is_reported:
            self.is_reported, first = True, self._last
            gap = Gap(kind=GapKind.TOMBSTONES_EXPIRED, first=first, end=end, resume=position)
        self._last = position
        self._note(position, end, now_ms)
        return gap

    def _note(self, position: int, end: int, now_ms: int) -> None:
        if position >= end:
            self._caught_up(now_ms, now_ms, end)
        elif self._noted_ms == NEVER:
            self._noted_ms, self._noted_end = now_ms, end
        elif position >= self._noted_end:
            self._caught_up(self._noted_ms, now_ms, end)

    def _caught_up(self, at_ms: int, now_ms: int, end: int) -> None:
        self.caught_up_ms, self.is_reported = at_ms, False
        self._noted_ms, self._noted_end = now_ms, end


@dataclass(slots=True)
class Pinned:
    """
    Watches the last stable offset, which a hanging transaction holds back (KIP-664).

    Attributes:
        is_reported: whether the present transaction has been reported.
    """

    is_reported: bool = False
    _stable: int = NO_OFFSET
    _end: int = NO_OFFSET
    _since_s: float = 0.0

    def see(self, stable: int, end: int, now_s: float) -> bool:
        """Learns both ends of a log; whether a transaction that was reported is over."""
        if stable == self._stable and stable < end:
            self._end = end
            return False
        was_reported = self.is_reported
        self._stable, self._end, self._since_s, self.is_reported = stable, end, now_s, False
        return was_reported

    def restart(self, now_s: float) -> None:
        """Counts from now on: the log may have moved unseen."""
        self._since_s = now_s

    def age_s(self, now_s: float) -> float:
        """For how long the last stable offset has been held back; 0 if it is not."""
        return max(0.0, now_s - self._since_s) if self._stable < self._end else 0.0

    def overdue(self, *, after_s: float, now_s: float) -> Gap | None:
        """The range that waits for a transaction, once, if that has been open for long."""
        if self.is_reported or self._stable >= self._end or now_s - self._since_s <= after_s:
            return None
        self.is_reported = True
        first, end = self._stable, self._end
        return Gap(kind=GapKind.TRANSACTION_HANGING, first=first, end=end, resume=first)
