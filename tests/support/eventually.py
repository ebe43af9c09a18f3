"""
Waiting for what takes its time, with a deadline and the last state in the failure.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

INTERVAL_S = 0.05


def eventually(
    look: Callable[[], T],
    *,
    until: Callable[[T], bool] = bool,
    timeout: float = 20.0,
) -> T:
    """
    Looks again and again until what is seen satisfies ``until``, and gives it back.

    An ``AssertionError`` of ``look`` counts as "not yet". Fails with what was seen last.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            seen: T | AssertionError = look()
        except AssertionError as not_yet:
            seen = not_yet
        if not isinstance(seen, AssertionError) and until(seen):
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s; last seen: {seen!r}")
        time.sleep(INTERVAL_S)


async def eventually_async(
    look: Callable[[], Awaitable[T]],
    *,
    until: Callable[[T], bool] = bool,
    timeout: float = 20.0,  # noqa: ASYNC109  # the last state belongs in the message
) -> T:
    """As ``eventually``, for a coroutine function."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            seen: T | AssertionError = await look()
        except AssertionError as not_yet:
            seen = not_yet
        if not isinstance(seen, AssertionError) and until(seen):
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s; last seen: {seen!r}")
        await asyncio.sleep(INTERVAL_S)
