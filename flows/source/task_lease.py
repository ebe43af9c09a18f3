"""
The lease under which a task copies, as the task itself sees it.

The leader of a flow renews its lease in the control topic; tasks read it there. A task that has not
heard of it for too long is cut off, or its leader is gone, or the task itself has been asleep.
Another one may do its work by now, so it writes nothing; but as long as it has not read that, it
does not end either: after an outage of the target it goes on where it was, and repeats nothing. The
clock is asked before each write, because a process that wakes up may come to write before it comes
to read.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress

import structlog

from mm2.core.leadership.lease_timing import LeaseLife

log = structlog.get_logger()


class TaskLease:
    """
    Whether a task may write.

    Args:
        clock: seconds, including those that the machine slept.

    Attributes:
        on_resumed: called when the task may write again.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._life = LeaseLife()
        self._changed = asyncio.Event()
        self._is_last = False
        self.on_resumed: Callable[[], None] = lambda: None

    @property
    def is_valid(self) -> bool:
        """Whether the task may write; always, until a leader has given a duration."""
        return self._life.is_valid(self._now_ms())

    async def until_valid(self) -> None:
        """Waits until the task may write; not at all if it may."""
        while not self.is_valid:
            self._changed.clear()
            await self._changed.wait()

    def renewed(self, lasts_ms: int) -> None:
        """
        The leader has renewed its lease for ``lasts_ms``; 0 leaves the duration open.

        A lease that has ended needs two renewals some time apart: the first may be old.
        """
        if self._is_last and not self.is_valid:
            return
        is_back = self._life.renewed(lasts_ms, self._now_ms())
        self._changed.set()
        if is_back:
            self.on_resumed()

    def let_end(self) -> None:
        """From now on the lease does not count again once it has ended."""
        self._is_last = True

    async def run(self) -> None:
        """Says when the task has to pause, and when it goes on; until cancelled."""
        while True:
            await self.until_ended()
            log.warning("source.suspended")
            await self.until_valid()
            log.info("source.resumed")

    async def until_ended(self) -> None:
        """Waits as long as the task may write."""
        while self.is_valid:
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._left_s()):
                    await self._changed.wait()

    def _left_s(self) -> float | None:
        left_ms = self._life.ends_at_ms - self._now_ms()
        # What rounding has lost must not keep the clock from moving on.
        return None if math.isinf(left_ms) else max(left_ms, 1) / 1_000

    def _now_ms(self) -> float:
        return self._clock() * 1_000
