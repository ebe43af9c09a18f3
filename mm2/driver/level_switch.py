"""SIGUSR1: a process without a REST interface logs everything, and then what it logged before."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle

import structlog

from mm2.driver.signals import handling
from mm2.telemetry.levels import Logged, log_these

log = structlog.get_logger()


@contextmanager
def switching_levels(tell: Callable[[Logged], None]) -> Iterator[None]:
    """
    Obeys SIGUSR1 meanwhile, for this process.

    Args:
        tell: is told what tasks are to log from now on.
    """
    logged = cycle(Logged)

    def switch() -> None:
        following = next(logged)
        # It is told while all events are logged, and so with any levels.
        log_these(Logged.ALL)
        log.info("streams.levels_changed", logged=following.value)
        log_these(following)
        tell(following)

    with handling(asyncio.get_running_loop(), signal.SIGUSR1, switch):
        yield
