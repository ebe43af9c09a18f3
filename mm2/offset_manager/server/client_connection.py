"""
The connection of a client, from which no more is read than there is memory for.

Streams of asyncio take up to 256 KiB at a time, of each connection, before anybody has asked. Here
the kernel writes into memory of the size that is asked for, and nothing is read in between.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Coroutine, Iterable
from ipaddress import IPv6Address, ip_address
from typing import Any, Final, cast

_NOWHERE: Final = memoryview(bytearray(1))
_TLS_BYTES: Final = 16 << 10
"""Of what is deciphered, and of what is not, when nothing is read: as much as one TLS record."""

_NETWORK_BITS: Final = 64
_SIZE: Final = struct.Struct(">i")


class ClientConnection(asyncio.BufferedProtocol):
    """
    A connection.

    Args:
        serve: is run as soon as the connection is there.

    Attributes:
        transport: what it is sent over.
        host: where the client is; of an IPv6 address the network, of which it has all addresses.
    """

    def __init__(self, serve: Callable[[ClientConnection], Coroutine[Any, Any, None]]) -> None:
        self.transport: asyncio.Transport
        self.host = ""
        self._serve = serve
        self._begin(_SIZE.size)
        self._ended = asyncio.Event()
        self._can_go_on = asyncio.Event()
        self._can_send = asyncio.Event()
        self._can_send.set()
        self._serving: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begins to serve."""
        self.transport = cast("asyncio.Transport", transport)
        self.host = _network(transport.get_extra_info("peername"))
        if hasattr(transport, "set_read_buffer_limits"):  # it has TLS
            transport.set_read_buffer_limits(_TLS_BYTES)
        self._serving = asyncio.get_running_loop().create_task(self._serve(self))

    async def size(self) -> int:
        """
        What the client says how many bytes come next.

        Raises:
            EOFError: the connection has ended.
        """
        (size,) = _SIZE.unpack(await self._all())
        return int(size)

    async def request(self, size: int) -> bytes:
        """
        The bytes behind ``size``; until it is called, none of them are read.

        Raises:
            EOFError: the connection has ended.
        """
        self._begin(size)
        try:
            return bytes(await self._all())
        finally:
            self._begin(_SIZE.size)

    def _begin(self, size: int) -> None:
        self._data = bytearray(size)
        self._rest = memoryview(self._data)

    async def _all(self) -> bytearray:
        if self._rest and not self._ended.is_set():
            self._can_go_on.clear()
            self.transport.resume_reading()
            await self._can_go_on.wait()
        if self._rest:
            raise EOFError
        return self._data

    async def send(self, data: Iterable[bytes | memoryview]) -> None:
        """
        Sends something, and waits until most of it is on its way.

        Raises:
            EOFError: the connection has ended.
        """
        self.transport.writelines(data)
        await self._can_send.wait()
        if self._ended.is_set():
            raise EOFError

    async def close(self, within_s: float) -> None:
        """Who reads nothing would keep what waits for it, and the connection, for good."""
        try:
            self.transport.close()
            async with asyncio.timeout(within_s):
                await self._ended.wait()
        except TimeoutError:
            pass
        finally:
            self.transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        del sizehint
        return self._rest or _NOWHERE

    def buffer_updated(self, nbytes: int) -> None:
        """Takes note of bytes that came."""
        self._rest = self._rest[nbytes:]
        if not self._rest:
            self.transport.pause_reading()
            self._can_go_on.set()

    def eof_received(self) -> None:
        """The client sends nothing more."""
        self._can_go_on.set()

    def pause_writing(self) -> None:
        """Too much waits to be sent."""
        self._can_send.clear()

    def resume_writing(self) -> None:
        """There is room again."""
        self._can_send.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more comes, or can be sent."""
        del exc
        self._ended.set()
        self._can_go_on.set()
        self._can_send.set()


def _network(peer: Any) -> str:
    """Who has an IPv6 address has as many of them as they like."""
    host = str(peer[0]) if isinstance(peer, tuple) else ""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address) or address.ipv4_mapped:
        return host
    return str(IPv6Address(int(address) >> _NETWORK_BITS << _NETWORK_BITS))
