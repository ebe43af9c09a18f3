"""
Listens for clients and answers them.

A client's requests are answered one after the other, as by Kafka's brokers. Requests that cannot be
read, or that are not offered, end the connection.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Final

import structlog

from mm2.errors import ClusterError, FatalError, SchemaError
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server.client_connection import ClientConnection
from mm2.offset_manager.server.client_session import ClientSession, ClusterAccess
from mm2.offset_manager.server.connection_slots import ConnectionSlots
from mm2.offset_manager.server.frame_budget import FrameBudget, NoRoom
from mm2.offset_manager.server.tally import Tally

log = structlog.get_logger()

_IDLE_S: Final = 600.0
"""As ``connections.max.idle.ms`` of Kafka's brokers."""

_SEND_S: Final = 30.0
_CLOSE_S: Final = 5.0
"""So long a connection that ends may take to send what is left."""

_REQUEST_S: Final = 15.0
"""So long a client may take to send the rest of a request, once there is room for it."""


class _NotSent(Exception):
    """A client has begun a request, and does not go on."""


class OffsetServer:
    """
    Answers clients of one instance.

    Args:
        manager: the instance.
        access: to the cluster.
        slots: for connections.
        tls: None listens without.

    Attributes:
        budget: of the memory for requests.
    """

    def __init__(
        self,
        manager: OffsetManager,
        access: ClusterAccess,
        slots: ConnectionSlots,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.budget = FrameBudget()
        self._manager = manager
        self._access = access
        self._tls = tls
        self._slots = slots
        self._given_up = Tally()
        self._at_limit = Tally()

    async def serve(self, host: str, port: int) -> asyncio.Server:
        """
        Begins to listen.

        Raises:
            FatalError: the port cannot be had.
        """
        loop = asyncio.get_running_loop()
        try:
            return await loop.create_server(
                lambda: ClientConnection(self._connected), host or None, port, ssl=self._tls
            )
        except OSError as error:
            message = (
                f"--listen {host}:{port}: {error.strerror or error}. Name a port that is free."
            )
            raise FatalError(message) from error

    def close(self) -> None:
        """Ends all connections."""
        for each in list(self._slots.clients):
            each.transport.close()

    async def _connected(self, client: ClientConnection) -> None:
        if not self._has_room(client):
            client.transport.abort()
            return
        self._slots.enter(client)
        session = ClientSession(self._manager, self._access)
        try:
            while True:
                await self._answer_next(client, session)
        except (NoRoom, _NotSent) as error:
            if count := self._given_up.due():
                log.warning(
                    "offset_manager.request_given_up",
                    client=client.host,
                    connections=count,
                    error=str(error),
                )
        except (OSError, EOFError, TimeoutError):
            pass
        except (SchemaError, ClusterError) as error:
            log.debug("offset_manager.connection_ended", error=str(error))
        except Exception as error:  # noqa: BLE001 - whatever one client sends, the others go on
            log.warning("offset_manager.connection_ended", error=repr(error))
        finally:
            session.close()
            await client.close(_CLOSE_S)
            self._slots.leave(client)

    def _has_room(self, client: ClientConnection) -> bool:
        limit = self._slots.limit_reached(client.host)
        if limit is None:
            return True
        has_room = self._slots.make_room(client.host)
        closed = "the one idle for longest" if has_room else "the new one, as none is idle"
        if count := self._at_limit.due():
            log.warning(
                "offset_manager.connections_at_limit",
                client=client.host,
                connections=count,
                error=f"{limit} is reached: {closed} is closed",
            )
        return has_room

    async def _answer_next(self, client: ClientConnection, session: ClientSession) -> None:
        with self._slots.idle(client):
            async with asyncio.timeout(_IDLE_S):
                size = await client.size()
        if not 0 < size <= session.most_bytes:
            raise SchemaError(f"a request of {size} bytes is not read")
        async with self.budget.room(client.host, size):
            answer = await session.answer(await _request(client, size))
        async with asyncio.timeout(_SEND_S):
            await client.send(answer)


async def _request(client: ClientConnection, size: int) -> bytes:
    try:
        async with asyncio.timeout(_REQUEST_S):
            return await client.request(size)
    except TimeoutError as error:
        raise _NotSent(f"{size} bytes were not sent within {_REQUEST_S:g} s") from error
