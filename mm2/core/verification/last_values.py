"""
Compares compacted logs by the last record of each key, as their readers do.

Memory grows with the number of keys, 34 bytes each and side, and not with the records.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from mm2.core.verification.comparison_result import ComparisonResult, Difference, Kind, difference
from mm2.core.verification.record_table import (
    NO_RECORDS,
    Digests,
    Flags,
    Numbers,
    RecordTable,
    joined,
)

_LEAST_PENDING: Final = 1 << 18
_BEHIND_ALL: Final = (1 << 63) - 1


class LastValues:
    """
    The last record of each key of a log, as far as it was read.

    Attributes:
        is_cut: whether records were deleted while the log was read.
    """

    def __init__(self) -> None:
        self.is_cut = False
        self._last = NO_RECORDS
        self._pending: list[RecordTable] = []
        self._waiting = 0

    def add(self, table: RecordTable) -> None:
        """Takes the next records."""
        self._pending.append(table)
        self._waiting += len(table)
        if self._waiting > max(_LEAST_PENDING, len(self._last)):
            self._merge()

    def open_start(self) -> None:
        """Notes that all records before the next ones were deleted while the log was read."""
        self.is_cut = True
        self._last, self._pending, self._waiting = NO_RECORDS, [], 0

    def records(self) -> RecordTable:
        """The last records, by the digests of their keys."""
        self._merge()
        return self._last

    def drop(self, keys: Digests) -> None:
        """Leaves keys out, as if the log had no records of them."""
        self._merge()
        self._last = self._last.take(~np.isin(self._last.keys, keys))

    def _merge(self) -> None:
        both = joined([self._last, *self._pending])
        self._pending, self._waiting = [], 0
        _, last = np.unique(both.keys[::-1], return_index=True)
        self._last = both.take(len(both) - 1 - last)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastValueRules:
    """
    What may differ.

    Attributes:
        pending_from: source offset from which on records need have no copy yet. None: from behind
            the last record that has one.
        open_source_start: source records before the first equal one: their copies are deleted, or
            were never made because the flow began behind them.
        open_remote_start: records of the remote topic before the first equal one: the source has
            deleted theirs.
    """

    pending_from: int | None
    open_source_start: bool = False
    open_remote_start: bool = False


class Suspects(NamedTuple):
    """
    Offsets of the records that differ or have no counterpart.

    They prove a difference if they are there still: compaction takes a record only when a later
    one has its key.
    """

    source: Numbers
    remote: Numbers


def compare_last_values(
    source: LastValues, remote: LastValues, rules: LastValueRules, result: ComparisonResult
) -> Suspects:
    """
    Compares the last records of keys, and returns those that differ.

    A key whose last source record is not copied yet is not compared, nor is one that ends with a
    tombstone on one side and is gone on the other. Copies of the rest must be in order. Logs are
    deleted from their beginnings: behind an equal record, a key must be on both sides.
    """
    ours, copies = source.records(), remote.records()
    _, here, there = np.intersect1d(ours.keys, copies.keys, return_indices=True)
    common = _Common.of(ours.take(here), copies.take(there), rules.pending_from)
    differing = _compare_common(common, result)
    lost = ours.take(_others(len(ours), here))
    is_behind: Flags = lost.offsets >= common.pending_from
    result.behind += int(is_behind.sum())
    is_open = rules.open_source_start or remote.is_cut
    lost = _one_sided(
        Kind.LOST, lost.take(~is_behind), common.first_source if is_open else 0, result
    )
    is_open = rules.open_remote_start or source.is_cut
    added = copies.take(_others(len(copies), there))
    added = _one_sided(Kind.ADDED, added, common.first_remote if is_open else 0, result)
    return Suspects(
        np.concatenate([differing.source, lost.offsets]),
        np.concatenate([differing.remote, added.offsets]),
    )


def drop_suspects(source: LastValues, remote: LastValues, gone: Suspects) -> int:
    """
    Leaves out the keys of records that a log does not have any more.

    Returns:
        How many keys that are.
    """
    ours, copies = source.records(), remote.records()
    keys = np.union1d(
        ours.keys[np.isin(ours.offsets, gone.source)],
        copies.keys[np.isin(copies.offsets, gone.remote)],
    )
    for each in (source, remote):
        each.drop(keys)
    return len(keys)


class _Common(NamedTuple):
    """
    Keys that both sides have.

    Attributes:
        same: whether the last records are equal.
    """

    source: RecordTable
    remote: RecordTable
    same: Flags
    pending_from: int

    @classmethod
    def of(cls, source: RecordTable, remote: RecordTable, pending_from: int | None) -> _Common:
        """
        Pairs last records.

        Without a position, what has a copy says how far these go. A pair with other timestamps
        does not: the copy may be one of an earlier record with the same value.
        """
        is_timed: Flags = source.timestamps == remote.timestamps
        contents: Flags = source.contents == remote.contents
        if pending_from is None:
            pending_from = int(source.offsets[contents & is_timed].max(initial=-1)) + 1
        return cls(source, remote, contents & (is_timed | remote.append_times), pending_from)

    @property
    def is_behind(self) -> Flags:
        """Whether the last record of the source need have no copy yet."""
        return self.source.offsets >= self.pending_from

    @property
    def first_source(self) -> int:
        """Offset of the first source record whose copy is there; behind all if there is none."""
        return self._first(self.source.offsets)

    @property
    def first_remote(self) -> int:
        """Offset of the first copy of a record that is there; behind all if there is none."""
        return self._first(self.remote.offsets)

    def _first(self, offsets: Numbers) -> int:
        return int(offsets[self.same & ~self.is_behind].min(initial=_BEHIND_ALL))


def _compare_common(common: _Common, result: ComparisonResult) -> Suspects:
    source, remote, same, _ = common
    result.behind += int((~same & common.is_behind).sum())
    altered = np.flatnonzero(~same & ~common.is_behind)
    in_place = same & ~common.is_behind
    moved = _out_of_order(source.take(in_place), remote.take(in_place))
    result.equal += int(same.sum()) - len(moved)
    changed = (difference(Kind.ALTERED, (source, int(at)), (remote, int(at))) for at in altered)
    result.note(sorted([*changed, *moved], key=lambda each: each.source_offset or 0))
    return Suspects(
        np.concatenate([source.offsets[altered], _offsets(each.source_offset for each in moved)]),
        np.concatenate([remote.offsets[altered], _offsets(each.remote_offset for each in moved)]),
    )


def _offsets(known: Iterable[int | None]) -> Numbers:
    return np.array([each for each in known if each is not None], np.int64)


def _out_of_order(source: RecordTable, remote: RecordTable) -> list[Difference]:
    """Records whose copies lie before the copy of an earlier one."""
    order = np.argsort(source.offsets)
    offsets = remote.offsets[order]
    before = np.maximum.accumulate(offsets)
    places = order[np.flatnonzero(offsets < before)]
    return [difference(Kind.REORDERED, (source, int(at)), (remote, int(at))) for at in places]


def _one_sided(
    kind: Kind, table: RecordTable, open_until: int, result: ComparisonResult
) -> RecordTable:
    """
    Notes records without a counterpart, and returns those of which that is a difference.

    Those before an offset may be without one because that was deleted.
    """
    is_tombstone: Flags = table.values == 0
    result.compacted += int(is_tombstone.sum())
    left = table.take(~is_tombstone)
    is_open: Flags = left.offsets < open_until
    result.not_comparable += int(is_open.sum())
    left = left.take(~is_open)
    left = left.take(np.argsort(left.offsets))
    result.note_all(kind, left, of_source=kind is Kind.LOST)
    return left


def _others(count: int, which: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Flags:
    left = np.ones(count, np.bool_)
    left[which] = False
    return left
