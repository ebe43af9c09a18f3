"""Compacted logs are compared while keys are written, copied, and taken by compaction."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.verify.compare_keys import compare_keys
from flows.verify.compared_logs import Span
from mm2.core.verification.comparison_result import Kind
from mm2.core.verification.last_values import LastValueRules
from mm2.core.verification.record_table import RecordTable
from mm2.core.verification.stream_comparison import Side
from tests.support import virtual_time
from tests.support.tables import Row, table

_KEYS = "abc"
_OTHER = "other"


@dataclass
class _Log:
    """A compacted log: records by their offsets; the last one is in the active segment."""

    records: dict[int, Row] = field(default_factory=dict)
    end: int = 0

    def append(self, row: Row) -> None:
        self.records[self.end] = row
        self.end += 1

    def compact(self, tombstones_before: int = 0) -> None:
        """Takes what has a later record of its key, and then old tombstones."""
        cleaned = range(self.end - 1)
        last = {row.key: offset for offset, row in self.records.items() if offset in cleaned}
        kept = {at: row for at, row in self.records.items() if last.get(row.key, at) <= at}
        self.records = {
            at: row
            for at, row in kept.items()
            if row.value is not None or at >= tombstones_before or at not in cleaned
        }


class _Mirrored:
    """A source, its copy, and what happens to both before each record that is read."""

    def __init__(self, events: Iterator[str], before: list[str]) -> None:
        self.logs = {side: _Log() for side in Side}
        self.position = 0
        self._written = 0
        self._events = events
        for event in before:
            self.happen(event)
        self.rules = LastValueRules(pending_from=self.position)
        # As the plan asks: position, end of the copies, end of the source.
        self._ends = {side: self.logs[side].end for side in Side}

    def happen(self, event: str) -> None:
        source, remote = self.logs[Side.SOURCE], self.logs[Side.REMOTE]
        if event == "copy":
            self._copy()
        elif event == "compact source":
            source.compact(tombstones_before=self.position)
        elif event == "compact remote":
            remote.compact(tombstones_before=remote.end)
        else:
            self._written += 1
            value = f"v{self._written}" if event.islower() else None
            source.append(Row(key=event.lower(), value=value, timestamp=self._written))

    def _copy(self) -> None:
        source = self.logs[Side.SOURCE]
        if waiting := [at for at in source.records if at >= self.position]:
            self.logs[Side.REMOTE].append(source.records[min(waiting)])
            self.position = min(waiting) + 1

    def span(self, side: Side) -> Span:
        return 0, self._ends[side]

    async def end(self, side: Side) -> int:
        return self.logs[side].end

    async def tables(
        self, side: Side, span: Span | None = None
    ) -> AsyncGenerator[tuple[RecordTable, bool], None]:
        at, end = span or self.span(side)
        while True:
            for event in (next(self._events, None), next(self._events, None)):
                if event is not None:
                    self.happen(event)
            later = [offset for offset in self.logs[side].records if at <= offset < end]
            if not later:
                return
            at = min(later) + 1
            yield table([self.logs[side].records[at - 1]], first=at - 1), False


_CHANGES = [*_KEYS, *_KEYS.upper(), "copy", "copy", "copy", "compact source", "compact remote"]
_EVENTS = st.lists(st.sampled_from(_CHANGES), max_size=38)


@given(before=_EVENTS, events=_EVENTS)
def test_compaction_in_between_is_no_difference(before: list[str], events: list[str]) -> None:
    logs = _Mirrored(iter(events), before)
    result = virtual_time.run(compare_keys(logs, logs.rules, 20))
    assert not result.differs


def _lose(remote: _Log, at: int) -> None:
    del remote.records[at]


def _alter(remote: _Log, at: int) -> None:
    remote.records[at] = replace(remote.records[at], value="another")


def _add(remote: _Log, at: int) -> None:
    remote.append(replace(remote.records[at], key="added"))


@pytest.mark.parametrize(
    ("plant", "kind"), [(_lose, Kind.LOST), (_alter, Kind.ALTERED), (_add, Kind.ADDED)]
)
@given(before=_EVENTS, events=_EVENTS)
def test_a_planted_difference_is_found_whatever_compaction_does(
    plant: Callable[[_Log, int], None], kind: Kind, before: list[str], events: list[str]
) -> None:
    logs = _Mirrored(iter(events), [_OTHER, "copy", *before])
    plant(logs.logs[Side.REMOTE], 0)
    logs._ends[Side.REMOTE] = logs.logs[Side.REMOTE].end
    result = virtual_time.run(compare_keys(logs, logs.rules, 20))
    assert dict(result.counts) == {kind: 1}
