"""The nodes of a cluster: which there are, who leads what, and connections to them."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace
from typing import Final

from aiokafka import errors
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import CloseReason
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.coordination import FindCoordinatorRequest

from mm2.kafka.cancelling import cancellable
from mm2.kafka.connecting import require_brokers
from mm2.kafka.wire.connection import Connection
from mm2.kafka.wire.metadata import BrokerMetadata, Metadata, MetadataRequest, TopicMetadata

_METADATA_WITHIN_S: Final = 5.0
_NEXT_AFTER_S: Final = 2.0
"""Then a question that any node can answer goes to the next one; only the last one may be slow."""

_BOOTSTRAP_STEP_MS: Final = 5000
"""Then the next bootstrap server is tried, if there is one."""

_RECONNECT_FIRST_S: Final = 0.05
_RECONNECT_MOST_S: Final = 1.0
_MOST_DOUBLINGS: Final = 10
_CONNECTION_SETTINGS: Final = (
    "client_id",
    "request_timeout_ms",
    "security_protocol",
    "ssl_context",
)


class Traffic(IntEnum):
    """
    Kinds of traffic, each with connections of its own.

    A broker answers one connection's requests in order, so a long fetch would hold up a produce;
    and a timeout closes the connection with all that is in flight on it.
    """

    METADATA = 0
    FETCH = 10
    PRODUCE = 11
    COORDINATOR = 12


@dataclass(slots=True)
class _Way:
    """One kind of traffic to one node; requests take it one by one, first come, first served."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    connection: Connection | None = None
    failures: int = 0


class NodesClient(AIOKafkaClient):
    """
    aiokafka's client with connections and metadata of our own.

    Requests of one kind reach a node in the order of the calls, also while a connection is made.
    Metadata have topic ids and leader epochs, and create nothing.

    By merely asking about them aiokafka would create topics. A remote topic deleted under us must
    not come back with the target's default partitions.
    """

    _request_timeout_ms: int

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        names = [*_CONNECTION_SETTINGS, *(name for name in settings if name.startswith("sasl_"))]
        self._settings = {name: settings[name] for name in names if name in settings}
        if "connections_max_idle_ms" in settings:
            self._settings["max_idle_ms"] = settings["connections_max_idle_ms"]
        if len(self.hosts) > 1:
            # Only of bootstrapping: our own connections have the time that the settings say.
            self._request_timeout_ms = min(self._request_timeout_ms, _BOOTSTRAP_STEP_MS)
        self._ways: defaultdict[tuple[int, int], _Way] = defaultdict(_Way)
        self._brokers: Mapping[int, BrokerMetadata] = {}
        self._known: Mapping[str, TopicMetadata] = {}

    async def bootstrap(self) -> None:
        """
        Connects to the first bootstrap server that answers.

        Raises:
            KafkaConnectionError: none does, or it knows of no broker that serves.
        """
        await super().bootstrap()
        try:
            require_brokers(self)
        except errors.KafkaConnectionError:
            await cancellable(self.close())
            raise

    def topic(self, name: str) -> TopicMetadata | None:
        """A tracked topic as of the last refresh."""
        return self._known.get(name)

    def broker(self, node: int) -> BrokerMetadata | None:
        """A broker as of the last refresh."""
        return self._brokers.get(node)

    async def send(
        self, node_id: int, request: Request[RequestStruct], *, group: int = Traffic.METADATA
    ) -> Response:
        """
        Sends a request to a node and gives back what it answers.

        Raises:
            KafkaError: there is no connection, or it broke, or nothing was answered in time.
        """
        way = self._ways[node_id, group]
        async with way.turn:
            connection = await self._ready(way, node_id, group)
            answer = connection.send(request)
        try:
            return await answer
        except TimeoutError as error:
            connection.close(CloseReason.CONNECTION_TIMEOUT)
            raise errors.RequestTimedOutError(f"broker {node_id} does not answer") from error

    async def _ready(self, way: _Way, node: int, group: int) -> Connection:
        """The node's connection, made or renewed if need be."""
        try:
            if way.connection is None or not way.connection.connected():
                await self._back_off(way)
                way.connection = await self._connected(node)
                self._conns[node, group] = way.connection
            elif way.connection.must_renew:
                await way.connection.renew()
        except (OSError, TimeoutError, errors.KafkaError) as error:
            way.failures += 1
            self.force_metadata_update()
            reason = str(error) or type(error).__name__
            raise errors.NodeNotReadyError(f"broker {node} is not ready: {reason}") from error
        way.failures = 0
        return way.connection

    @staticmethod
    async def _back_off(way: _Way) -> None:
        if way.failures:
            most_s = min(
                _RECONNECT_FIRST_S * 2 ** min(way.failures - 1, _MOST_DOUBLINGS), _RECONNECT_MOST_S
            )
            await asyncio.sleep(most_s * random.uniform(0.8, 1.2))  # noqa: S311 - no secret

    async def _connected(self, node: int) -> Connection:
        broker = self.cluster.broker_metadata(node)
        if broker is None:
            raise errors.StaleMetadata("it is not in the metadata")
        connection = Connection(
            broker.host, broker.port, on_close=self._on_connection_closed, **self._settings
        )
        await connection.connect()
        return connection

    async def send_any(self, request: Request[RequestStruct]) -> Response:
        """
        What any node answers: one after the other is asked, until one does.

        Raises:
            KafkaError: the reason of the last one, or that none is known.
        """
        nodes = self._in_any_order()
        failure: errors.KafkaError = errors.NodeNotReadyError("no broker is known")
        for node in nodes:
            try:
                async with asyncio.timeout(None if node == nodes[-1] else _NEXT_AFTER_S):
                    return await self.send(node, request, group=Traffic.METADATA)
            except TimeoutError:
                failure = errors.RequestTimedOutError(f"broker {node} does not answer")
            except errors.KafkaError as error:
                failure = error
        raise failure

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
        return nodes

    async def ask(self, topics: Collection[str]) -> Metadata | None:
        """Metadata of these topics from any broker that answers; None if none does."""
        request = MetadataRequest(topics)
        for node in self._in_any_order():
            try:
                async with asyncio.timeout(_METADATA_WITHIN_S):
                    response = await self.send(node, request, group=Traffic.METADATA)
            except (errors.KafkaError, TimeoutError):
                continue
            metadata: Metadata = response.metadata
            if metadata.brokers:
                return metadata
        return None

    async def _metadata_update(self, cluster_metadata: object, topics: Collection[str]) -> bool:
        metadata = await self.ask(topics)
        if metadata is None:
            return False
        self._brokers = {broker.node: broker for broker in metadata.brokers}
        self._known = {topic.name: topic for topic in metadata.topics}
        cluster_metadata.update_metadata(_in_aiokafkas_words(metadata))  # type: ignore[attr-defined]  # untyped
        return True


def _in_aiokafkas_words(metadata: Metadata) -> object:
    """The fields of a MetadataResponse that aiokafka's ``ClusterMetadata`` reads."""
    return SimpleNamespace(
        API_VERSION=1,
        brokers=[(b.node, b.host, b.port, b.rack or None) for b in metadata.brokers],
        controller_id=metadata.controller,
        topics=[
            (
                topic.error,
                topic.name,
                topic.is_internal,
                [
                    (p.error, p.partition, p.leader, list(p.replicas), list(p.in_sync))
                    for p in topic.partitions.values()
                ],
            )
            for topic in metadata.topics
        ],
    )
