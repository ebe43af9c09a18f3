"""
An event loop whose clock jumps: what would wait an hour is over at once, in the same order.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    """Lets time pass instead of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("a deadlock: nothing is left that could happen")
        self.now += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time; for tests without IO."""

    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._virtual.now

    def run_in_executor(
        self, executor: object, func: Callable[..., T], *args: object
    ) -> asyncio.Future[T]:
        """Calls at once: work of threads takes no virtual time."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - as an executor, passes on what was raised
            future.set_exception(error)
        return future


def run(coroutine: Coroutine[object, object, T]) -> T:
    """Runs a coroutine in virtual time; fails on a deadlock."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)
