"""Parts of a flow that are run again: when they fail, and when they are asked to."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from mm2.errors import FatalError, Mm2Error
from mm2.supervision import AnyOf, Supervised
from tests.support.virtual_time import run


class _Part:
    """Counts its runs, each of which lasts until it is to end."""

    def __init__(self, stopping: asyncio.Event | None = None, *, is_cut: bool = False) -> None:
        self.runs = self.cancelled = 0
        self.failures: list[Exception] = []
        self.supervised = Supervised("part", self._run, stopping=stopping, is_cut=is_cut)
        self._is_cut = is_cut

    async def _run(self) -> None:
        self.runs += 1
        if self.failures:
            raise self.failures.pop(0)
        try:
            await (asyncio.Event().wait() if self._is_cut else self.supervised.ending.wait())
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def _settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_part_runs_again_when_it_is_asked_to_and_ends_when_it_is_to_stop(is_cut: bool) -> None:
    async def script() -> None:
        part = _Part(is_cut=is_cut)
        running = asyncio.create_task(part.supervised.run())
        for runs in (1, 2, 3):
            await _settle()
            assert (part.runs, running.done()) == (runs, False)
            part.supervised.restart()
        await _settle()
        part.supervised.stop()
        await running
        assert (part.runs, part.cancelled) == (4, 4 if is_cut else 0)

    run(script())


def test_what_contains_a_part_stops_it() -> None:
    async def script() -> None:
        outer = _Part()
        inner = Supervised("inner", outer.supervised.ending.wait, stopping=outer.supervised.ending)
        running = asyncio.create_task(inner.run())
        await _settle()
        assert not running.done()
        outer.supervised.restart()
        await running

    run(script())


def test_a_part_that_is_stopped_before_it_runs_does_not_begin() -> None:
    async def script() -> None:
        stopping = asyncio.Event()
        stopping.set()
        part = _Part(stopping)
        await part.supervised.run()
        assert part.runs == 0

    run(script())


def test_a_part_that_fails_runs_again_after_a_delay_and_at_once_if_it_is_asked_to() -> None:
    async def script() -> None:
        part, now = _Part(), asyncio.get_running_loop().time
        part.failures = [Mm2Error("a"), Mm2Error("b")]
        with capture_logs() as logged:
            running = asyncio.create_task(part.supervised.run())
            await _settle()
            began = now()
            assert [each["error"] for each in logged] == ["Mm2Error: a"]
            part.supervised.restart()
            await _settle()
            assert (part.runs, now()) == (2, began)
            await asyncio.sleep(10)  # of virtual time
            assert part.runs == 3
        part.supervised.stop()
        await running

    run(script())


def test_a_part_that_has_ended_waits_until_it_is_asked_to_run_again() -> None:
    async def script() -> None:
        runs: list[int] = []

        async def work() -> None:
            runs.append(1)

        part = Supervised("part", work)
        running = asyncio.create_task(part.run())
        await _settle()
        assert len(runs) == 1
        part.restart()
        await _settle()
        assert (len(runs), running.done()) == (2, False)
        part.stop()
        await running

    run(script())


def test_an_error_that_running_again_cannot_help_ends_a_part() -> None:
    part = _Part()
    part.failures = [FatalError("no")]
    with pytest.raises(FatalError, match="no"):
        run(part.supervised.run())
    assert part.runs == 1


def test_any_of_several_events_is_awaited() -> None:
    async def script() -> None:
        first, second = asyncio.Event(), asyncio.Event()
        any_of = AnyOf(first, AnyOf(second))
        waiting = asyncio.create_task(any_of.wait())
        await _settle()
        assert (any_of.is_set(), waiting.done()) == (False, False)
        second.set()
        await waiting
        assert any_of.is_set()

    run(script())
