"""
Ends tests that their timeout does not end: it interrupts once, and only what runs Python.

Event loops, those of uvloop at any time, and Hypothesis swallow what pytest-timeout raises: here it
passes them as a KeyboardInterrupt. What waits again while it cleans up is interrupted again. What
waits in C, or goes on all the same, ends with its process, after stacks of all threads were shown.

Pytest and pytest-timeout switch timers off as soon as a test has failed, for a debugger. What is
torn down then has a time of its own here.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

_AGAIN_S: Final = 20.0
_UNINTERRUPTED_S: Final = 120.0
"""How long a test may still run after its timeout."""


class _Interrupted(KeyboardInterrupt):
    """What a timeout raises; event loops end for it, and tests catch it no more than others."""


class HungTests:
    """
    A plug-in of a process that runs tests.

    Args:
        again_s: after which time an interrupt follows the one before.
        uninterrupted_s: when the process ends, after the timeout.
    """

    def __init__(
        self, *, again_s: float = _AGAIN_S, uninterrupted_s: float = _UNINTERRUPTED_S
    ) -> None:
        self._again_s = again_s
        self._uninterrupted_s = uninterrupted_s
        self._stderr = os.dup(2)  # Tests have another one.
        self._timed: tuple[pytest.Item | None, Any] = None, None

    @pytest.hookimpl(wrapper=True)
    def pytest_timeout_set_timer(
        self, item: pytest.Item, settings: Any
    ) -> Generator[None, object, object]:
        """Has the interrupt come again and again until the test has ended."""
        found = yield
        self._timed = item, settings
        if signal.getitimer(signal.ITIMER_REAL)[0]:
            signal.signal(signal.SIGALRM, _interrupts(signal.getsignal(signal.SIGALRM)))
            signal.setitimer(signal.ITIMER_REAL, settings.timeout, self._again_s)
        faulthandler.dump_traceback_later(
            settings.timeout + self._uninterrupted_s, exit=True, file=self._stderr
        )
        return found

    @pytest.hookimpl(wrapper=True)
    def pytest_timeout_cancel_timer(self) -> Generator[None, object, object]:
        """The test has ended, or has failed and is still to be torn down."""
        faulthandler.cancel_dump_traceback_later()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        """Fails if it does not end."""
        with _failing():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Gives the test as much time as its fixtures had."""
        with _failing():
            self._begin_anew(item)
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Gives what is torn down as much time, also after a failure."""
        with _failing():
            self._begin_anew(item)
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, object, object]:
        """Has nothing interrupt pytest itself."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        return (yield)

    def _begin_anew(self, item: pytest.Item) -> None:
        timed, settings = self._timed
        if timed is item and not settings.func_only:
            item.ihook.pytest_timeout_set_timer(item=item, settings=settings)


def _interrupts(fails: Any) -> Callable[[int, object], None]:
    """The handler of pytest-timeout, of which no event loop swallows what it raises."""

    def interrupt(number: int, frame: object) -> None:
        try:
            fails(number, frame)
        except pytest.fail.Exception as failure:
            raise _Interrupted(str(failure)) from None

    return interrupt


@contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except _Interrupted as interrupted:
        raise pytest.fail.Exception(str(interrupted)) from interrupted
