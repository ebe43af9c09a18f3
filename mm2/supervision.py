"""Keeps the parts of a flow running: what fails is started again, and the rest never notices."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

import structlog

from mm2.errors import fatal_error, root_cause
from mm2.kafka.cancelling import cancellable

log = structlog.get_logger()

FIRST_DELAY_S: Final = 0.5
MOST_DELAY_S: Final = 30.0
_MOST_DOUBLINGS: Final = 30
"""Enough for any delay; a part that fails for days must not overflow a float."""

_STEADY_S: Final = 60.0
"""A part that ran this long before it failed starts again as if it had never failed."""


class Backoff:
    """Delays between attempts: doubling, with jitter, and back to the start after a steady run."""

    def __init__(self, *, first_s: float = FIRST_DELAY_S, most_s: float = MOST_DELAY_S) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._failures = 0

    def next_delay(self, ran_for_s: float) -> float:
        """The delay in seconds after a run of ``ran_for_s`` seconds that failed."""
        self._failures = 0 if ran_for_s >= _STEADY_S else self._failures
        delay = min(self._first_s * 2.0**self._failures, self._most_s)
        self._failures = min(self._failures + 1, _MOST_DOUBLINGS)
        return delay * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load, guards nothing


async def keep_running(
    part: str, run: Callable[[], Awaitable[object]], *, stopping: asyncio.Event | None = None
) -> None:
    """
    Awaits ``run()``; when it raises, logs why and runs it again after a delay; ends when it ends.

    A set ``stopping`` ends the waiting, and nothing is run again. The same reason again is logged
    only after a steady run.

    Raises:
        FatalError: from ``run``, alone or in a group, because running again would not help.
        CancelledError: who waits is cancelled, also if ``run`` fails while it ends.
    """
    backoff, logged = Backoff(), ""
    while True:
        started = time.monotonic()
        try:
            await cancellable(run())
        except Exception as error:
            if fatal_error(error):
                raise
            ran_for_s = time.monotonic() - started
            delay, reason = backoff.next_delay(ran_for_s), _reason(error)
            if reason != logged or ran_for_s >= _STEADY_S:
                log.error("part.failed", part=part, error=reason, retry_in_s=round(delay, 1))
            logged = reason
            if await is_set_within(stopping, delay):
                return
        else:
            return


async def run_unless_set(stopping: asyncio.Event, job: Coroutine[None, None, None]) -> bool:
    """
    Awaits ``job``, or cancels it when ``stopping`` is set; says whether it was done.

    Raises:
        Exception: whatever ``job`` raises, in a group.
    """
    async with asyncio.TaskGroup() as group:
        doing = group.create_task(job, name="job")
        waiting = group.create_task(stopping.wait(), name="stopping")
        await asyncio.wait({doing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        doing.cancel()
        waiting.cancel()
    return not doing.cancelled()


async def wait_any(*events: asyncio.Event) -> None:
    """Waits until at least one of the events is set."""
    if any(event.is_set() for event in events):
        return
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()


async def is_set_within(event: asyncio.Event | None, seconds: float) -> bool:
    """Waits for an event, no longer than ``seconds``; says whether it is set."""
    if event is None:
        await asyncio.sleep(seconds)
        return False
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _reason(error: BaseException) -> str:
    cause = root_cause(error)
    return f"{type(cause).__name__}: {cause}"


async def run_periodically(
    interval_s: float, job: Callable[[], Awaitable[object]], *, name: str, at_once: bool
) -> None:
    """
    Runs a job periodically, at a fixed rate; one that fails is logged and runs again next time.

    Unlike those of Java's ``Scheduler`` (C331-C335), jobs do not hold up each other, and a run that
    takes several intervals is not made up for by runs without a pause. Cancelling ends a run.

    Args:
        interval_s: in seconds.
        job: what to do; never overlaps with itself.
        name: for the log.
        at_once: whether the first run is now or after one interval.
    """
    now = asyncio.get_running_loop().time
    due = now() if at_once else now() + interval_s
    while True:
        await asyncio.sleep(max(0.0, due - now()))
        try:
            await cancellable(job())
        except Exception as error:  # noqa: BLE001 - a periodic job outlives its failures (C334)
            log.warning("job.failed", job=name, error=_reason(error))
        due = max(due + interval_s, now())


class Restartable:
    """
    Runs something that goes on for ever, or until there is nothing to do.

    Args:
        name: of the task, for the log.
        work: what runs; it is cancelled when it is to begin again.
    """

    def __init__(self, name: str, work: Callable[[], Coroutine[object, object, object]]) -> None:
        self._name = name
        self._work = work
        self._is_due = asyncio.Event()

    def restart(self) -> None:
        """Has the work begin again; if it does not run yet, it begins once."""
        self._is_due.set()

    async def run(self) -> None:
        """
        Runs until cancelled.

        Raises:
            BaseExceptionGroup: of the work.
        """
        while True:
            self._is_due.clear()
            async with asyncio.TaskGroup() as group:
                task = group.create_task(self._work(), name=self._name)
                await self._is_due.wait()
                task.cancel()
