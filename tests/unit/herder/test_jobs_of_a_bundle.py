"""A bundle's jobs: one after the other, resting and ending when told to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from mm2.herder.bundles.bundle_supervisor import BundleSupervisor
from tests.support.virtual_time import run


@dataclass
class _Jobs:
    """Jobs that end when they are told to; some never do."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    log: list[str] = field(default_factory=list)
    failures: int = 0

    async def job(self) -> None:
        self.log.append("begins")
        try:
            if self.failures:
                self.failures -= 1
                raise RuntimeError("lost its worker")
            await self.stop.wait()
            self.stop.clear()
        except asyncio.CancelledError:
            self.log.append("is cut off")
            raise
        self.log.append("ends")


class _AlwaysSet(asyncio.Event):
    """Tells whoever asks to stop."""

    async def wait(self) -> Literal[True]:
        return True


def test_a_job_that_ends_is_submitted_again_until_the_last() -> None:
    async def work() -> list[str]:
        jobs = _Jobs()
        keeper = BundleSupervisor("b", jobs.job)
        async with asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            for _ in range(2):
                await asyncio.sleep(1)
                jobs.stop.set()
            await asyncio.sleep(1)
            keeper.end()
            jobs.stop.set()
        return jobs.log

    assert run(work()) == ["begins", "ends"] * 3


def test_a_job_that_ends_at_once_is_not_submitted_without_a_pause() -> None:
    """Its task reads that it is to stop, which nobody can take back while the target is away."""

    async def work() -> int:
        jobs = _Jobs()
        jobs.stop = _AlwaysSet()
        keeper = BundleSupervisor("b", jobs.job)
        async with asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            await asyncio.sleep(10)
            keeper.end()
        return jobs.log.count("begins")

    assert 15 < run(work()) < 25


def test_a_job_that_fails_is_submitted_again() -> None:
    async def work() -> list[str]:
        jobs = _Jobs(failures=2)
        keeper = BundleSupervisor("b", jobs.job)
        async with asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            await asyncio.sleep(60)
            keeper.end()
            jobs.stop.set()
        return jobs.log

    assert run(work()) == ["begins"] * 3 + ["ends"]


def test_while_it_rests_no_job_begins() -> None:
    async def work() -> list[str]:
        jobs = _Jobs()
        keeper = BundleSupervisor("b", jobs.job)
        async with asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            await asyncio.sleep(1)
            jobs.stop.set()
            await keeper.suspend(within_s=5)
            await asyncio.sleep(100)
            jobs.log.append("rested")
            keeper.resume()
            await asyncio.sleep(1)
            keeper.end()
            jobs.stop.set()
        return jobs.log

    assert run(work()) == ["begins", "ends", "rested", "begins", "ends"]


def test_a_job_that_does_not_end_in_time_is_cut_off_and_the_next_one_runs() -> None:
    async def work() -> tuple[list[str], float]:
        jobs = _Jobs()
        keeper = BundleSupervisor("b", jobs.job)
        async with asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            await asyncio.sleep(1)
            began = asyncio.get_running_loop().time()
            await keeper.suspend(within_s=5)
            took_s = asyncio.get_running_loop().time() - began
            keeper.resume()
            await asyncio.sleep(1)
            keeper.end()
            jobs.stop.set()
        return jobs.log, took_s

    assert run(work()) == (["begins", "is cut off", "begins", "ends"], 5.0)


def test_one_that_rests_can_end() -> None:
    async def work() -> list[str]:
        jobs = _Jobs()
        keeper = BundleSupervisor("b", jobs.job)
        async with asyncio.TaskGroup() as group:
            group.create_task(keeper.run())
            await asyncio.sleep(1)
            jobs.stop.set()
            await keeper.suspend(within_s=5)
            keeper.end()
        return jobs.log

    assert run(work()) == ["begins", "ends"]
