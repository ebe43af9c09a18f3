"""The signals that ask a process to stop, from its first moment to its last, and others."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # It takes a while, and a start has no time for it yet.
    from asyncio import AbstractEventLoop

_STOPPING: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def handling(
    loop: AbstractEventLoop, number: signal.Signals, handle: Callable[[], None]
) -> Iterator[None]:
    """Has a loop call ``handle`` for a signal meanwhile; later the process ignores the signal."""
    loop.add_signal_handler(number, handle)
    try:
        yield
    finally:
        loop.remove_signal_handler(number)
        signal.signal(number, signal.SIG_IGN)


class StopSignals:
    """
    SIGTERM and SIGINT, which are remembered until somebody asks, and then until a loop obeys them.

    A handler that raises while a process is being started leaves that one without anyone who knows
    it; and while an event loop begins, what is raised may be lost in it.
    """

    def __init__(self) -> None:
        self._came = False
        self._is_obeyed = False
        self._wake: Callable[[], object] = lambda: None
        for number in _STOPPING:
            signal.signal(number, self._come)

    def end_if_any_came(self) -> None:
        """
        Ends a start that is to go no further.

        Raises:
            SystemExit: one came.
        """
        if self._came:
            raise SystemExit(0)

    def obey(self, loop: AbstractEventLoop, stop: Callable[[], None]) -> None:
        """
        Has the first one, also if it came before, call ``stop``; a second one ends the process.

        Args:
            stop: may be called twice, for a loop may tell of what came as it began.
        """
        self._wake = lambda: loop.call_soon_threadsafe(stop)
        for number in _STOPPING:
            loop.add_signal_handler(number, self._obey, number, stop)
        if self._came:
            stop()

    def forwarded(self) -> None:
        """
        Takes notice, from any thread, of one that was sent to another process in place of this one.

        It ends nothing at once: a terminal, for one, sends the same signal to both processes.
        """
        self._came = True
        with suppress(RuntimeError):  # The loop is closed.
            self._wake()

    def _come(self, _number: int, _frame: object) -> None:
        self._came = True

    def _obey(self, number: int, stop: Callable[[], None]) -> None:
        if self._is_obeyed:
            os._exit(128 + number)
        self._is_obeyed = True
        stop()
