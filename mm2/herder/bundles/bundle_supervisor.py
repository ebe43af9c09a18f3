"""
Keeps one bundle running.

A bundle whose job ends without a stop is submitted again; one that is suspended, to start again
with other settings, is submitted when it is resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

import structlog

from mm2.supervision import Supervised, is_set_within

log = structlog.get_logger()

_PAUSE_S: Final = 0.5


class BundleSupervisor:
    """
    Submits the jobs of one bundle, one after the other.

    Attributes:
        began: when the job under way was submitted, by the loop's clock; None if there is none.
    """

    def __init__(self, name: str, job: Callable[[], Coroutine[object, object, None]]) -> None:
        self.name = name
        self._job = job
        self._may_run = asyncio.Event()
        self._may_run.set()
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self._part = Supervised(name, self._submit)
        self._current: asyncio.Task[None] | None = None
        self.began: float | None = None

    async def run(self) -> None:
        """Runs until ``end``, and then to the end of the job under way."""
        await self._part.run()

    def end(self) -> None:
        """Lets the job under way be the last."""
        self._part.stop()
        self._may_run.set()

    async def suspend(self, *, within_s: float) -> None:
        """
        Waits until the job under way has ended, and lets no other begin until ``resume``.

        Args:
            within_s: after so many seconds the job is cut off; 0 if it has nothing to drain, or
                cannot.
        """
        self._may_run.clear()
        try:
            async with asyncio.timeout(within_s):
                await self._is_idle.wait()
        except TimeoutError:
            if within_s:
                log.error("bundle.not_drained", bundle=self.name, within_s=within_s)
            if self._current is not None:
                self._current.cancel()
            await self._is_idle.wait()

    def resume(self) -> None:
        """Takes a ``suspend`` back."""
        self._may_run.set()

    async def _submit(self) -> None:
        while True:
            await self._may_run.wait()
            if self._part.stopping.is_set():
                return
            self._is_idle.clear()
            self.began = asyncio.get_running_loop().time()
            try:
                async with asyncio.TaskGroup() as group:
                    self._current = group.create_task(self._job(), name=self.name)
            finally:
                self._current = self.began = None
                self._is_idle.set()
            if self._may_run.is_set():
                await is_set_within(self._part.stopping, _PAUSE_S)
