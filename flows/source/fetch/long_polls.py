"""
Fetches that wait for longer than ``fetch.max.wait.ms`` while nothing is expected.

A broker answers as soon as there is a record, so that the wait only says how often it answers that
there is none. It answers one request of a connection after the other: what is to be fetched besides
would have to wait, too. So the connection is closed then, and the next fetch begins a new session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Final

from flows.source.fetch.fetch_spec import FetchSpec
from mm2.errors import Unavailable
from mm2.kafka.wire.requests.fetch import FetchAnswer
from mm2.kafka.wire.wire_client import WireClient

_IDLE_WAIT_MS: Final = 5_000
"""Less than the silence after which a broker is taken to be gone."""

_AGAIN_S: Final = 0.2
"""A connection that is being made is looked for so often."""

_TIMES_LONGER: Final = 2
"""So much longer a request may take at least."""


class LongPolls:
    """
    The long fetches that are under way, one for each broker at most.

    Args:
        spec: a fetch is not ended before it has taken ``fetch.max.wait.ms``.
        client: of the source.
    """

    def __init__(self, spec: FetchSpec, client: WireClient) -> None:
        self._usual_ms = self._longest_ms = spec.data.fetch_wait_ms
        # A broker that waits for more bytes waits as the user says. Followers of older brokers do
        # not answer when a record has become readable meanwhile.
        if spec.data.fetch_min_bytes <= 1 and not spec.rack:
            most_ms = min(_IDLE_WAIT_MS, client.request_timeout_ms // _TIMES_LONGER)
            self._longest_ms = max(self._usual_ms, most_ms)
        self._end_fetch = client.end_fetch
        self._began: dict[int, float] = {}
        self._ending: dict[int, asyncio.TimerHandle] = {}
        self._ended: set[int] = set()

    def wait_ms(self, node: int, *, is_idle: bool) -> int:
        """
        How long a broker may wait.

        Not long if its last fetch was ended: what was answered meanwhile comes with the next one.

        Args:
            is_idle: whether nothing is under way.
        """
        return self._longest_ms if is_idle and node not in self._ended else self._usual_ms

    async def answer(
        self, node: int, fetch: Awaitable[FetchAnswer], wait_ms: int
    ) -> FetchAnswer | None:
        """
        Waits for what a broker answers; None if the fetch was ended.

        Args:
            wait_ms: for how long the broker may wait.

        Raises:
            Unavailable: no answer, for another reason.
        """
        self._ended.discard(node)
        if wait_ms <= self._usual_ms:
            return await fetch
        self._began[node] = asyncio.get_running_loop().time()
        try:
            return await fetch
        except Unavailable:
            if node not in self._ended:
                raise
            return None
        finally:
            del self._began[node]
            if (ending := self._ending.pop(node, None)) is not None:
                ending.cancel()

    def end(self) -> None:
        """Ends all that are under way, soon."""
        loop = asyncio.get_running_loop()
        for node in self._began.keys() - self._ending.keys():
            at = max(loop.time(), self._began[node] + self._usual_ms / 1000)
            self._ending[node] = loop.call_at(at, self._end, node)

    def _end(self, node: int) -> None:
        if self._end_fetch(node):
            self._ended.add(node)
        else:  # it is being connected to
            loop = asyncio.get_running_loop()
            self._ending[node] = loop.call_later(_AGAIN_S, self._end, node)
