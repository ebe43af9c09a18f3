"""The nodes of a cluster: which there are, who leads what, and connections to them."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import partial
from typing import Final

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import CloseReason
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.coordination import FindCoordinatorRequest

from mm2.kafka.wire.connection import SILENT_AFTER_S, Connection
from mm2.kafka.wire.connection_failures import NotLetIn
from mm2.kafka.wire.hedging import first_success
from mm2.kafka.wire.node_channel import (
    ConnectionSettings,
    NodeChannel,
    Traffic,
    connection_arguments,
)
from mm2.kafka.wire.requests.metadata import (
    BrokerMetadata,
    Metadata,
    MetadataRequest,
    TopicMetadata,
)

_METADATA_WITHIN_S: Final = 5.0
_NEXT_AFTER_S: Final = 2.0
"""Then the next node, or bootstrap server, is asked as well what any of them can answer."""

_SAME_AFTER_S: Final = 0.1
_CONNECT_WITHIN_S: Final = 15.0
"""By then metadata name others; and an attempt repeats its SYN after 1, 3, 7 and 15 s only."""


class NodesClient(AIOKafkaClient):
    """
    aiokafka's client with connections and metadata of our own; its consumers and producers have it.

    A silent node does not delay requests to others. Requests of one kind reach a node in the order
    of the calls, also while a connection is made. Requests for metadata create no topics, as
    aiokafka's would: a remote topic that was deleted must not come back with default partitions.
    """

    _sync_task: asyncio.Task[None] | None
    _md_update_fut: asyncio.Future[bool] | None

    def __init__(
        self, *, connections: ConnectionSettings | None = None, **settings: object
    ) -> None:
        super().__init__(**settings)
        self._connecting = connections or ConnectionSettings()
        self._settings = connection_arguments(settings)
        self._channels: defaultdict[tuple[int, int], NodeChannel] = defaultdict(
            partial(NodeChannel, self._connecting)
        )
        self._brokers: Mapping[int, BrokerMetadata] = {}
        self._known: Mapping[str, TopicMetadata] = {}
        self._asked, self._asked_at = frozenset[str](), float("-inf")
        self._is_closed = False
        self.cluster_id = ""

    async def bootstrap(self) -> None:
        """
        Learns from the first bootstrap server that answers which nodes there are.

        Raises:
            NotLetIn: one does, and does not let us in.
            KafkaConnectionError: none does, or none knows of a broker that serves.
        """
        if self._is_closed:
            raise errors.KafkaConnectionError("the client is closed")
        attempts = [partial(self._bootstrap_from, host, port) for host, port, _ in self.hosts]
        metadata = await first_success(attempts, patience_s=_NEXT_AFTER_S)
        self.cluster.update_metadata(metadata.for_aiokafka())
        self.cluster_id = metadata.cluster_id
        if self._sync_task is None and not self._is_closed:
            self._sync_task = asyncio.create_task(self._md_synchronizer(), name="metadata")

    async def _bootstrap_from(self, host: str, port: int) -> Metadata:
        connection = Connection(host, port, **self._settings)
        try:
            async with asyncio.timeout(self._connect_within_s):
                await connection.connect(self._connecting.socket_options)
                metadata = await self._first_answer_of(connection)
        except NotLetIn:
            raise
        except (OSError, TimeoutError, errors.KafkaError) as error:
            reason = str(error) or type(error).__name__
            raise errors.KafkaConnectionError(f"no answer from {host}:{port}: {reason}") from error
        finally:
            connection.close()
        return metadata.of_brokers()

    @property
    def _connect_within_s(self) -> float:
        setup_ms = self._connecting.setup_ms
        return _CONNECT_WITHIN_S if setup_ms is None else setup_ms / 1000

    async def _first_answer_of(self, connection: Connection) -> Metadata:
        try:
            metadata: Metadata = (await connection.send(MetadataRequest(()))).metadata
        except errors.KafkaError as error:
            raise connection.attempt.unanswered(error) from error
        return metadata

    def topic(self, name: str) -> TopicMetadata | None:
        """As of the last refresh; None if it is not tracked."""
        return self._known.get(name)

    def broker(self, node: int) -> BrokerMetadata | None:
        """As of the last refresh; None if it is not there."""
        return self._brokers.get(node)

    async def send(
        self, node_id: int, request: Request[RequestStruct], *, group: int = Traffic.OF_AIOKAFKA
    ) -> Response:
        """
        Sends a request to a node and gives back what it answers.

        Raises:
            KafkaError: there is no connection, or it broke, or nothing was answered in time.
        """
        channel = self._channels[node_id, group]
        connection = channel.usable
        if connection is not None:
            answer = connection.send(request)
        else:
            async with channel.in_turn():
                connection = await self._ready(channel, node_id)
                answer = connection.send(request)
        try:
            return await answer
        except TimeoutError as error:
            connection.close(CloseReason.CONNECTION_TIMEOUT)
            raise errors.RequestTimedOutError(f"broker {node_id} does not answer") from error

    async def ready(self, node_id: int, *, group: int = Traffic.OF_AIOKAFKA) -> bool:
        """Whether a node can be connected to."""
        channel = self._channels[node_id, group]
        try:
            async with channel.in_turn():
                await self._ready(channel, node_id)
        except errors.KafkaError:
            return False
        return True

    async def _ready(self, channel: NodeChannel, node: int) -> Connection:
        try:
            if channel.connection is None or not channel.connection.connected():
                await channel.back_off()
                connection = await self._connected(node)
                channel.opened(connection)
            else:
                connection = channel.connection
                if connection.must_renew:
                    await connection.renew()
        except (OSError, TimeoutError, errors.KafkaError) as error:
            self.force_metadata_update()
            reason = str(error) or type(error).__name__
            raise errors.NodeNotReadyError(f"broker {node} is not ready: {reason}") from error
        return connection

    async def _connected(self, node: int) -> Connection:
        broker = self.cluster.broker_metadata(node)
        if broker is None:
            raise errors.StaleMetadata("it is not in the metadata")
        connection = Connection(
            broker.host,
            broker.port,
            on_close=self._refresh_after,
            on_silence=self.force_metadata_update,
            **self._settings,
        )
        async with asyncio.timeout(self._connect_within_s):
            await connection.connect(self._connecting.socket_options)
        return connection

    def _refresh_after(self, _: Connection, reason: CloseReason | None) -> None:
        """The metadata may be why: the node may have gone, or lead no more."""
        if reason in {CloseReason.CONNECTION_BROKEN, CloseReason.CONNECTION_TIMEOUT}:
            self.force_metadata_update()

    async def close(self) -> None:
        """Closes all connections; ends when they are closed."""
        self._is_closed = True
        await super().close()
        if self._md_update_fut is not None and not self._md_update_fut.done():
            self._md_update_fut.set_result(False)  # who waits for it would wait for ever
        made = [each.connection for each in self._channels.values() if each.connection is not None]
        await asyncio.gather(*(each.close(CloseReason.SHUTDOWN) for each in made))

    async def send_any(self, request: Request[RequestStruct]) -> Response:
        """
        What the first node answers that does.

        Raises:
            KafkaError: the reason of the last one, or that none is known.
        """
        attempts = [
            partial(self.send, node, request, group=Traffic.METADATA)
            for node in self._in_any_order()
        ]
        return await first_success(attempts, patience_s=_NEXT_AFTER_S)

    async def coordinator_lookup(self, coordinator_type: int, coordinator_key: str) -> int:
        """
        The node that coordinates a group or a transactional id.

        Raises:
            KafkaError: no node says.
        """
        answer = await self.send_any(FindCoordinatorRequest(coordinator_key, coordinator_type))
        error = errors.for_code(answer.error_code)
        if error is not errors.NoError:
            raise error()
        return int(answer.coordinator_id)

    def _in_any_order(self) -> list[int]:
        nodes = [broker.nodeId for broker in self.cluster.brokers()]
        random.shuffle(nodes)
        return sorted(nodes, key=self._is_silent)

    def _is_silent(self, node: int) -> bool:
        return self._channels[node, Traffic.METADATA].is_silent(_NEXT_AFTER_S)

    async def ask(self, topics: Collection[str]) -> Metadata | None:
        """From any broker that answers; None if none does."""
        return await self._query_metadata(topics, patience_s=_NEXT_AFTER_S)

    async def is_alive(self) -> bool:
        """Whether any broker answers; all are asked at the same time."""
        return await self._query_metadata((), patience_s=0) is not None

    def close_connection(self, node: int, group: int) -> bool:
        """Closes a connection of one kind of traffic, if there is one; says if there was."""
        connection = self._channels[node, group].connection
        if connection is None or not connection.connected():
            return False
        connection.close()
        return True

    def close_silent(self) -> None:
        """Closes connections that owe an answer for longer than any long poll lasts."""
        for channel in self._channels.values():
            if channel.connection is not None and channel.connection.waited_s() >= SILENT_AFTER_S:
                channel.connection.close(CloseReason.CONNECTION_TIMEOUT)

    async def _query_metadata(
        self, topics: Collection[str], *, patience_s: float
    ) -> Metadata | None:
        request = MetadataRequest(topics)
        attempts = [partial(self._query_node, node, request) for node in self._in_any_order()]
        try:
            return await first_success(attempts, patience_s=patience_s)
        except (errors.KafkaError, TimeoutError):
            return None

    async def _query_node(self, node: int, request: MetadataRequest) -> Metadata:
        async with asyncio.timeout(_METADATA_WITHIN_S):
            answer: Metadata = (await self.send(node, request, group=Traffic.METADATA)).metadata
        return answer.of_brokers()

    async def _metadata_update(self, cluster_metadata: object, topics: Collection[str]) -> bool:
        await self._pause(topics)
        metadata = await self.ask(topics)
        if metadata is None:
            return False
        self._brokers = {broker.node: broker for broker in metadata.brokers}
        self._known = {topic.name: topic for topic in metadata.topics}
        self.cluster_id = metadata.cluster_id
        cluster_metadata.update_metadata(metadata.for_aiokafka())  # type: ignore[attr-defined]  # untyped
        self._close_gone()
        return True

    async def _pause(self, topics: Collection[str]) -> None:
        """Does not ask the same again at once, as aiokafka would while a topic has no leader."""
        now = asyncio.get_running_loop().time
        if self._asked == frozenset(topics or ()):
            await asyncio.sleep(self._asked_at + _SAME_AFTER_S - now())
        self._asked, self._asked_at = frozenset(topics or ()), now()

    def _close_gone(self) -> None:
        """Fails requests to silent nodes that are not in the metadata any more."""
        for (node, _), channel in self._channels.items():
            connection = channel.connection
            if connection is None or node in self._brokers:
                continue
            if connection.waited_s() > _NEXT_AFTER_S:
                connection.close(CloseReason.CONNECTION_TIMEOUT)
