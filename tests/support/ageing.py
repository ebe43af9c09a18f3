"""
A broker as an older one: a proxy before it that hides what it can do.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from mm2.demo.broker_settings import HOST
from tests.support.providers import RunningCluster

_READ = 1 << 16
_FUTURE = 99
"""A version of requests that no client speaks."""


@asynccontextmanager
async def without(
    api: int, versions: tuple[int, int], address: str
) -> AsyncIterator[RunningCluster]:
    """
    A cluster of one broker whose clients are told that it does not know some kind of request.

    Args:
        api: Kafka's number of it.
        versions: the least and the highest that the broker serves.
        address: of the broker.
    """
    port = int(address.rpartition(":")[2])
    known = struct.pack(">hhh", api, *versions)
    hidden = struct.pack(">hhh", api, _FUTURE, _FUTURE)

    def changed(data: bytes) -> bytes:
        # The broker tells its own address, which would lead past the proxy.
        ours = struct.pack(">i", server.sockets[0].getsockname()[1])
        return data.replace(known, hidden).replace(struct.pack(">i", port), ours)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(HOST, port)
        await asyncio.gather(
            _pass_on(reader, far_writer, bytes), _pass_on(far_reader, writer, changed)
        )

    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        yield RunningCluster("older", f"{HOST}:{server.sockets[0].getsockname()[1]}")


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, change: Callable[[bytes], bytes]
) -> None:
    try:
        while data := await reader.read(_READ):
            writer.write(change(data))
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
