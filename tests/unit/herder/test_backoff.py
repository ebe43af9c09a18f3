"""Delays between attempts of a part that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from structlog.testing import capture_logs

from mm2.errors import FatalError, Mm2Error
from mm2.supervision import Backoff, keep_running, run_periodically
from tests.support.virtual_time import run


def test_delays_double_up_to_the_most() -> None:
    backoff = Backoff(first_s=1.0, most_s=8.0)
    for expected in (1, 2, 4, 8, 8, 8):
        assert expected * 0.8 <= backoff.next_delay(0.1) <= expected * 1.2


def test_a_steady_run_starts_the_delays_anew() -> None:
    backoff = Backoff(first_s=1.0, most_s=8.0)
    for _ in range(4):
        backoff.next_delay(0.1)
    assert backoff.next_delay(61.0) <= 1.2
    assert backoff.next_delay(0.1) >= 1.6


def test_a_part_may_fail_for_days() -> None:
    backoff = Backoff(first_s=1.0, most_s=8.0)
    assert all(backoff.next_delay(0.1) <= 9.6 for _ in range(2_000))


def test_what_fails_runs_again_until_it_ends() -> None:
    runs = []

    async def part() -> None:
        runs.append(1)
        if len(runs) < 4:
            raise Mm2Error("not yet")

    run(keep_running("part", part))
    assert len(runs) == 4


def test_an_error_that_running_again_cannot_help_ends_it() -> None:
    async def part() -> None:
        raise FatalError("no")

    with pytest.raises(FatalError, match="no"):
        run(keep_running("part", part))


def test_cancelling_a_part_is_no_failure() -> None:
    async def cancelled() -> None:
        part = asyncio.create_task(keep_running("part", asyncio.Event().wait))
        await asyncio.sleep(0)
        part.cancel()
        with pytest.raises(asyncio.CancelledError):
            await part

    run(cancelled())


def test_such_an_error_in_a_group_ends_it_too() -> None:
    """Jobs in task groups raise groups; a Spark that cannot start was tried for ever."""
    runs = []

    async def fails() -> None:
        raise FatalError("no")

    async def part() -> None:
        runs.append(1)
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    with pytest.raises(ExceptionGroup):
        run(keep_running("part", part))
    assert len(runs) == 1


async def _fails_while_it_is_cancelled() -> None:
    async def fails() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise Mm2Error("no connection to say good-bye on")

    async with asyncio.TaskGroup() as group:
        group.create_task(fails())


@pytest.mark.parametrize(
    "endless",
    [
        lambda: keep_running("part", _fails_while_it_is_cancelled),
        lambda: run_periodically(1.0, _fails_while_it_is_cancelled, name="job", at_once=True),
    ],
    ids=["part", "job"],
)
def test_a_part_that_fails_while_it_is_cancelled_is_not_run_again(
    endless: Callable[[], Coroutine[object, object, None]],
) -> None:
    """Who waits for the end of a flow would wait for ever."""

    async def cancelled() -> None:
        part = asyncio.create_task(endless())
        await asyncio.sleep(1)
        part.cancel()
        async with asyncio.timeout(60):
            await asyncio.wait({part})
        assert part.cancelled()

    run(cancelled())


def test_the_same_reason_again_is_told_only_once() -> None:
    reasons = ["a", "a", "a", "b", "b", "a"]

    async def part() -> None:
        if reasons:
            raise Mm2Error(reasons.pop(0))

    with capture_logs() as logged:
        run(keep_running("part", part))
    assert [each["error"] for each in logged] == [f"Mm2Error: {each}" for each in "aba"]
