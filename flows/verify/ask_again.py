"""Asks a cluster again while it has no answer, such as while a partition has no leader."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mm2.errors import Unavailable
from mm2.kafka.wire.wire_client import WireClient

_BACKOFF_S: Final = 0.2
_GIVES_UP_AFTER_S: Final = 60.0

T = TypeVar("T")


async def ask_again(client: WireClient, ask: Callable[[], Awaitable[T]]) -> T:
    """
    Asks until there is an answer, each time after the leaders have been asked for anew.

    Raises:
        Unavailable: the reason of the last attempt, when a minute is over.
        ClusterError: any other failure, at once.
    """
    clock = asyncio.get_running_loop().time
    deadline, is_refreshed = clock() + _GIVES_UP_AFTER_S, True
    while True:
        try:
            if not is_refreshed:
                await client.refresh()
            return await ask()
        except Unavailable:
            if clock() > deadline:
                raise
        is_refreshed = False
        await asyncio.sleep(_BACKOFF_S)
