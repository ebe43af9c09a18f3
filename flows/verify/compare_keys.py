"""
Compares a compacted log with its copy by the last record of each key.

Both logs change while they are read: a key that is written again loses the record that was its
last one. So what differs at first is looked at again before it is a difference.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Final, Protocol

import numpy as np

from flows.verify.compared_logs import Span
from mm2.core.verification.comparison_result import ComparisonResult, Difference
from mm2.core.verification.last_values import (
    LastValueRules,
    LastValues,
    Suspects,
    compare_last_values,
    drop_suspects,
)
from mm2.core.verification.record_table import Flags, Numbers, RecordTable
from mm2.core.verification.stream_comparison import Side

_ROUNDS: Final = 20
"""
How often at most what was written since is read.

Each time that is less if records are read faster than they are written, and more otherwise. A log
that is always written is not read to its end: a difference would then be wrong only of a key whose
new records were cleaned away in each of the rounds, before they were read.
"""

_LEAST_LIMIT_S: Final = 600.0
"""What is written since may be read for as long as the logs were, and for this time at least."""

_APART: Final = 10_000
"""Offsets between two records that are looked for by one read."""


class NotConfirmed(Exception):
    """
    Logs differ, but were written too fast to look at that again.

    Args:
        message: a sentence.
        differences: the first ones.
    """

    def __init__(self, message: str, differences: Sequence[Difference] = ()) -> None:
        super().__init__(message)
        self.differences = tuple(differences)


class ComparableLogs(Protocol):
    """What is needed of both logs."""

    def span(self, side: Side) -> Span:
        """What of a log is compared."""
        ...

    def tables(
        self, side: Side, span: Span | None = None
    ) -> AsyncGenerator[tuple[RecordTable, bool], None]:
        """Records of one side, each time with whether some before them were deleted meanwhile."""
        ...

    async def end(self, side: Side) -> int:
        """The offset behind the last record of a log, as it is now."""
        ...


async def compare_keys(logs: ComparableLogs, rules: LastValueRules, most: int) -> ComparisonResult:
    """
    Compares the last records of keys.

    Raises:
        ClusterError: a log cannot be read.
        NotConfirmed: it takes longer to read what was written since than to read the logs.
        ValueError: a batch cannot be read.
    """
    comparison = _Comparison(logs, rules, most)
    clock = asyncio.get_running_loop().time
    started = clock()
    for side in Side:
        await comparison.read(side, logs.span(side))
    if comparison.compare():
        await comparison.read_on_within(max(_LEAST_LIMIT_S, clock() - started))
        if comparison.compare():
            await comparison.drop_gone()
    return comparison.result


class _Comparison:
    def __init__(self, logs: ComparableLogs, rules: LastValueRules, most: int) -> None:
        self.result = ComparisonResult(most=most)
        self._logs, self._rules = logs, rules
        self._last = {side: LastValues() for side in Side}
        self._read: Counter[Side] = Counter()
        self._suspects = Suspects(*(np.empty(0, np.int64) for _ in Side))

    async def read(self, side: Side, span: Span) -> None:
        """Reads a part of a log, which lies behind what was read before."""
        async for table, is_behind_gap in self._logs.tables(side, span):
            if is_behind_gap:
                self._last[side].open_start()
            self._last[side].add(table)
            self._read[side] += len(table)

    def compare(self) -> bool:
        """Compares what was read, and says whether it differs."""
        self.result = ComparisonResult(
            most=self.result.most,
            source_records=self._read[Side.SOURCE],
            remote_records=self._read[Side.REMOTE],
        )
        source, remote = (self._last[side] for side in Side)
        self._suspects = compare_last_values(source, remote, self._rules, self.result)
        return self.result.differs

    async def read_on_within(self, limit_s: float) -> None:
        """Reads what was written since, or raises ``NotConfirmed`` when the time is over."""
        try:
            async with asyncio.timeout(limit_s) as limit:
                await self._read_on()
        except TimeoutError:
            if not limit.expired():
                raise
            found = self.result.counts.total()
            raise NotConfirmed(
                f"{found} differences are not confirmed, as more was written meanwhile than"
                f" could be read in {limit_s:.0f} s. Compare again while less is written.",
                self.result.differences,
            ) from None

    async def _read_on(self) -> None:
        """
        Reads what was written since, until that is nothing or the rounds are over.

        A key that is missing because it was written again is there. The end of the copies is
        asked for first, so that each copy has its record.
        """
        ends = {side: self._logs.span(side)[1] for side in Side}
        for _ in range(_ROUNDS):
            remote, source = await self._logs.end(Side.REMOTE), await self._logs.end(Side.SOURCE)
            later = {Side.SOURCE: source, Side.REMOTE: remote}
            if later == ends:
                return
            for side in Side:
                await self.read(side, (ends[side], later[side]))
            ends = later

    async def drop_gone(self) -> None:
        """
        Leaves out keys of which a record that differs is gone.

        The others are certain: as long as a record is there, compaction has taken no later one of
        its key.
        """
        looked_for = dict(zip(Side, self._suspects, strict=True))
        there = {side: await self._there(side, each) for side, each in looked_for.items()}
        gone = [each[~np.isin(each, there[side])] for side, each in looked_for.items()]
        source, remote = (self._last[side] for side in Side)
        if dropped := drop_suspects(source, remote, Suspects(*gone)):
            self.compare()
            self.result.compacted += dropped

    async def _there(self, side: Side, offsets: Numbers) -> Numbers:
        """Those of the offsets at which there are records now."""
        ordered = np.unique(offsets)
        found = [np.empty(0, np.int64)]
        for span in spans_of(ordered):
            async for table, _ in self._logs.tables(side, span):
                found.append(those_in(table, ordered))
        return np.concatenate(found)


def spans_of(ordered: Numbers) -> Iterator[Span]:
    """Parts of a log that hold ascending offsets, without long stretches that hold none."""
    for each in np.split(ordered, np.flatnonzero(np.diff(ordered) > _APART) + 1):
        if len(each):
            yield int(each[0]), int(each[-1]) + 1


def those_in(table: RecordTable, ordered: Numbers) -> Numbers:
    """
    Those of ascending offsets at which a table has records.

    Takes the time of those within the table: there may be millions of others.
    """
    if not len(table):
        return np.empty(0, np.int64)
    first, end = ordered.searchsorted([table.offsets[0], table.offsets[-1] + 1])
    near: Numbers = ordered[first:end]
    is_there: Flags = table.offsets[table.offsets.searchsorted(near)] == near
    return near[is_there]
