"""
The connection of a client, from which no more is read than there is memory for.

Streams of asyncio take up to 256 KiB at a time, of each connection, before anybody has asked. Here
the kernel writes into memory of the size that is asked for, and nothing is read in between.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Iterable
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import Final, cast

_NOWHERE: Final = memoryview(bytearray(1))
_TLS_BYTES: Final = 16 << 10
"""Of what is deciphered, and of what is not, when nothing is read: as much as one TLS record."""

_NETWORK_BITS: Final = 64
_SIZE: Final = struct.Struct(">i")


class ClientConnection(asyncio.BufferedProtocol):
    """
    A connection, of use once it is open.

    Args:
        accepted: its socket.
        address: where the client is.

    Attributes:
        transport: what it is sent over, once it is open.
        host: where the client is; of an IPv6 address the network, of which it has all addresses.
        serving: what reads from it and answers.
    """

    def __init__(self, accepted: socket.socket, address: str) -> None:
        self.transport: asyncio.Transport
        self.host = _network(address)
        self.serving: asyncio.Task[None] | None = None
        self._accepted = accepted
        self._is_open = False
        self._begin(_SIZE.size)
        self._ended = asyncio.Event()
        self._can_go_on = asyncio.Event()
        self._can_send = asyncio.Event()
        self._can_send.set()

    async def open(self, tls: ssl.SSLContext | None) -> None:
        """
        Opens it, which with TLS takes a handshake.

        Raises:
            OSError: the client does not do its part.
        """
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(lambda: self, self._accepted, ssl=tls)

    def abort(self) -> None:
        """Ends it at once, open or not, and what is under way for the client."""
        if self.serving is not None:
            self.serving.cancel()
        if self._is_open:
            self.transport.abort()
            return
        with suppress(OSError):  # it has gone
            self._accepted.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        """Ends it, open or not, once what waits has been sent."""
        if self._is_open:
            self.transport.close()
        else:
            self.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._is_open = True
        self.transport = cast("asyncio.Transport", transport)
        if hasattr(transport, "set_read_buffer_limits"):  # it has TLS
            transport.set_read_buffer_limits(_TLS_BYTES)

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
        if not self._is_open:
            self._accepted.close()
            return
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


def _network(host: str) -> str:
    """Who has an IPv6 address has as many of them as they like."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address) or address.ipv4_mapped:
        return host
    return str(IPv6Address(int(address) >> _NETWORK_BITS << _NETWORK_BITS))
