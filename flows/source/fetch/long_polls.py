"""
Fetches that wait for longer than others, because nothing is expected, and how they end early.

A broker answers as soon as there is a record, so that the wait only says how often it answers that
there is none. It answers one request of a connection after the other: what is to be fetched besides
would have to wait, too. So the connection is closed then, and the next fetch begins a new session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from mm2.config.record_clients import DataSettings
from mm2.errors import Unavailable
from mm2.kafka.wire.requests.fetch import FetchAnswer

_IDLE_WAIT_MS: Final = 5_000
"""Less than the silence after which a broker is taken to be gone."""

_TIMES_LONGER: Final = 2
"""So much longer a request may take at least."""


def idle_wait_ms(settings: DataSettings, request_timeout_ms: int) -> int:
    """
    How long a broker may wait where nothing is under way.

    One that waits for more than a byte waits for ``fetch.max.wait.ms``, as the user says.
    """
    if settings.fetch_min_bytes > 1:
        return settings.fetch_wait_ms
    return max(settings.fetch_wait_ms, min(_IDLE_WAIT_MS, request_timeout_ms // _TIMES_LONGER))


class LongPolls:
    """
    The long fetches that are under way, one for each broker at most.

    Args:
        least_s: a fetch is not ended before it has taken so long.
        hang_up: closes the connection that a broker's fetches take.
    """

    def __init__(self, least_s: float, hang_up: Callable[[int], None]) -> None:
        self._least_s = least_s
        self._hang_up = hang_up
        self._began: dict[int, float] = {}
        self._ending: dict[int, asyncio.TimerHandle] = {}

    async def answer(self, node: int, fetch: Awaitable[FetchAnswer]) -> FetchAnswer | None:
        """
        Waits for what a broker answers; None if the fetch was ended.

        Raises:
            Unavailable: no answer, for another reason.
        """
        self._began[node] = asyncio.get_running_loop().time()
        try:
            return await fetch
        except Unavailable:
            if node not in self._ending:
                raise
            return None
        finally:
            del self._began[node]
            if (ending := self._ending.pop(node, None)) is not None:
                ending.cancel()

    def end(self) -> None:
        """Ends all that are under way, soon."""
        for node in self._began.keys() - self._ending.keys():
            at = self._began[node] + self._least_s
            self._ending[node] = asyncio.get_running_loop().call_at(at, self._hang_up, node)
