"""
An event loop whose clock jumps: what would wait an hour is over at once, in the same order.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Final, TypeVar

T = TypeVar("T")


_MOST_S: Final = 1e7
"""Months: no test is about more."""
_MOST_TURNS: Final = 100_000
"""Of the loop, while no time passes."""


class _Selector(selectors.SelectSelector):
    """
    Lets time pass instead of waiting.

    What waits in turns for something that never happens would go on for ever: the suite's timeout
    would only end the task that runs just then.
    """

    now = 0.0
    _turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise AssertionError("a deadlock: nothing is left that could happen")
        self._turns = 0 if timeout > 0 else self._turns + 1
        self.now += max(timeout, 0.0)
        if self.now > _MOST_S or self._turns > _MOST_TURNS:
            raise AssertionError(f"a livelock: no end after {self.now:.0f} s")
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
