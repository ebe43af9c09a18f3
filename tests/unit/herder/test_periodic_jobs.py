"""What runs again and again: behaviours 12.2, Java's ``Scheduler``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from structlog.testing import capture_logs

from mm2.errors import Mm2Error
from mm2.supervision import run_periodically
from tests.support.virtual_time import run

Job = Callable[[], Awaitable[None]]


class _Record:
    """Jobs that note when they begin and end, in seconds."""

    def __init__(self) -> None:
        self.began: list[float] = []
        self.ended: list[float] = []
        self.cancelled = 0

    def taking(self, seconds: float) -> Job:
        async def job() -> None:
            loop = asyncio.get_running_loop()
            self.began.append(loop.time())
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            self.ended.append(loop.time())

        return job


async def _for(seconds: float, *jobs: Awaitable[None]) -> None:
    """Lets jobs run for so long, and ends them."""
    tasks = [asyncio.ensure_future(job) for job in jobs]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


@pytest.mark.parametrize(("at_once", "began"), [(True, [0, 10, 20]), (False, [10, 20])])
def test_runs_have_a_fixed_rate_and_the_first_is_now_or_after_one_interval(
    at_once: bool, began: list[int]
) -> None:
    """C332: the rate is kept though each run takes time."""
    record = _Record()

    async def jobs() -> None:
        await _for(25, run_periodically(10, record.taking(3), name="job", at_once=at_once))

    run(jobs())
    assert record.began == pytest.approx(began)


def test_runs_of_a_job_never_overlap_and_those_missed_are_not_made_up_for() -> None:
    """C331, C332: Java runs without a pause until it has made up for all."""
    record = _Record()
    lengths = iter([35.0, 1.0, 1.0, 1.0])

    async def jobs() -> None:
        async def job() -> None:
            await record.taking(next(lengths))()

        await _for(60, run_periodically(10, job, name="job", at_once=True))

    run(jobs())
    assert record.began == pytest.approx([0, 35, 45, 55])
    assert all(end <= begin for end, begin in zip(record.ended, record.began[1:], strict=False))


def test_a_long_job_does_not_hold_up_the_others() -> None:
    """C331: Java's jobs share a thread."""
    slow, quick = _Record(), _Record()

    async def jobs() -> None:
        await _for(
            35,
            run_periodically(10, slow.taking(1_000), name="slow", at_once=True),
            run_periodically(10, quick.taking(0), name="quick", at_once=True),
        )

    run(jobs())
    assert len(slow.began) == 1
    assert quick.began == pytest.approx([0, 10, 20, 30])


def test_a_run_that_fails_is_told_with_its_reason_and_the_next_comes_in_time() -> None:
    """C333, C334."""
    runs: list[float] = []

    async def job() -> None:
        runs.append(asyncio.get_running_loop().time())
        raise Mm2Error("no answer")

    async def jobs() -> None:
        await _for(25, run_periodically(10, job, name="refresh-topics", at_once=True))

    with capture_logs() as logs:
        run(jobs())
    assert runs == pytest.approx([0, 10, 20])
    said = {(e["event"], e["job"], e["error"]) for e in logs}
    assert said == {("job.failed", "refresh-topics", "Mm2Error: no answer")}


def test_closing_ends_the_run_that_is_under_way_and_begins_no_other() -> None:
    """C335: Java waits for it up to a timeout, and passes over what is queued."""
    record = _Record()

    async def jobs() -> None:
        await _for(12, run_periodically(10, record.taking(5), name="job", at_once=True))
        await asyncio.sleep(100)

    run(jobs())
    assert record.began == pytest.approx([0, 10])
    assert record.cancelled == 1
