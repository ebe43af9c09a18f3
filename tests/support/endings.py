"""Programs that start others leave none of them behind, also when a signal ends them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psutil

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def leaving_nobody() -> Iterator[None]:
    """
    Has the first signal that asks this process to end leave the block in order; others are late.

    What was started within is told to end by whoever has started it. At the end, what still runs
    is killed: a signal may have come before anyone knew it.

    Raises:
        SystemExit: a signal came.
    """
    others = set(psutil.Process().children(recursive=True))
    before = {number: signal.signal(number, _leave) for number in _ENDING}
    try:
        yield
    finally:
        _ignore()
        for process in set(psutil.Process().children(recursive=True)) - others:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _frame: object) -> None:
    _ignore()
    raise SystemExit(128 + number)


def _ignore() -> None:
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
