"""The server of an offset manager without a cluster, and clients that send it bytes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from struct import Struct
from typing import Final, Self

import pytest

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.relay import Relay, RelaySettings
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server.client_connection import ClientConnection
from mm2.offset_manager.server.client_listener import OffsetServer
from mm2.offset_manager.server.client_session import ClientSession, ClusterAccess
from mm2.offset_manager.server.connection_slots import ConnectionSlots
from mm2.offset_manager.server.sasl import LogIns

_PROPERTIES = {"bootstrap.servers": "127.0.0.1:1"}

SIZE: Final = Struct(">i")
"""The length in front of a request."""


class Listening:
    """
    A server on a port of its own.

    Attributes:
        slots: for connections.
        metrics: what it has counted, in Prometheus' format.
        ended: gets each connection whose serving has ended.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        slots: ConnectionSlots | None = None,
        log_ins: LogIns | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        manager = OffsetManager(OffsetManagerSettings.of(_PROPERTIES))
        link, settings = ClusterClient("c", _PROPERTIES), RelaySettings("c", _PROPERTIES)
        access = ClusterAccess(link, settings, log_ins)
        self.metrics = manager.metrics
        self.slots = slots or ConnectionSlots()
        self.server = OffsetServer(manager, access, self.slots, tls)
        self.ended: asyncio.Queue[ClientConnection] = asyncio.Queue()
        serve = OffsetServer._connected

        async def connected(server: OffsetServer, client: ClientConnection) -> None:
            await serve(server, client)
            await self.ended.put(client)

        monkeypatch.setattr(OffsetServer, "_connected", connected)

    async def __aenter__(self) -> Self:
        self._listening = await self.server.serve("127.0.0.1", 0)
        self.port: int = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()

    async def client(self, *sent: bytes, host: str = "127.0.0.1") -> socket.socket:
        """A client at ``host`` that has sent something, and reads nothing by itself."""
        made = socket.create_connection(("127.0.0.1", self.port), source_address=(host, 0))
        made.setblocking(False)
        for each in sent:
            await asyncio.get_running_loop().sock_sendall(made, each)
        return made


LOG_IN: Final = SIZE.pack(1) + b"L"
"""A request with which a client is logged in, where ``answering`` answers."""


def answering(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    """Has each request be answered so."""

    async def same(session: ClientSession, frame: bytes) -> Sequence[bytes]:
        if frame == LOG_IN[SIZE.size :]:
            session._relay = Relay("c", {})
        return [answer]

    monkeypatch.setattr(ClientSession, "answer", same)
