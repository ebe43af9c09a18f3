"""
The lease under which a task copies, as the task itself can tell.

The leader of a flow renews its lease in the control topic; tasks read it there. A task that has not
heard of it for too long is cut off, or its leader is gone, or the task itself has been asleep: it
must not write any more, for another one may do its work by now. The clock is asked before each
write, because a process that wakes up may come to write before it comes to read.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from mm2.errors import Fenced


class TaskLease:
    """
    Says whether a task may still write.

    Args:
        flow: for messages.
        clock: tells seconds, also of those that the process slept.
    """

    def __init__(self, flow: str, clock: Callable[[], float]) -> None:
        self._flow = flow
        self._clock = clock
        self._ends_at = math.inf
        self._changed = asyncio.Event()

    @property
    def is_valid(self) -> bool:
        """Whether the task may write; for ever, as long as nobody has said how long."""
        return self._clock() < self._ends_at

    def check(self) -> None:
        """
        Nothing, while the lease lasts.

        Raises:
            Fenced: it has ended.
        """
        if not self.is_valid:
            raise Fenced(self._flow, "the lease of its leader has ended: not renewed in time")

    def renewed(self, lasts_ms: int) -> None:
        """The leader said just now that it leads, and for how long that counts; 0 says nothing."""
        if lasts_ms and self.is_valid:
            self._ends_at = self._clock() + lasts_ms / 1000
            self._changed.set()

    async def run(self) -> None:
        """
        Waits until the lease ends.

        Raises:
            Fenced: it has ended.
        """
        while True:
            self.check()
            left_s = self._ends_at - self._clock()
            try:
                async with asyncio.timeout(None if math.isinf(left_s) else left_s):
                    await self._changed.wait()
            except TimeoutError:
                continue
            self._changed.clear()
