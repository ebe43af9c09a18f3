"""Awaits what might pass over that it is cancelled, so that who waits for it ends all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def cancellable(work: Awaitable[T]) -> T:
    """
    Awaits something, and ends when it is cancelled, whatever that makes of it.

    A client of aiokafka's that closes ends its own tasks, and takes a cancellation of who waits for
    that for one of theirs; a task group whose task fails while it is cancelled raises that error.
    The part of a flow that was to end would go on, and its flow would never stop.

    Args:
        work: what is done in a task of its own; it is cancelled with who waits.
    """
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.wait({doing})
    except asyncio.CancelledError:
        doing.cancel()
        await asyncio.gather(doing, return_exceptions=True)
        raise
    return doing.result()
