"""What is known of the way to a node: its connection, and what became of attempts at one."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import IntEnum
from inspect import signature
from typing import Any, Final

from aiokafka.client import AIOKafkaClient

from mm2.kafka.wire.connection import Connection

_MOST_DOUBLINGS: Final = 10
_AVOIDED_S: Final = 30.0
"""For so long after it could not be connected to, a node is taken to be silent."""

CONNECTION_SETTINGS: Final = (
    "client_id",
    "request_timeout_ms",
    "security_protocol",
    "ssl_context",
    "sasl_mechanism",
    "sasl_plain_username",
    "sasl_plain_password",
)
_BY_DEFAULT: Final = {
    name: each.default for name, each in signature(AIOKafkaClient).parameters.items()
}

_NEVER: Final = float("-inf")


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """
    How connections are made, and how soon what has failed is tried again.

    Attributes:
        reconnect_ms: pause after the first failure to connect; doubled after each other one.
        reconnect_most_ms: the longest such pause.
        retry_ms: pause after the first question without an answer; doubled after each other one.
        retry_most_ms: the longest such pause.
        setup_ms: the time to connect; None for the caller's own.
        send_buffer_bytes, receive_buffer_bytes: of the socket; -1 leaves them to the system.
    """

    reconnect_ms: int = 50
    reconnect_most_ms: int = 1_000
    retry_ms: int = 50
    retry_most_ms: int = 2_000
    setup_ms: int | None = None
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1

    @property
    def socket_options(self) -> list[tuple[int, int]]:
        """Options of the level SOL_SOCKET, with their values."""
        buffers = {
            socket.SO_SNDBUF: self.send_buffer_bytes,
            socket.SO_RCVBUF: self.receive_buffer_bytes,
        }
        return [(option, size) for option, size in buffers.items() if size >= 0]


def connection_arguments(settings: Mapping[str, object]) -> dict[str, Any]:
    """The arguments of a connection, from those of aiokafka's client."""
    given = {name: settings.get(name, _BY_DEFAULT[name]) for name in CONNECTION_SETTINGS}
    return {**given, "max_idle_ms": settings.get("connections_max_idle_ms")}


class Traffic(IntEnum):
    """
    Kinds of traffic, each with connections of its own.

    A broker answers one connection's requests in order, so a long fetch would hold up a produce;
    and a timeout closes the connection with all that is in flight on it.
    """

    OF_AIOKAFKA = 0
    FETCH = 10
    PRODUCE = 11
    COORDINATOR = 12
    METADATA = 13


@dataclass(slots=True)
class NodeChannel:
    """
    One kind of traffic to one node; requests take it one by one, first come, first served.

    Attributes:
        queued: how many have or await their turn.
        connection: the last one; it may be closed.
    """

    settings: ConnectionSettings = ConnectionSettings()
    queued: int = 0
    connection: Connection | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _failures: int = 0
    _failed_at: float = _NEVER

    @property
    def usable(self) -> Connection | None:
        """The connection, if a request may be sent on it now, before none that was there first."""
        connection = self.connection
        if connection is None or self.queued or connection.must_renew:
            return None
        return connection if connection.connected() else None

    @asynccontextmanager
    async def in_turn(self) -> AsyncIterator[None]:
        """Waits for the turn of whoever enters, and has the others wait."""
        self.queued += 1
        try:
            async with self._turn:
                yield
        finally:
            self.queued -= 1

    def is_silent(self, patience_s: float) -> bool:
        """Whether the node has let somebody wait for longer than that, and not answered since."""
        if self.connection is not None and self.connection.connected():
            return self.connection.waited_s() > patience_s
        return time.monotonic() - self._failed_at < _AVOIDED_S

    async def back_off(self) -> None:
        """
        Waits before another attempt to connect, longer after each that failed.

        It counts as failed until a connection is there, also if nobody waits for it any more.
        """
        if self._failures:
            doublings = min(self._failures - 1, _MOST_DOUBLINGS)
            most_ms = min(self.settings.reconnect_ms << doublings, self.settings.reconnect_most_ms)
            await asyncio.sleep(most_ms / 1000 * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
        self._failures += 1
        self._failed_at = time.monotonic()

    def opened(self, connection: Connection) -> None:
        """The attempt has not failed."""
        self.connection, self._failures, self._failed_at = connection, 0, _NEVER
