"""Keeps the parts of a flow running: what fails is started again, and the rest never notices."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final, Protocol

import structlog

from mm2.aligned_waits import aligned
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


class EventLike(Protocol):
    """What can be awaited until it is set: an ``asyncio.Event``, or any of several."""

    def is_set(self) -> bool:
        """Whether it is set now."""

    async def wait(self) -> object:
        """Waits until it is set."""


class AnyOf:
    """Set while at least one of several events is."""

    def __init__(self, *events: EventLike) -> None:
        self._events = events

    def is_set(self) -> bool:
        """Whether one is set."""
        return any(event.is_set() for event in self._events)

    async def wait(self) -> None:
        """Waits until one is set."""
        if self.is_set():
            return
        waiting = [asyncio.ensure_future(event.wait()) for event in self._events]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()


async def keep_running(
    part: str, run: Callable[[], Awaitable[object]], *, stopping: EventLike | None = None
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


async def run_unless_set(stopping: EventLike, job: Coroutine[None, None, None]) -> bool:
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


async def is_set_within(event: EventLike | None, seconds: float) -> bool:
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
    due = now() if at_once else now() + aligned(interval_s, at_least=True)
    while True:
        await asyncio.sleep(max(0.0, due - now()))
        try:
            await cancellable(job())
        except Exception as error:  # noqa: BLE001 - a periodic job outlives its failures (C334)
            log.warning("job.failed", job=name, error=_reason(error))
        due = max(due + interval_s, now())


class Supervised:
    """
    A part of a flow that runs until it is to stop: one level of supervision.

    One that fails is run again after a delay (``keep_running``). One that has ended is run again
    when ``restart`` asks for it.

    Args:
        name: for the log.
        work: one run of the part; unless ``is_cut``, it has to end soon after ``ending`` is set.
        stopping: set when the part is to stop; what contains it gives its own ``ending``.
        is_cut: whether a run is cancelled when it is to end.

    Attributes:
        stopping: set when the part is to stop.
        ending: set when the run under way is to end, to stop or to run again.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], Awaitable[object]],
        *,
        stopping: EventLike | None = None,
        is_cut: bool = False,
    ) -> None:
        self._name = name
        self._work = work
        self._is_cut = is_cut
        self._is_due, self._is_stopped = asyncio.Event(), asyncio.Event()
        outer = () if stopping is None else (stopping,)
        self.stopping: EventLike = AnyOf(self._is_stopped, *outer)
        self.ending: EventLike = AnyOf(self._is_due, self.stopping)

    def restart(self) -> None:
        """Has the part run again; if it does not run yet, it begins once."""
        self._is_due.set()

    def stop(self) -> None:
        """Has the part end for good."""
        self._is_stopped.set()

    async def run(self) -> None:
        """
        Runs the part until it is to stop.

        Raises:
            FatalError: from a run, alone or in a group.
        """
        while not self.stopping.is_set():
            self._is_due.clear()
            run = keep_running(self._name, self._work, stopping=self.ending)
            if self._is_cut:
                await run_unless_set(self.ending, run)
            else:
                await run
            await self.ending.wait()
