"""
How many clients may be connected: of one address, of those that have not logged in, and of all.

Kafka's brokers refuse who comes when there is no room. Here the connection makes room that has been
idle for longest: a client connects again when it needs to. Those that have not logged in go first,
so that nobody without a password takes connections away from those that have one. Among these, who
comes is refused unless another address has more of them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from mm2.offset_manager.server.client_connection import ClientConnection
from mm2.offset_manager.server.newcomers import Newcomers

MOST_CONNECTIONS: Final = 10_000
"""The memory for their requests allows no more."""

MOST_CONNECTIONS_OF_A_HOST: Final = 5_000
LIMIT: Final = "max.connections"
HOST_LIMIT: Final = "max.connections.per.ip"
LOG_IN_LIMIT: Final = "a tenth of max.connections, for those who have not logged in,"

_PART_BEFORE_LOG_IN: Final = 10
_LEAST_BEFORE_LOG_IN: Final = 16
"""Clients that have not logged in have a tenth of all connections, or these."""


class ConnectionSlots:
    """
    The connections of one listener.

    Args:
        most: connections.
        most_of_host: of one host.
        has_newcomers: whether it takes a while, as clients log in or TLS needs a handshake.
        most_before_log_in: connections of clients that have not logged in.
        clock: tells seconds that only grow.

    Attributes:
        clients: that are connected.
    """

    def __init__(
        self,
        most: int = MOST_CONNECTIONS,
        most_of_host: int = MOST_CONNECTIONS_OF_A_HOST,
        *,
        has_newcomers: bool = False,
        most_before_log_in: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clients: set[ClientConnection] = set()
        self._most = most
        self._most_of_host = most_of_host
        tenth = max(_LEAST_BEFORE_LOG_IN, most // _PART_BEFORE_LOG_IN)
        self._most_new = most_before_log_in or tenth
        self._has_newcomers = has_newcomers
        self._by_host: Counter[str] = Counter()
        self._new = Newcomers(clock)
        self._idle: dict[ClientConnection, None] = {}
        """Who has been idle for longest is first."""

    def limit_reached(self, host: str) -> str | None:
        """What leaves no room for one more from a host, mostly a key; None if there is room."""
        if len(self._new) >= self._most_new:  # first: who is refused here closes no other one
            return LOG_IN_LIMIT
        if self._by_host[host] >= self._most_of_host:
            return HOST_LIMIT
        return LIMIT if len(self.clients) >= self._most else None

    def make_room(self, host: str, limit: str) -> bool:
        """Closes the connection that matters least, of the host if it has too many; if any may."""
        is_log_in = limit == LOG_IN_LIMIT
        one = self._new.crowding(host) if is_log_in else self._idle_one(host, limit)
        if one is None:
            return False
        one.abort()
        self.leave(one)
        return True

    def _idle_one(self, host: str, limit: str) -> ClientConnection | None:
        """Who has been idle for longest, but first those who have not logged in."""
        idle = [each for each in self._idle if limit == LIMIT or each.host == host]
        return next((each for each in idle if each in self._new), next(iter(idle), None))

    def enter(self, client: ClientConnection) -> None:
        """Somebody has connected."""
        self.clients.add(client)
        self._by_host[client.host] += 1
        if self._has_newcomers:
            self._new.add(client)

    def logged_in(self, client: ClientConnection) -> None:
        """Somebody has logged in."""
        self._new.discard(client)

    def leave(self, client: ClientConnection) -> None:
        """A connection has ended; who has left already may do so again."""
        if client not in self.clients:
            return
        self.clients.remove(client)
        self._idle.pop(client, None)
        self._new.discard(client)
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
