"""
Listens for clients and answers them.

A client's requests are answered one after the other, as by Kafka's brokers. Requests that cannot be
read, or that are not offered, end the connection.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from typing import Final

import structlog

from mm2.errors import ClusterError, FatalError, SchemaError
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server.client_session import ClientSession, ClusterAccess

log = structlog.get_logger()

MOST_CONNECTIONS: Final = 10_000
_IDLE_S: Final = 600.0
"""As ``connections.max.idle.ms`` of Kafka's brokers."""

_SEND_S: Final = 30.0
_CLOSE_S: Final = 5.0
"""So long a connection that ends may take to send what is left."""

_SIZE: Final = struct.Struct(">i")


class OffsetServer:
    """
    Answers clients of one instance.

    Args:
        manager: the instance.
        access: to the cluster.
        tls: None listens without.
    """

    def __init__(
        self, manager: OffsetManager, access: ClusterAccess, tls: ssl.SSLContext | None = None
    ) -> None:
        self._manager = manager
        self._access = access
        self._tls = tls
        self._connections: set[asyncio.StreamWriter] = set()

    async def serve(self, host: str, port: int) -> asyncio.Server:
        """
        Begins to listen.

        Raises:
            FatalError: the port cannot be had.
        """
        try:
            return await asyncio.start_server(self._connected, host or None, port, ssl=self._tls)
        except OSError as error:
            message = (
                f"--listen {host}:{port}: {error.strerror or error}. Name a port that is free."
            )
            raise FatalError(message) from error

    def close(self) -> None:
        """Ends all connections."""
        for each in list(self._connections):
            each.close()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections.add(writer)
        session = ClientSession(self._manager, self._access)
        try:
            while True:
                async with asyncio.timeout(_IDLE_S):
                    frame = await _frame(reader, session.most_bytes)
                writer.writelines(await session.answer(frame))
                async with asyncio.timeout(_SEND_S):
                    await writer.drain()
        except (OSError, EOFError, TimeoutError):
            pass
        except (SchemaError, ClusterError) as error:
            log.debug("offset_manager.connection_ended", error=str(error))
        except Exception as error:  # noqa: BLE001 - whatever one client sends, the others go on
            log.warning("offset_manager.connection_ended", error=repr(error))
        finally:
            session.close()
            await _end(writer)
            self._connections.discard(writer)


async def _end(writer: asyncio.StreamWriter) -> None:
    """Who reads nothing would keep what waits for it, and the connection, for good."""
    try:
        writer.close()
        async with asyncio.timeout(_CLOSE_S):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        pass
    finally:
        writer.transport.abort()


async def _frame(reader: asyncio.StreamReader, most: int) -> bytes:
    (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
    if not 0 < size <= most:
        raise SchemaError(f"a request of {size} bytes is not read")
    return await reader.readexactly(size)
