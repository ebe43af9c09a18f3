"""
Waiting for what takes its time, with a deadline and the last state in the failure.

Deadlines are for tests that fail: how long a green one takes does not depend on them. So they are
long enough for a machine that does much else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from confluent_kafka import KafkaException

from mm2.errors import ClusterError

T = TypeVar("T")

INTERVAL_S: Final = 0.05
PATIENCE_S: Final = 90.0
"""
How long anything may take that is to happen: Spark's start where others have the cores, too, and
the lease of a leader that was killed. A test has 300 s.
"""

_NOT_YET: Final = (AssertionError, LookupError, ValueError, ClusterError, KafkaException)
"""What looking at something raises that is not there, has no leader, or is not complete."""


class _Watch:
    """One wait."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._deadline = time.monotonic() + timeout

    def go_on(self, seen: object) -> None:
        """Fails when the time is over."""
        if time.monotonic() > self._deadline:
            cause = seen if isinstance(seen, Exception) else None
            raise AssertionError(f"not within {self._timeout} s; last seen: {seen!r}") from cause


def eventually(
    look: Callable[[], T],
    *,
    until: Callable[[T], bool] = bool,
    timeout: float = PATIENCE_S,
) -> T:
    """
    Looks again and again until what is seen satisfies ``until``, and gives it back.

    A failed assertion of ``look``, what it misses in a collection, and what a cluster or a client
    of it complains of count as "not yet". Fails with what was seen last.
    """
    watch = _Watch(timeout)
    while True:
        last: object
        try:
            seen = look()
            if until(seen):
                return seen
            last = seen
        except _NOT_YET as not_yet:
            last = not_yet
        watch.go_on(last)
        time.sleep(INTERVAL_S)


async def eventually_async(
    look: Callable[[], Awaitable[T]],
    *,
    until: Callable[[T], bool] = bool,
    timeout: float = PATIENCE_S,  # noqa: ASYNC109  # the last state belongs in the message
) -> T:
    """As ``eventually``, for a coroutine function."""
    watch = _Watch(timeout)
    while True:
        last: object
        try:
            seen = await look()
            if until(seen):
                return seen
            last = seen
        except _NOT_YET as not_yet:
            last = not_yet
        watch.go_on(last)
        await asyncio.sleep(INTERVAL_S)
