"""Awaits what might pass over that it is cancelled, so that who waits for it ends all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final, TypeVar

T = TypeVar("T")

_AGAIN_S: Final = 5.0
"""More than any client takes to close, so that only what has passed over it is cancelled again."""


async def cancellable(work: Awaitable[T]) -> T:
    """
    Awaits something, and ends when it is cancelled, whatever that makes of it.

    A client of aiokafka's that closes ends its own tasks, and takes a cancellation of who waits for
    that for one of theirs; a task group whose task fails while it is cancelled raises that error.
    The part of a flow that was to end would go on, and its flow would never stop.

    Args:
        work: what is done in a task of its own; it is cancelled with who waits, and again for as
            long as it goes on.
    """
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.wait({doing})
    except asyncio.CancelledError:
        await _end(doing)
        raise
    return doing.result()


async def _end(doing: asyncio.Future[T]) -> None:
    while not doing.done():
        doing.cancel()
        try:
            await asyncio.wait({doing}, timeout=_AGAIN_S)
        except asyncio.CancelledError:
            doing.cancel()
            raise
    if not doing.cancelled():
        doing.exception()  # else it would be logged as one that nobody has seen
