"""
Calls of code that is not ours: it neither ends nor blocks what calls it.

A class that a configuration names may raise whatever it likes, ``SystemExit`` among it, and may
never answer. Each has a thread of its own, which nobody waits for longer than a limit. A call that
does not end cannot be ended: its thread stays, and until it is done nothing more is asked there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import Final, TypeVar

from mm2.errors import ConfigError

LOADED_WITHIN_S: Final = 20.0
"""A class is imported and created in this time; modules may be large."""

ANSWERS_WITHIN_S: Final = 5.0
"""It answers a question in this time."""

_T = TypeVar("_T")


class ForeignError(Exception):
    """What foreign code has raised, whatever it was, or that it does not answer."""


class Foreign:
    """
    Where the code of one class runs.

    Args:
        name: names the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._late: Future[object] | None = None
        self._starting = threading.Lock()

    def call(self, function: Callable[[], _T], *, within_s: float = ANSWERS_WITHIN_S) -> _T:
        """
        What ``function`` returns, called in the thread; at once, if that is where we are.

        Raises:
            ForeignError: it has raised something, or does not return in time.
            ConfigError: it has raised that.
        """
        if threading.current_thread() is self._thread:
            return function()
        if self._late is not None and not self._late.done():
            raise ForeignError("an earlier call has not returned yet")
        found: Future[_T] = Future()
        self._put(lambda: _settle(found, function))
        try:
            return found.result(within_s)
        except TimeoutError:
            self._late = found  # type: ignore[assignment]  # only whether it is done counts
            raise ForeignError(f"has not returned within {within_s:.0f} s") from None

    def _put(self, job: Callable[[], None]) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get()()


@cache
def foreign(name: str) -> Foreign:
    """The one place where the code of a class runs."""
    return Foreign(name)


def _settle(found: Future[_T], function: Callable[[], _T]) -> None:
    try:
        result = function()
    except ConfigError as error:
        found.set_exception(error)
    except BaseException as error:  # noqa: BLE001 - nothing that it raises may pass
        found.set_exception(ForeignError(_told(error)))
    else:
        found.set_result(result)


def _told(error: BaseException) -> str:
    try:
        return repr(error)
    except BaseException:  # noqa: BLE001 - as above
        return type(error).__name__
