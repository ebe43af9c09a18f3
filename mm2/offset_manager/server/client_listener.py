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
from mm2.offset_manager.server.accepting import Accepting, listening_sockets
from mm2.offset_manager.server.client_connection import ClientConnection
from mm2.offset_manager.server.client_session import ClientSession, ClusterAccess
from mm2.offset_manager.server.connection_slots import (
    HOST_LIMIT,
    LIMIT,
    LOG_IN_LIMIT,
    ConnectionSlots,
)
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

_LOG_IN_S: Final = 30.0
"""So long a client may take for the handshake of TLS and to log in, where it has to."""

_CLOSED: Final = {
    **dict.fromkeys((LIMIT, HOST_LIMIT), "the one idle for longest"),
    LOG_IN_LIMIT: "one of the address that has most of these",
}
_REFUSED: Final = {
    **dict.fromkeys((LIMIT, HOST_LIMIT), "the new one, as none is idle,"),
    LOG_IN_LIMIT: "the new one, as no other address has many more of these,",
}


class _TooLate(Exception):
    """
    A client takes too long.

    Attributes:
        what: the name of what it takes too long for, among the meters.
    """

    def __init__(self, what: str, message: str) -> None:
        super().__init__(message)
        self.what = what


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
        self._meters = manager.meters
        self._meters.follow_clients(lambda: len(slots.clients), lambda: self.budget.held)

    async def serve(self, host: str, port: int) -> Accepting:
        """
        Begins to listen.

        Raises:
            FatalError: the port cannot be had.
        """
        try:
            sockets = await asyncio.to_thread(listening_sockets, host, port)
        except OSError as error:
            message = (
                f"--listen {host}:{port}: {error.strerror or error}. Name a port that is free."
            )
            raise FatalError(message) from error
        return Accepting(
            sockets, lambda accepted, address: self._connected(ClientConnection(accepted, address))
        )

    def close(self) -> None:
        """Ends all connections."""
        for each in list(self._slots.clients):
            each.end()

    async def _connected(self, client: ClientConnection) -> None:
        if not self._has_room(client):
            await client.close(_CLOSE_S)
            return
        self._slots.enter(client)
        client.serving = asyncio.current_task()
        session = ClientSession(self._manager, self._access)
        try:
            await self._until_logged_in(client, session)
            self._slots.logged_in(client)
            while True:
                await self._answer_next(client, session)
        except (NoRoom, _TooLate) as error:
            self._meters.closed("no_memory" if isinstance(error, NoRoom) else error.what)
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

    async def _until_logged_in(self, client: ClientConnection, session: ClientSession) -> None:
        try:
            async with asyncio.timeout(_LOG_IN_S) as limit:
                await client.open(self._tls)
                while not session.is_logged_in:
                    await self._answer_next(client, session)
        except TimeoutError as error:
            if limit.expired():
                message = f"there was no log-in, or no handshake, within {_LOG_IN_S:g} s"
                raise _TooLate("no_log_in", message) from error
            raise

    def _has_room(self, client: ClientConnection) -> bool:
        while (limit := self._slots.limit_reached(client.host)) is not None:
            if not self._make_room(client, limit):
                return False
        return True

    def _make_room(self, client: ClientConnection, limit: str) -> bool:
        has_room = self._slots.make_room(client.host, limit)
        closed = (_CLOSED if has_room else _REFUSED)[limit]
        self._meters.closed("no_room")
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
        message = f"{size} bytes were not sent within {_REQUEST_S:g} s"
        raise _TooLate("not_sent", message) from error
