"""How connections of clients end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import NoReturn, Self

import pytest
from structlog.testing import capture_logs

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.relay import RelaySettings
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server import client_listener
from mm2.offset_manager.server.client_listener import OffsetServer
from mm2.offset_manager.server.client_session import ClientSession, ClusterAccess

_PROPERTIES = {"bootstrap.servers": "127.0.0.1:1"}
_LARGE = 40 << 20
"""More than the kernel takes for who reads nothing."""


class Listening:
    """
    A server on a port of its own.

    Attributes:
        ended: gets what is left of each connection whose serving has ended.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        manager = OffsetManager(OffsetManagerSettings.of(_PROPERTIES))
        access = ClusterAccess(ClusterClient("c", _PROPERTIES), RelaySettings("c", _PROPERTIES))
        self.server = OffsetServer(manager, access)
        self.ended: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
        serve = OffsetServer._connected

        async def connected(
            server: OffsetServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            await serve(server, reader, writer)
            await self.ended.put(writer)

        monkeypatch.setattr(OffsetServer, "_connected", connected)

    async def __aenter__(self) -> Self:
        self._listening = await self.server.serve("127.0.0.1", 0)
        self.port: int = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listening.close()

    async def client(self, *sent: bytes) -> socket.socket:
        """A client that has sent something, and reads nothing by itself."""
        made = socket.create_connection(("127.0.0.1", self.port))
        made.setblocking(False)
        for each in sent:
            await asyncio.get_running_loop().sock_sendall(made, each)
        return made


def answering(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    async def same(_: ClientSession, _frame: bytes) -> Sequence[bytes]:
        return [answer]

    monkeypatch.setattr(ClientSession, "answer", same)


async def test_a_request_that_nobody_foresaw_ends_its_connection_and_is_logged_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(_: ClientSession, _frame: bytes) -> NoReturn:
        raise KeyError(99)

    monkeypatch.setattr(ClientSession, "answer", fail)
    async with Listening(monkeypatch) as at:
        with capture_logs() as logged:
            reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
            writer.write(b"\0\0\0\1x")
            assert await reader.read() == b""
        writer.close()
    assert [(each["event"], each["error"]) for each in logged] == [
        ("offset_manager.connection_ended", "KeyError(99)")
    ]


async def test_nothing_is_kept_for_a_client_that_reads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_listener, "_SEND_S", 0.01)
    monkeypatch.setattr(client_listener, "_CLOSE_S", 0.01)
    answering(monkeypatch, bytes(_LARGE))
    async with Listening(monkeypatch) as at:
        with await at.client(b"\0\0\0\1x"):
            writer = await at.ended.get()
            assert writer.transport.get_write_buffer_size() == 0
            assert not at.server._connections


async def test_what_was_answered_before_a_bad_request_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, b"answer")
    async with Listening(monkeypatch) as at:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        writer.write(b"\0\0\0\1x" + b"\xff" * 4)
        assert await reader.read() == b"answer"
        writer.close()
