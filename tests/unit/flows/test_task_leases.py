"""A task writes no longer than its leader's lease lasts, by its own clock, and goes on with it."""

from __future__ import annotations

import asyncio

import pytest

from flows.source.task_lease import TaskLease
from tests.support.virtual_time import run


class _Clock:
    """A clock that tests move."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def _suspended(clock: _Clock) -> TaskLease:
    lease = TaskLease(clock)
    lease.renewed(10_000)
    clock.now_s = 60.0
    assert not lease.is_valid
    return lease


def test_without_a_word_about_it_a_lease_lasts() -> None:
    clock = _Clock()
    lease = TaskLease(clock)
    lease.renewed(0)
    clock.now_s = 1e6
    assert lease.is_valid


def test_a_lease_ends_unless_it_is_renewed() -> None:
    clock = _Clock()
    lease = TaskLease(clock)
    lease.renewed(10_000)
    clock.now_s = 9.9
    lease.renewed(10_000)
    clock.now_s = 19.8
    assert lease.is_valid
    clock.now_s = 19.9
    assert not lease.is_valid


def test_what_is_read_in_a_burst_after_a_long_sleep_does_not_revive_it() -> None:
    clock = _Clock()
    lease = _suspended(clock)
    for _ in range(30):
        lease.renewed(10_000)
        clock.now_s += 0.05
    assert not lease.is_valid


def test_renewals_that_are_read_as_they_are_written_revive_it() -> None:
    clock = _Clock()
    lease = _suspended(clock)
    resumed = []
    lease.on_resumed = lambda: resumed.append(clock.now_s)
    for at_s in (60.0, 60.1, 62.0, 64.0):
        clock.now_s = at_s
        lease.renewed(10_000)
    assert resumed == [62.0]
    clock.now_s = 73.9
    assert lease.is_valid


def test_a_lease_that_was_let_end_is_renewed_but_not_revived() -> None:
    """Whoever was silent for so long counts as gone once the flow is stopped."""
    clock = _Clock()
    lease = TaskLease(clock)
    lease.renewed(10_000)
    lease.let_end()
    clock.now_s = 9.0
    lease.renewed(10_000)
    clock.now_s = 18.0
    assert lease.is_valid
    for at_s in (20.0, 22.0, 24.0):
        clock.now_s = at_s
        lease.renewed(10_000)
    assert not lease.is_valid


def test_a_renewal_of_before_the_pause_is_none_that_another_one_follows() -> None:
    clock = _Clock()
    lease = TaskLease(clock)
    lease.renewed(10_000)
    clock.now_s = 9.0
    lease.renewed(10_000)
    clock.now_s = 20.0
    lease.renewed(10_000)
    assert not lease.is_valid


def test_who_wants_to_write_waits_until_the_lease_goes_on() -> None:
    async def written_at() -> list[float]:
        loop = asyncio.get_running_loop()
        lease = TaskLease(loop.time)
        written: list[float] = []

        async def write() -> None:
            await lease.until_valid()
            written.append(loop.time())

        async with asyncio.TaskGroup() as group:
            watching = group.create_task(lease.run())
            lease.renewed(10_000)
            await write()
            await asyncio.sleep(15)
            writers = [group.create_task(write()) for _ in range(2)]
            for _ in range(2):
                await asyncio.sleep(2)
                lease.renewed(10_000)
            await asyncio.wait(writers)
            assert not watching.done(), "nothing ends by the clock"
            watching.cancel()
        return written

    assert run(written_at()) == pytest.approx([0.0, 19.0, 19.0])
