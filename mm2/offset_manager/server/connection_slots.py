"""
How many clients may be connected, of one address and of all.

Kafka's brokers refuse who comes when there is no room. Here the connection makes room that has been
idle for longest: a client connects again when it needs to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from mm2.offset_manager.server.client_connection import ClientConnection

MOST_CONNECTIONS: Final = 10_000
"""The memory for their requests allows no more."""

MOST_CONNECTIONS_OF_A_HOST: Final = 5_000


class ConnectionSlots:
    """
    The connections of one listener.

    Args:
        most: connections.
        most_of_host: of one host.

    Attributes:
        clients: that are connected.
    """

    def __init__(
        self, most: int = MOST_CONNECTIONS, most_of_host: int = MOST_CONNECTIONS_OF_A_HOST
    ) -> None:
        self.clients: set[ClientConnection] = set()
        self._most = most
        self._most_of_host = most_of_host
        self._by_host: Counter[str] = Counter()
        self._idle: dict[ClientConnection, None] = {}
        """Who has been idle for longest is first."""

    def limit_reached(self, host: str) -> str | None:
        """The key of the limit that leaves no room for one more from a host; None if there is."""
        if self._by_host[host] >= self._most_of_host:
            return "max.connections.per.ip"
        return "max.connections" if len(self.clients) >= self._most else None

    def make_room(self, host: str) -> bool:
        """Closes who has been idle for longest, if anybody is; of the host, if it has too many."""
        is_full = self._by_host[host] >= self._most_of_host
        idle = (each for each in self._idle if not is_full or each.host == host)
        one = next(idle, None)
        if one is None:
            return False
        one.transport.abort()
        self.leave(one)
        return True

    def enter(self, client: ClientConnection) -> None:
        """Somebody has connected."""
        self.clients.add(client)
        self._by_host[client.host] += 1

    def leave(self, client: ClientConnection) -> None:
        """A connection has ended; who has left already may do so again."""
        if client not in self.clients:
            return
        self.clients.remove(client)
        self._idle.pop(client, None)
        self._by_host[client.host] -= 1
        if not self._by_host[client.host]:
            del self._by_host[client.host]

    @contextmanager
    def idle(self, client: ClientConnection) -> Iterator[None]:
        """No request of the client is under way."""
        self._idle[client] = None
        try:
            yield
        finally:
            self._idle.pop(client, None)
