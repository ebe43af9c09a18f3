"""How fast a task may fetch: its share of the flow's byte rate."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from mm2.core.token_bucket import TokenBucket

_BURST_S: Final = 0.5
_LUMP: Final = 64 << 10
"""Bytes that are waited for, so that a small rate does not end in fetches of single batches."""


class RateLimit:
    """
    The bytes per second that a task may fetch.

    Attributes:
        rate: bytes per second; None is no limit.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.rate: float | None = None
        self._clock = clock
        self._bucket: TokenBucket | None = None
        self._changed = asyncio.Event()

    def change(self, rate: float | None) -> None:
        """Goes on with another rate, at once, also for those who wait."""
        if rate == self.rate:
            return
        self.rate = rate
        if rate is None:
            self._bucket = None
        elif self._bucket is None:
            self._bucket = TokenBucket(rate, _BURST_S, self._clock())
        else:
            self._bucket.change(rate, self._clock())
        self._changed.set()

    async def allowance(self) -> float:
        """Waits until bytes may be fetched; returns how many, infinity without a limit."""
        while self._bucket is not None:
            delay_s = self._bucket.delay(self._clock(), _LUMP)
            if delay_s <= 0:
                return self._bucket.allowance(self._clock())
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(delay_s):
                    await self._changed.wait()
        return math.inf

    def spend(self, size: int) -> None:
        """Counts bytes that came; more than were allowed make the next ones wait longer."""
        if self._bucket is not None:
            self._bucket.spend(size, self._clock())
