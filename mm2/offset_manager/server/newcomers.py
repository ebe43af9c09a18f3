"""
Connections of clients that have not logged in, and which of them makes room for one more.

When an instance starts again, all its clients log in at the same time. Each log-in that is ended
before it is done has to begin anew. So a new connection is refused, as by Kafka's brokers, unless
another address has more of these. Then that address gives up the newest one, which has done least.
A client that does nothing gives up its connection after a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mm2.offset_manager.server.client_connection import ClientConnection

_SLOW_S: Final = 15.0
"""
Who has not logged in for so long gives way to an address that has fewer connections.

It is half of the time for a log-in. At an instance that is busy, log-ins take seconds.
"""


class Newcomers:
    """
    Connections in the order in which they came.

    Args:
        clock: tells seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._came_at: dict[ClientConnection, float] = {}
        self._by_host: dict[str, dict[ClientConnection, None]] = {}

    def __len__(self) -> int:
        return len(self._came_at)

    def __contains__(self, client: ClientConnection) -> bool:
        return client in self._came_at

    def add(self, client: ClientConnection) -> None:
        """Somebody has connected."""
        self._came_at[client] = self._clock()
        self._by_host.setdefault(client.host, {})[client] = None

    def discard(self, client: ClientConnection) -> None:
        """Somebody has logged in or left; who has done so already may do so again."""
        if self._came_at.pop(client, None) is None:
            return
        of_host = self._by_host[client.host]
        del of_host[client]
        if not of_host:
            del self._by_host[client.host]

    def crowding(self, host: str) -> ClientConnection | None:
        """Who makes room for one more of a host; None if the host has its share."""
        most = max(self._by_host.values(), key=len)
        more = len(most) - len(self._by_host.get(host, ()))
        if more <= 0:
            return None
        oldest = next(iter(most))
        if self._clock() - self._came_at[oldest] >= _SLOW_S:
            return oldest
        return next(reversed(most)) if more > 1 else None
