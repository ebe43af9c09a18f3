"""Awaits what aiokafka does to a client so that being cancelled meanwhile is not passed over."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


async def cancellable(work: Coroutine[object, object, object]) -> None:
    """
    Awaits the ``start()`` or ``stop()`` of a client, and ends when it is cancelled.

    A client that closes ends its own tasks, and takes a cancellation of who waits for that for one
    of theirs: the part of a flow that was to end would go on, and its flow would never stop.

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
    doing.result()
