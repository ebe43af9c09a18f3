"""
Records that have no counterpart at their place, and what became of them.

They come in hunks: what lies between two records that are equal on both sides.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from mm2.core.verification.comparison_result import ComparisonResult, Difference, Kind, difference
from mm2.core.verification.record_table import Digests, Flags, Numbers, RecordTable, joined

_LOOK_AHEAD: Final = 64
_MOST_LOOKED_AHEAD: Final = 4096
"""Records of a hunk; in a longer one only those at the same place are held for the same record."""


class _Side:
    def __init__(self) -> None:
        self.tables: list[RecordTable] = []
        self._hunks: list[Numbers] = []

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    def add(self, table: RecordTable, hunk: int) -> None:
        self.tables.append(table)
        self._hunks.append(np.full(len(table), hunk, np.int64))

    def empty(self) -> _Left:
        """All of them; nothing is left here."""
        table = joined(self.tables)
        hunks = np.concatenate([np.empty(0, np.int64), *self._hunks])
        self.tables, self._hunks = [], []
        return _Left(table, hunks, np.ones(len(table), np.bool_))


class _Left(NamedTuple):
    """Records of one log that are classified now; those that are not yet are still ``open``."""

    table: RecordTable
    hunks: Numbers
    open: Flags


class Unmatched:
    """
    Unmatched records of both logs, until they are classified.

    Args:
        tolerates_compaction: whether a record may be missing on either side.

    Attributes:
        missing: records of the source without a copy at their place.
        extra: records of the remote topic without a source record at their place.
    """

    def __init__(self, result: ComparisonResult, *, tolerates_compaction: bool) -> None:
        self._result = result
        self._tolerant = tolerates_compaction
        self.missing, self.extra = _Side(), _Side()
        self._seen: list[Flags] = []

    def __len__(self) -> int:
        return len(self.missing) + len(self.extra)

    def add(self, missing: RecordTable, extra: RecordTable, hunk: int, known: Digests) -> None:
        """
        Takes records of a hunk.

        Args:
            known: contents of source records around it.
        """
        if len(missing):
            self.missing.add(missing, hunk)
        if len(extra):
            self.extra.add(extra, hunk)
            self._seen.append(np.isin(extra.contents, known))

    def has_unknown(self) -> bool:
        """Whether there are extra records that are copies of no source record seen so far."""
        return not all(bool(each.all()) for each in self._seen)

    def learn(self, known: Digests) -> None:
        """Takes contents of more source records, of which extra records may be copies."""
        self._seen = [
            seen | np.isin(table.contents, known)
            for seen, table in zip(self._seen, self.extra.tables, strict=True)
        ]

    def forget(self, *, source: bool, remote: bool) -> int:
        """Drops records of one side or both that cannot be compared; returns how many."""
        dropped = 0
        if source:
            dropped += len(self.missing.empty()[0])
        if remote:
            dropped += len(self.extra.empty()[0])
            self._seen = []
        return dropped

    def classify(
        self, *, last: int | None = None, pending_from: int | None = None, open_end: bool = False
    ) -> None:
        """
        Says of each record what became of it; none is left here.

        Args:
            last: number of the hunk behind the last record that is equal on both sides, if both
                logs are at their ends.
            pending_from: source offset from which on records of that hunk need have no copy yet.
            open_end: whether nothing of that hunk counts.
        """
        missing, extra = self.missing.empty(), self.extra.empty()
        seen = np.concatenate([np.empty(0, np.bool_), *self._seen])
        self._seen = []
        found = list(self._reordered(missing, extra))
        found += self._duplicated(extra, seen)
        found += self._altered(missing, extra)
        self._result.note(sorted(found, key=_place))
        if open_end:
            self._pass_over(missing, missing.hunks == last)
            self._pass_over(extra, extra.hunks == last)
        if pending_from is not None:
            behind = (missing.hunks == last) & (missing.table.offsets >= pending_from)
            self._result.behind += int((missing.open & behind).sum())
            missing.open[behind] = False
        if self._tolerant:
            self._result.compacted += int(missing.open.sum()) + int(extra.open.sum())
            return
        self._result.note_all(Kind.LOST, missing.table.take(missing.open), of_source=True)
        self._result.note_all(Kind.ADDED, extra.table.take(extra.open), of_source=False)

    def _pass_over(self, left: _Left, which: Flags) -> None:
        self._result.not_comparable += int((left.open & which).sum())
        left.open[which] = False

    def _reordered(self, missing: _Left, extra: _Left) -> Iterator[Difference]:
        common = np.intersect1d(missing.table.contents, extra.table.contents)
        if not len(common):
            return
        places: dict[int, deque[int]] = defaultdict(deque)
        for at in np.flatnonzero(np.isin(missing.table.contents, common)):
            places[int(missing.table.contents[at])].append(int(at))
        for there in map(int, np.flatnonzero(np.isin(extra.table.contents, common))):
            if waiting := places[int(extra.table.contents[there])]:
                here = waiting.popleft()
                missing.open[here] = extra.open[there] = False
                if self._tolerant:
                    self._result.not_comparable += 2
                else:
                    yield difference(Kind.REORDERED, (missing.table, here), (extra.table, there))

    def _duplicated(self, extra: _Left, seen: Flags) -> Iterator[Difference]:
        if self._tolerant:
            return
        for there in map(int, np.flatnonzero(seen & extra.open)):
            extra.open[there] = False
            yield difference(Kind.DUPLICATED, None, (extra.table, there))

    def _altered(self, missing: _Left, extra: _Left) -> Iterator[Difference]:
        """Records of a hunk that have something in common, in the order of both logs."""
        for hunk in np.intersect1d(missing.hunks[missing.open], extra.hunks[extra.open]):
            here = [int(at) for at in np.flatnonzero(missing.open & (missing.hunks == hunk))]
            there = [int(at) for at in np.flatnonzero(extra.open & (extra.hunks == hunk))]
            for one, other in self._alike(missing.table, here, extra.table, there):
                missing.open[one] = extra.open[other] = False
                yield difference(Kind.ALTERED, (missing.table, one), (extra.table, other))

    def _alike(
        self, missing: RecordTable, here: list[int], extra: RecordTable, there: list[int]
    ) -> Iterator[tuple[int, int]]:
        """Pairs that have most in common, each with what is near its place."""
        is_long = len(here) > _MOST_LOOKED_AHEAD or len(there) > _MOST_LOOKED_AHEAD
        ahead, at = 1 if is_long else _LOOK_AHEAD, 0
        for other in there:
            near = here[at : at + ahead]
            scores = [self._in_common(missing.row(one), extra.row(other)) for one in near]
            if scores and (most := max(scores)):
                place = scores.index(most)
                yield near[place], other
                at += place + 1
            elif is_long:
                at += 1

    def _in_common(
        self, source: tuple[int, int, int, int], remote: tuple[int, int, int, int]
    ) -> int:
        """How many parts two records share; None has nothing in common with None."""
        if self._tolerant and (source[0], source[3]) != (remote[0], remote[3]):
            return 0
        return sum(here == there != 0 for here, there in zip(source, remote, strict=True))


def _place(found: Difference) -> int:
    offset = found.remote_offset if found.source_offset is None else found.source_offset
    return 0 if offset is None else offset
