"""Compacted logs that differ, and are written faster than they are read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import cast

import pytest

from flows.verify import compare_part as tasks
from flows.verify.compare_keys import NotConfirmed, compare_keys
from flows.verify.compared_logs import Span
from flows.verify.comparison_spec import ComparedPart, ComparisonSpec
from mm2.core.verification.comparison_result import ComparisonResult, Difference, Kind
from mm2.core.verification.last_values import LastValueRules
from mm2.core.verification.record_table import RecordTable
from mm2.core.verification.stream_comparison import Side
from tests.support import virtual_time
from tests.support.fake_log import WHERE
from tests.support.tables import rows, table

_FIRST_S = 3600.0
_WRITTEN = 2


class _Growing:
    """
    The copy lacks the first record, and the source grows while it is read.

    Args:
        factor: how much longer it takes each time to read what was written since.
    """

    def __init__(self, factor: float) -> None:
        self._factor, self._pause_s = factor, _FIRST_S
        self._end = _WRITTEN

    def span(self, side: Side) -> Span:
        return (0, _WRITTEN) if side is Side.SOURCE else (0, 1)

    async def end(self, side: Side) -> int:
        if side is Side.REMOTE:
            return 1
        self._end += 1
        return self._end

    async def tables(
        self, side: Side, span: Span | None = None
    ) -> AsyncGenerator[tuple[RecordTable, bool], None]:
        first, end = span or self.span(side)
        if side is Side.REMOTE:
            yield table(rows(1, first=1)), False
            return
        await asyncio.sleep(self._pause_s)
        self._pause_s *= self._factor
        yield table(rows(end - first, first), first), False


def _compared(factor: float) -> ComparisonResult:
    rules = LastValueRules(pending_from=_WRITTEN)
    return virtual_time.run(compare_keys(_Growing(factor), rules, 20))


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_reading_on_for_longer_than_the_logs_took_confirms_no_difference(factor: float) -> None:
    message = r"1 differences are not confirmed.* in 3600 s\."
    with pytest.raises(NotConfirmed, match=message) as raised:
        _compared(factor)
    (listed,) = raised.value.differences
    assert (listed.kind, listed.source_offset) == (Kind.LOST, 0)


def test_differences_are_confirmed_if_each_round_is_shorter() -> None:
    assert dict(_compared(0.4).counts) == {Kind.LOST: 1}


def test_other_timeouts_are_not_taken_for_the_limit() -> None:
    class Broken(_Growing):
        async def end(self, side: Side) -> int:
            raise TimeoutError

    rules = LastValueRules(pending_from=_WRITTEN)
    with pytest.raises(TimeoutError):
        virtual_time.run(compare_keys(Broken(1), rules, 20))


_LOST = Difference(kind=Kind.LOST, source_offset=0)


def test_a_part_that_is_not_confirmed_fails_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    async def not_confirmed(*_: object) -> ComparisonResult:
        raise NotConfirmed("1 differences are not confirmed", [_LOST])

    monkeypatch.setattr(tasks, "_compare", not_confirmed)
    spec = cast("ComparisonSpec", None)
    part = cast("ComparedPart", _Part())
    found = tasks.compare_part(spec, [part], 0, print)
    assert (found.result, found.is_unreachable) == (None, False)
    assert found.failure == f"{WHERE}: 1 differences are not confirmed"
    assert found.not_confirmed == (_LOST,)


def test_a_part_that_cannot_be_read_has_no_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unreadable(*_: object) -> ComparisonResult:
        raise ValueError("no batch")

    monkeypatch.setattr(tasks, "_compare", unreadable)
    part = cast("ComparedPart", _Part())
    found = tasks.compare_part(cast("ComparisonSpec", None), [part], 0, print)
    assert (found.failure, found.not_confirmed) == (f"{WHERE}: no batch", ())


class _Part:
    where = WHERE
