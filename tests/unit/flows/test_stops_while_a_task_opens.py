"""A task that is told to stop while it connects has nothing to drain, and does not go on."""

from __future__ import annotations

import asyncio

import pytest

from flows.source.control_follower import ControlFollower
from flows.source.fetch.rate_limit import RateLimit
from flows.source.task_lease import TaskLease
from mm2.errors import Unavailable, root_cause
from tests.support.specs import sample_spec
from tests.support.virtual_time import run


def _control() -> ControlFollower:
    return ControlFollower(sample_spec(), RateLimit(lambda: 0.0), TaskLease(lambda: 0.0))


async def _opened_after(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "opened"


@pytest.mark.parametrize("seconds", [0, 60])
def test_a_task_that_is_not_told_to_stop_opens_as_long_as_it_takes(seconds: float) -> None:
    assert run(_control().unless_stopped(_opened_after(seconds))) == "opened"


def test_a_cluster_that_does_not_answer_is_waited_for_no_longer_once_it_is_to_stop() -> None:
    async def work() -> tuple[str | None, float]:
        control, loop = _control(), asyncio.get_running_loop()
        loop.call_later(5, control.stop.set)
        return await control.unless_stopped(_opened_after(60)), loop.time()

    assert run(work()) == (None, 7)


def test_a_task_that_is_nearly_open_has_its_last_word() -> None:
    async def work() -> str | None:
        control = _control()
        control.stop.set()
        return await control.unless_stopped(_opened_after(1))

    assert run(work()) == "opened"


@pytest.mark.parametrize("is_stopped", [True, False])
def test_why_it_cannot_open_is_told(is_stopped: bool) -> None:
    async def refused() -> None:
        await asyncio.sleep(1)
        raise Unavailable("A", "no answer")

    async def work() -> None:
        control = _control()
        if is_stopped:
            control.stop.set()
        await control.unless_stopped(refused())

    with pytest.raises(ExceptionGroup) as raised:
        run(work())
    assert isinstance(root_cause(raised.value), Unavailable)
