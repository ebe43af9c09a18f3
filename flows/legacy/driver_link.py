"""
The connection of a stream to the process that started it.

The process tells the stream on it what to log, and to stop. When it ends, because the process does,
the stream stops, too: there are no topics of the tool's own through which it could be told. A
stream may tell on it how far it is.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from struct import Struct
from typing import Final

from mm2.errors import FatalError
from mm2.protocol.stream_progress import MOST_TOLD
from mm2.stop_deadlines import LINKS_S
from mm2.telemetry.levels import Logged, log_these

_WITHIN_S: Final = 10.0
_LONGEST: Final = 256
_SIZE: Final = Struct(">i")
_STOP: Final = b"stop\n"
_LOGGED: Final = {f"{each}\n".encode(): each for each in Logged}
"""What a stream is told, beside to stop."""


@asynccontextmanager
async def linked_to_driver(
    address: tuple[str, int],
    token: str,
    stop: asyncio.Event,
    log_these: Callable[[Logged], None] = log_these,
) -> AsyncIterator[Callable[[bytes], None]]:
    """
    Keeps the connection meanwhile, and sets ``stop`` when the process says so, or ends.

    What it yields tells the process something. ``log_these`` is called when it says what to log.

    Raises:
        FatalError: the process cannot be reached from here.
    """
    host, port = address
    try:
        async with asyncio.timeout(_WITHIN_S):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(token.encode() + b"\n")
            await writer.drain()
    except (OSError, TimeoutError) as error:
        remedy = "set spark.driver.host to an address that executors can reach"
        raise FatalError(f"the process at {host}:{port} does not answer: {remedy}") from error

    async def listen() -> None:
        with suppress(OSError):
            while (told := await reader.readline()) in _LOGGED:
                log_these(_LOGGED[told])
        stop.set()

    def tell(data: bytes) -> None:
        if not writer.is_closing() and not writer.transport.get_write_buffer_size():
            writer.write(_SIZE.pack(len(data)) + data)

    listening = asyncio.create_task(listen(), name="driver")
    try:
        yield tell
    finally:
        listening.cancel()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


class StreamLinks:
    """
    The other side: what the streams of a process connect to.

    Args:
        token: what a stream must say first.
        told: called with what a stream tells.
    """

    def __init__(self, token: str, told: Callable[[bytes], None] = lambda _: None) -> None:
        self._token = token
        self._told = told
        self._writers: set[asyncio.StreamWriter] = set()
        self._handlers: set[asyncio.Task[None]] = set()
        self._logged = Logged.USUAL
        self._is_stopping = self._is_closed = False
        self._server: asyncio.Server | None = None

    async def open(self, host: str) -> int:
        """
        Listens on any free port of an address; returns the port.

        Raises:
            FatalError: this machine does not have the address.
        """
        try:
            self._server = await asyncio.start_server(self._accept, host, 0, limit=_LONGEST)
        except OSError as error:
            message = (
                f"cannot listen at {host} for streams ({error.strerror or error}): set"
                " spark.driver.bindAddress to an address of this machine; spark.driver.host may be"
                " another one, at which executors reach it"
            )
            raise FatalError(message) from error
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def log_these(self, logged: Logged) -> None:
        """Tells all streams what to log, those that connect later too."""
        self._logged = logged
        for writer in self._writers:
            writer.write(f"{logged}\n".encode())

    def stop(self) -> None:
        """Tells all streams to stop, those that connect later too."""
        self._is_stopping = True
        for writer in self._writers:
            writer.write(_STOP)

    async def close(self) -> None:
        """Ends the connections, which has all streams stop."""
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.close()
        if self._handlers:
            await asyncio.wait(self._handlers, timeout=LINKS_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (handler := asyncio.current_task()) is not None:
            self._handlers.add(handler)
            handler.add_done_callback(self._handlers.discard)
        try:
            async with asyncio.timeout(_WITHIN_S):
                said = await reader.readline()
            if self._is_closed or not hmac.compare_digest(said.rstrip(b"\n"), self._token.encode()):
                return
            self._writers.add(writer)
            if self._logged is not Logged.USUAL:
                writer.write(f"{self._logged}\n".encode())
            if self._is_stopping:
                writer.write(_STOP)
            while True:
                (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
                if not 0 <= size <= MOST_TOLD:
                    return
                self._told(await reader.readexactly(size))
        except (OSError, EOFError, TimeoutError, ValueError):
            return
        finally:
            self._writers.discard(writer)
            writer.close()
