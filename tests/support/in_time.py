"""Waits for a library in C, whose calls no signal interrupts, no longer than a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from tests.support.eventually import PATIENCE_S

T = TypeVar("T")


def in_time(call: Callable[[], T], within_s: float = 2 * PATIENCE_S) -> T:
    """
    What ``call`` returns or raises, in a thread of its own.

    Fails if it does not return within so many seconds; the thread is left to itself then.
    """
    found: Future[T] = Future()

    def work() -> None:
        try:
            found.set_result(call())
        except BaseException as error:  # noqa: BLE001 - who waits is told
            found.set_exception(error)

    threading.Thread(target=work, name="in-time", daemon=True).start()
    try:
        return found.result(within_s)
    except TimeoutError as late:
        if found.done():
            raise
        raise AssertionError(f"a call has not returned within {within_s:g} s") from late
