"""A task writes no longer than its leader's lease lasts, by its own clock."""

from __future__ import annotations

import asyncio

import pytest

from flows.source.lease import TaskLease
from mm2.errors import Fenced
from tests.support.virtual_time import run


class _Clock:
    """A clock that tests move."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_without_a_word_about_it_a_lease_lasts() -> None:
    clock = _Clock()
    lease = TaskLease("A->B", clock)
    lease.renewed(0)
    clock.now_s = 1e6
    lease.check()


def test_a_lease_ends_unless_it_is_renewed() -> None:
    clock = _Clock()
    lease = TaskLease("A->B", clock)
    lease.renewed(10_000)
    clock.now_s = 9.9
    lease.renewed(10_000)
    clock.now_s = 19.8
    lease.check()
    clock.now_s = 19.9
    assert not lease.is_valid
    with pytest.raises(Fenced, match="not renewed in time"):
        lease.check()


def test_what_is_heard_after_a_long_sleep_does_not_revive_it() -> None:
    clock = _Clock()
    lease = TaskLease("A->B", clock)
    lease.renewed(10_000)
    clock.now_s = 15.0
    lease.renewed(10_000)
    assert not lease.is_valid


def test_a_task_ends_when_the_lease_does() -> None:
    async def ends_at() -> float:
        loop = asyncio.get_running_loop()
        lease = TaskLease("A->B", loop.time)

        async def leader() -> None:
            for _ in range(3):
                await asyncio.sleep(2)
                lease.renewed(10_000)

        renewing = asyncio.ensure_future(leader())
        with pytest.raises(Fenced):
            await lease.run()
        await renewing
        return loop.time()

    assert run(ends_at()) == pytest.approx(16.0)
