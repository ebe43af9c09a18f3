"""How connections of clients end."""

from __future__ import annotations

import asyncio
from typing import NoReturn

import pytest
from structlog.testing import capture_logs

from mm2.offset_manager.server import client_listener
from mm2.offset_manager.server.client_session import ClientSession
from tests.support.listening_server import Listening, answering

_LARGE = 40 << 20
"""More than the kernel takes for who reads nothing."""


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
            ended = await at.ended.get()
            assert ended.transport.get_write_buffer_size() == 0
            assert not at.slots.clients


async def test_what_was_answered_before_a_bad_request_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, b"answer")
    async with Listening(monkeypatch) as at:
        reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
        writer.write(b"\0\0\0\1x" + b"\xff" * 4)
        assert await reader.read() == b"answer"
        writer.close()
