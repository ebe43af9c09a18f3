"""How many bytes of requests all connections of clients may have in memory together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

SMALL_BYTES: Final = 16 << 10
"""
A request of so many bytes never waits.

A connection has one request at a time, so that the number of connections bounds these: 10,000 have
157 MiB.
"""

LARGE_BYTES: Final = 96 << 20
"""Of all larger requests together: with the small ones less than 256 MiB."""

ROOM_S: Final = 20.0
"""So long a request may wait for room; Java's clients wait for 30 s for an answer."""


class NoRoom(Exception):
    """Other requests have taken up all memory for too long."""


@dataclass(slots=True, eq=False)
class _Waiting:
    host: str
    size: int
    granted: asyncio.Future[None] = field(default_factory=asyncio.Future)


class FrameBudget:
    """
    Room for the large requests of one listener.

    No host takes more than half of it. Of the hosts that wait, the one that holds least is next. So
    a host that fills its half does not keep others waiting.

    Args:
        total: bytes.

    Attributes:
        held: bytes that are taken.
    """

    def __init__(self, total: int = LARGE_BYTES) -> None:
        self.held = 0
        self._total = total
        self._by_host: Counter[str] = Counter()
        self._waiting: dict[str, dict[_Waiting, None]] = {}

    @asynccontextmanager
    async def room(self, host: str, size: int) -> AsyncIterator[None]:
        """
        Room for a request from ``host``, for as long as the context lasts.

        Raises:
            NoRoom: there is none in time.
        """
        if size <= SMALL_BYTES:
            yield
            return
        await self._take(_Waiting(host, size))
        try:
            yield
        finally:
            self._give_back(host, size)

    async def _take(self, one: _Waiting) -> None:
        self._waiting.setdefault(one.host, {})[one] = None
        self._grant()
        try:
            async with asyncio.timeout(ROOM_S):
                await one.granted
        except BaseException as error:
            if one in self._waiting.get(one.host, ()):
                self._leave(one)
                self._grant()
            else:
                self._give_back(one.host, one.size)
            if isinstance(error, TimeoutError):
                raise NoRoom(f"no memory for {one.size} bytes within {ROOM_S:g} s") from error
            raise

    def _give_back(self, host: str, size: int) -> None:
        self.held -= size
        self._by_host[host] -= size
        if not self._by_host[host]:
            del self._by_host[host]
        self._grant()

    def _leave(self, one: _Waiting) -> None:
        of_host = self._waiting[one.host]
        del of_host[one]
        if not of_host:
            del self._waiting[one.host]

    def _grant(self) -> None:
        """The next one is not passed by smaller ones, or it would wait for ever."""
        while (one := self._next()) is not None and self.held + one.size <= self._total:
            self._leave(one)
            self.held += one.size
            self._by_host[one.host] += one.size
            if not one.granted.done():  # else it has just been cancelled, and gives it back
                one.granted.set_result(None)

    def _next(self) -> _Waiting | None:
        """Of each host the first one, if it is below its half; of these, whose host holds least."""
        most = self._total // 2
        first = (next(iter(each)) for each in self._waiting.values())
        fitting = (each for each in first if self._by_host[each.host] + each.size <= most)
        return min(fitting, key=lambda each: self._by_host[each.host], default=None)
