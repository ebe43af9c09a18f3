"""
Delays fetches where single records come fast, so that some come together.

A record that comes alone costs brokers and us a fetch and a request of its own. At a thousand a
second these would take a core, and all would wait for that. So what is fetched next is fetched when
the target has what came before: the busier anybody is, the longer that takes, and the more comes
together. On idle brokers that is about a millisecond, and it never is more than a few. Where
records come seldom, nothing is waited for.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from flows.source.fetch.reading import NodeReading
from mm2.core.token_bucket import TokenBucket

TRICKLE_BYTES: Final = 16 << 10
"""Of the answer to a fetch; larger ones are worth a request of their own."""

SELDOM: Final = 250.0
"""Answers a second that may be followed by a fetch at once."""

_BURST_S: Final = 0.2
_MOST_S: Final = 0.005
"""From one fetch to the next: the target may be far away, or refuse what came."""


class FetchLinger:
    """
    Delays fetches from one node.

    Args:
        freed: set whenever the target has something more; cleared here.
    """

    def __init__(self, reading: NodeReading, freed: asyncio.Event) -> None:
        self._reading = reading
        self._freed = freed
        self._clock = asyncio.get_running_loop().time
        self._seldom = TokenBucket(SELDOM, _BURST_S, self._clock())

    async def wait(self, *, since: float) -> None:
        """Waits until the target has what came, a few ms at most after ``since`` (loop time)."""
        until, now = since + _MOST_S, self._clock()
        if not self._reading.is_under_way or now >= until:
            return
        if self._seldom.allowance(now) >= 1:
            self._seldom.spend(1, now)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                while self._reading.is_under_way:
                    self._freed.clear()
                    await self._freed.wait()
