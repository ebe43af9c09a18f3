"""
A cluster client that routes each request to the broker that must answer it.

It is made when it is needed and given up when no broker answers any more, so that the next question
begins with addresses that are true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

from aiokafka import errors
from aiokafka.client import CoordinationType

from mm2.errors import Unavailable
from mm2.kafka.cancelling import cancellable
from mm2.kafka.client_errors import NotSupported, translated
from mm2.kafka.client_settings import aiokafka_settings, connection_settings
from mm2.kafka.wire.node_channel import Traffic
from mm2.kafka.wire.nodes import NodesClient

T = TypeVar("T")

_SIGN_OF_LIFE_WITHIN_S: Final = 2.0
_CONNECT_AGAIN_S: Final = 0.5
"""While a cluster is away, all who wait for it make one attempt in this time, not one each."""

_BROKEN: Final = (
    errors.KafkaConnectionError,
    errors.NodeNotReadyError,
    errors.RequestTimedOutError,
    OSError,
)
"""Connections are not what they were: brokers may have gone, or have other addresses now."""


class ClusterClient:
    """
    Sends requests to the brokers of a cluster.

    Attributes:
        nodes: the coordinators of groups as far as they are known; forgotten with the connection.
    """

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self.alias = alias
        self.nodes: dict[str, int] = {}
        self._properties = dict(properties)
        self._connections = connection_settings(properties)
        self._client: NodesClient | None = None
        self._suspected: NodesClient | None = None
        self._opening = asyncio.Lock()
        self._failed: tuple[float, Unavailable] | None = None

    async def close(self) -> None:
        """Closes all connections; may be called twice, and the object may be used again."""
        await self._drop(self._client)

    async def send(self, node: int | None, what: str, request: object) -> Any:
        """
        What a node answers, or any node if it does not matter which.

        Raises:
            NotSupported: the node is too old for the request.
        """
        client = await self._connected()
        with translated(self.alias, what):
            try:
                if node is None:
                    return await client.send_any(request)
                return await client.send(node, request, group=Traffic.COORDINATOR)
            except (NotImplementedError, errors.IncompatibleBrokerVersion) as error:
                raise NotSupported(self.alias, f"{what}: the broker is too old") from error
            except _BROKEN:
                await self._lost(client, node)
                raise

    async def retry(self, what: str, attempt: Callable[[], Awaitable[T]], *, within_s: float) -> T:
        """
        Asks until there is an answer that will not be another one in a moment.

        Raises:
            Unavailable: the reason of the last attempt, when the time is over.
            ClusterError: any other failure, at once.
        """
        servers = self._properties.get("bootstrap.servers", "its brokers")
        message = f"{what}: no answer from {servers} within {within_s:g} s"
        pause_ms, failure = self._connections.retry_ms, Unavailable(self.alias, message)
        clock = asyncio.get_running_loop().time
        stop = clock() + within_s
        with suppress(TimeoutError):
            async with asyncio.timeout_at(stop):
                # The deadline interrupts once only, and an attempt might take that for its own.
                while clock() < stop:
                    try:
                        return await attempt()
                    except Unavailable as error:
                        failure = error
                    await asyncio.sleep(pause_ms / 1000)
                    pause_ms = min(2 * pause_ms, self._connections.retry_most_ms)
        self.suspect()
        raise failure from None

    def suspect(self) -> None:
        """
        Makes the next request probe the connection first, and reconnect if it is dead.

        Brokers may have other addresses now. But others have questions under way, which stand
        unless all brokers are silent.
        """
        self._suspected = self._client

    async def coordinator(self, what: str, group_id: str) -> int:
        """
        The node that coordinates a group.

        Raises:
            ClusterError: there is none just now, or we may not know.
        """
        client = await self._connected()
        with translated(self.alias, what):
            try:
                if group_id not in self.nodes:
                    self.nodes[group_id] = await client.coordinator_lookup(
                        CoordinationType.GROUP, group_id
                    )
                return self.nodes[group_id]
            except _BROKEN:
                await self._lost(client, None)
                raise

    async def brokers(self) -> list[int]:
        """
        All nodes that there are now.

        Raises:
            Unavailable: nobody says.
        """
        client = await self._connected()
        if not await client.force_metadata_update():
            raise Unavailable(self.alias, "no broker answers")
        return sorted(broker.nodeId for broker in client.cluster.brokers())

    async def controller(self) -> int:
        """
        The node that changes topics, settings and ACLs, or forwards changes to where they are made.

        Raises:
            Unavailable: nobody says, or there is none just now.
        """
        client = await self._connected()
        if await client.force_metadata_update() and client.cluster.controller is not None:
            return int(client.cluster.controller.nodeId)
        raise Unavailable(self.alias, "no broker says who the controller is")

    async def _connected(self) -> NodesClient:
        async with self._opening:
            await self._probe_if_suspect()
            if self._client is None:
                if self._failed and self._failed[0] > asyncio.get_running_loop().time():
                    raise self._failed[1]
                self._client = await self._open()
            return self._client

    async def _probe_if_suspect(self) -> None:
        client = self._suspected
        if client is None or client is not self._client:
            return
        is_alive = False
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SIGN_OF_LIFE_WITHIN_S):
                    is_alive = await client.is_alive()
        finally:
            # Also if who asks has less time than that.
            self._suspected = None
            if is_alive:
                client.close_silent()
            else:
                await self._drop(client)

    async def _open(self) -> NodesClient:
        settings = await asyncio.to_thread(aiokafka_settings, self._properties)
        client = NodesClient(connections=self._connections, **settings)
        try:
            with translated(self.alias, "connect"):
                await client.bootstrap()
        except Unavailable as error:
            self._failed = asyncio.get_running_loop().time() + _CONNECT_AGAIN_S, error
            raise
        except asyncio.CancelledError:
            await cancellable(client.close())
            raise
        return client

    async def _lost(self, client: NodesClient, node: int | None) -> None:
        """
        Forgets what a node was to be asked; and the connection, unless another node answers.

        The client connects by itself to a node that is lost, and others have questions under way.
        """
        for group_id in [each for each, known in self.nodes.items() if known == node]:
            del self.nodes[group_id]
        if self._client is client and not await client.is_alive():
            await self._drop(client)

    async def _drop(self, client: NodesClient | None) -> None:
        if self._client is not client or client is None:
            return
        self._client = None
        self.nodes.clear()
        await cancellable(client.close())
