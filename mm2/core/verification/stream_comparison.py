"""
Compares two logs as streams of digests, in memory that does not grow with them.

Records are aligned by key, value and headers. At the first that differ, the nearest pair of equal
records behind them is looked for; what lies before it is unmatched.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np

from mm2.core.verification.classify_differences import Unmatched
from mm2.core.verification.comparison_result import ComparisonResult, Kind, difference
from mm2.core.verification.record_table import NO_RECORDS, Digests, Flags, RecordTable, joined

_WINDOWS: Final = (256, 8_192, 131_072)
"""Records in which equal ones are looked for, one window after the other."""

_MOST_UNMATCHED: Final = 2 * _WINDOWS[-1]
_REMEMBERED: Final = _WINDOWS[-1]
"""Source records that are remembered, so that a second copy is known to be one."""


class Side(Enum):
    """One of the two logs."""

    SOURCE = "source"
    REMOTE = "remote"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRules:
    """
    What may be missing.

    Attributes:
        open_source_start: source records before the first equal one: their copies are deleted, or
            were never made because the flow began behind them.
        open_remote_start: records of the remote topic before the first equal one: the source has
            deleted theirs.
        open_end: whatever is behind the last equal pair.
        pending_from: source records from this offset on that are behind the last equal one: they
            may not have been copied yet. None: none.
        tolerates_compaction: any record.
    """

    open_source_start: bool = False
    open_remote_start: bool = False
    open_end: bool = False
    pending_from: int | None = None
    tolerates_compaction: bool = False


class StreamComparison:
    """
    Compares what it is given of both logs, in their order.

    Attributes:
        result: what was found so far; all of it after ``finish``.
    """

    def __init__(self, rules: ComparisonRules, most: int) -> None:
        self.result = ComparisonResult(most=most)
        self._rules = rules
        self._buffers = dict.fromkeys(Side, NO_RECORDS)
        self._ended = dict.fromkeys(Side, False)
        self._unmatched = Unmatched(self.result, tolerates_compaction=rules.tolerates_compaction)
        self._recent: deque[Digests] = deque()
        self._recent_size = 0
        self._has_matched = False
        self._hunk = 0
        self._dropped_at_start = dict.fromkeys(Side, 0)

    def wants(self) -> Side | None:
        """Which log is to be read on; None if nothing more is needed."""
        source, remote = (self._buffers[side] for side in Side)
        if self._ended[Side.REMOTE] and not len(remote) and self._is_pending(source):
            return None
        open_ = [side for side in Side if not self._ended[side]]
        return min(open_, key=lambda side: len(self._buffers[side]), default=None)

    def add(self, side: Side, table: RecordTable) -> None:
        """Takes the next records of a log."""
        if side is Side.SOURCE:
            self.result.source_records += len(table)
        else:
            self.result.remote_records += len(table)
        self._buffers[side] = joined([each for each in (self._buffers[side], table) if len(each)])
        self._advance()

    def end(self, side: Side) -> None:
        """Notes that a log has no more records."""
        self._ended[side] = True
        self._advance()

    def open_start(self, side: Side) -> None:
        """Notes that records of a log were deleted while it was read."""
        self._unmatched.classify()
        self._has_matched = False
        self._rules = replace(
            self._rules,
            open_source_start=self._rules.open_source_start or side is Side.REMOTE,
            open_remote_start=self._rules.open_remote_start or side is Side.SOURCE,
        )

    def has_unknown(self) -> bool:
        """Whether it helps to see more of the source, to tell duplicates from added records."""
        return self._unmatched.has_unknown()

    def learn(self, table: RecordTable) -> None:
        """Takes source records outside of what is compared, of which there may be copies in it."""
        self._unmatched.learn(self._identities(table))

    def finish(self) -> None:
        """Classifies what is left: both logs are read as far as they are to be."""
        self._take_unmatched(*(len(self._buffers[side]) for side in Side))
        if not self._has_matched:
            self._count_dropped()
        is_open = self._rules.open_end and self._has_matched
        pending = self._rules.pending_from
        self._unmatched.classify(last=self._hunk, pending_from=pending, open_end=is_open)

    def _is_pending(self, source: RecordTable) -> bool:
        """Whether all that is left of the source may be without copies."""
        pending = self._rules.pending_from
        return pending is not None and len(source) > 0 and int(source.offsets[0]) >= pending

    def _advance(self) -> None:
        while True:
            self._match(self._equal())
            source, remote = (self._buffers[side] for side in Side)
            if len(source) and len(remote):
                if not self._resync(source, remote):
                    return
            elif len(source) and self._ended[Side.REMOTE] and not self._is_pending(source):
                self._take_unmatched(self._certain(source), 0)
                return
            elif len(remote) and self._ended[Side.SOURCE]:
                self._take_unmatched(0, len(remote))
                return
            else:
                return

    def _certain(self, source: RecordTable) -> int:
        pending = self._rules.pending_from
        return len(source) if pending is None else int(np.searchsorted(source.offsets, pending))

    def _identities(self, table: RecordTable) -> Digests:
        """What aligns records; compaction leaves many of the same content, at other times."""
        tolerant = self._rules.tolerates_compaction
        return table.timed_contents() if tolerant else table.contents

    def _equal(self) -> int:
        """How many records at the beginning are the same in both logs."""
        source, remote = (self._buffers[side] for side in Side)
        count = min(len(source), len(remote))
        same = self._identities(source.part(0, count)) == self._identities(remote.part(0, count))
        return count if bool(same.all()) else int(np.argmin(same))

    def _match(self, count: int) -> None:
        if not count:
            return
        if not self._has_matched:
            self._begin()
        source, remote = (self._buffers[side].part(0, count) for side in Side)
        others: Flags = (source.timestamps != remote.timestamps) & ~remote.append_times
        places = [int(at) for at in np.flatnonzero(others)]
        self.result.equal += count - len(places)
        self.result.note(difference(Kind.ALTERED, (source, at), (remote, at)) for at in places)
        self._remember(self._identities(source))
        self._hunk += 1
        for side in Side:
            self._buffers[side] = self._buffers[side].part(count)

    def _begin(self) -> None:
        rules, self._has_matched = self._rules, True
        self.result.not_comparable += self._unmatched.forget(
            source=rules.open_source_start, remote=rules.open_remote_start
        )
        self.result.not_comparable += sum(self._dropped_at_start.values())
        self._dropped_at_start = dict.fromkeys(Side, 0)

    def _count_dropped(self) -> None:
        """Nothing was equal: what was passed over at the start are differences, too."""
        for side, kind in ((Side.SOURCE, Kind.LOST), (Side.REMOTE, Kind.ADDED)):
            if dropped := self._dropped_at_start[side]:
                self.result.counts[kind] += dropped

    def _resync(self, source: RecordTable, remote: RecordTable) -> bool:
        """Passes over what differs; False if more is needed to see how far that goes."""
        here, there = self._identities(source), self._identities(remote)
        for window in _WINDOWS:
            found = _nearest(here[:window], there[:window])
            reach = min(self._reach(Side.SOURCE), self._reach(Side.REMOTE))
            is_last = window == _WINDOWS[-1] and reach >= window
            if found is not None and (sum(found) < min(window, reach) or is_last):
                self._take_unmatched(*found)
                return True
            if reach < window:
                return False
        if self._ended[Side.SOURCE] and self._ended[Side.REMOTE]:
            longest = max(len(source), len(remote))
            if longest <= _WINDOWS[-1]:
                return False  # ``finish`` takes both.
        self._pass_window()
        return True

    def _reach(self, side: Side) -> int:
        return _WINDOWS[-1] + 1 if self._ended[side] else len(self._buffers[side])

    def _pass_window(self) -> None:
        """Nothing is equal for very long."""
        source, remote = (self._buffers[side].part(0, _WINDOWS[-1]) for side in Side)
        rules = self._rules
        if self._has_matched or not (rules.open_source_start or rules.open_remote_start):
            self._take_unmatched(len(source), len(remote))
            return
        is_remote_older = _middle(remote) <= _middle(source)
        both = rules.open_source_start and rules.open_remote_start
        is_remote = is_remote_older if both else rules.open_remote_start
        side = Side.REMOTE if is_remote else Side.SOURCE
        count = len(remote) if is_remote else len(source)
        self._dropped_at_start[side] += count
        self._buffers[side] = self._buffers[side].part(count)

    def _take_unmatched(self, source: int, remote: int) -> None:
        """Takes so many records of both logs as unmatched ones of the present hunk."""
        if not source and not remote:
            return
        missing, extra = self._buffers[Side.SOURCE], self._buffers[Side.REMOTE]
        known = np.concatenate([*self._recent, self._identities(missing)])
        self._unmatched.add(missing.part(0, source), extra.part(0, remote), self._hunk, known)
        self._buffers[Side.SOURCE] = missing.part(source)
        self._buffers[Side.REMOTE] = extra.part(remote)
        if len(self._unmatched) > _MOST_UNMATCHED:
            self._unmatched.classify()

    def _remember(self, contents: Digests) -> None:
        self._recent.append(contents[-_REMEMBERED:])
        self._recent_size += len(self._recent[-1])
        while self._recent_size - len(self._recent[0]) >= _REMEMBERED:
            self._recent_size -= len(self._recent.popleft())


def _nearest(here: Digests, there: Digests) -> tuple[int, int] | None:
    """The places of the equal records with the fewest others before them."""
    _, first, second = np.intersect1d(here, there, return_indices=True)
    if not len(first):
        return None
    best = int(np.argmin(first + second))
    return int(first[best]), int(second[best])


def _middle(table: RecordTable) -> int:
    return int(table.timestamps[len(table) // 2])
