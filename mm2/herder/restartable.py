"""Work that begins anew, with what has changed, whenever it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine


class Restartable:
    """
    Runs something that goes on for ever, or until there is nothing to do.

    Args:
        name: of the task, for the log.
        work: what runs; it is cancelled when it is to begin anew.
    """

    def __init__(self, name: str, work: Callable[[], Coroutine[object, object, object]]) -> None:
        self._name = name
        self._work = work
        self._is_due = asyncio.Event()

    def restart(self) -> None:
        """Has the work begin anew; if it does not run yet, it begins once."""
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
