"""The connection on which streams are told what to log, and to stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from flows.legacy.driver_link import StreamLinks, linked_to_driver
from mm2.errors import FatalError
from mm2.telemetry.levels import Logged

HOST = "127.0.0.1"


@pytest.fixture
async def links() -> AsyncIterator[StreamLinks]:
    links = StreamLinks("token")
    yield links
    await links.close()


async def test_all_streams_stop_when_they_are_told(links: StreamLinks) -> None:
    address, stops = (HOST, await links.open(HOST)), [asyncio.Event(), asyncio.Event()]
    async with (
        linked_to_driver(address, "token", stops[0]),
        linked_to_driver(address, "token", stops[1]),
    ):
        assert not any(each.is_set() for each in stops)
        links.stop()
        await asyncio.gather(*(each.wait() for each in stops))


async def test_a_stream_that_comes_late_is_told_at_once(links: StreamLinks) -> None:
    address, stop = (HOST, await links.open(HOST)), asyncio.Event()
    links.stop()
    async with linked_to_driver(address, "token", stop):
        await stop.wait()


async def test_streams_log_all_events_for_as_long_as_they_are_told(
    links: StreamLinks,
) -> None:
    address, stop = (HOST, await links.open(HOST)), asyncio.Event()
    levels: asyncio.Queue[Logged] = asyncio.Queue()
    async with linked_to_driver(address, "token", stop, levels.put_nowait):
        links.log_these(Logged.ALL)
        assert await levels.get() is Logged.ALL
        async with linked_to_driver(address, "token", stop, levels.put_nowait):
            assert await levels.get() is Logged.ALL, "a stream that comes late is told, too"
            links.log_these(Logged.USUAL)
            assert [await levels.get(), await levels.get()] == [Logged.USUAL] * 2
        assert not stop.is_set()
        links.stop()
        await stop.wait()


async def test_a_stream_stops_when_its_process_is_gone(links: StreamLinks) -> None:
    address, stop = (HOST, await links.open(HOST)), asyncio.Event()
    async with linked_to_driver(address, "token", stop):
        await links.close()
        await stop.wait()


async def test_a_process_hears_what_streams_tell() -> None:
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    links = StreamLinks("token", heard.put_nowait)
    address = HOST, await links.open(HOST)
    async with linked_to_driver(address, "token", asyncio.Event()) as tell:
        tell(b"x" * 100_000)
        assert await heard.get() == b"x" * 100_000
        tell(b"")
        assert await heard.get() == b""
    await links.close()


async def test_who_does_not_know_the_token_is_not_let_in(links: StreamLinks) -> None:
    reader, writer = await asyncio.open_connection(HOST, await links.open(HOST))
    writer.write(b"guess\n")
    assert await reader.read() == b""
    writer.close()


async def test_a_process_that_cannot_be_reached_is_told_with_the_remedy(
    links: StreamLinks,
) -> None:
    port = await links.open(HOST)
    await links.close()
    with pytest.raises(FatalError, match=r"set spark\.driver\.host"):
        async with linked_to_driver((HOST, port), "token", asyncio.Event()):
            pass
