"""A cluster as the data plane sees it: leaders, fetches, produces, coordinators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiokafka import errors
from aiokafka.client import CoordinationType

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import AuthenticationFailed, NotAuthorized, Unavailable
from mm2.kafka.wire.error_codes import SESSION_LOST, Code, code_name
from mm2.kafka.wire.node_channel import Traffic, connection_arguments
from mm2.kafka.wire.nodes import NodesClient
from mm2.kafka.wire.requests.configs import (
    broker_settings_request,
    settings_of,
    settings_request,
)
from mm2.kafka.wire.requests.epoch_ends import EpochEnd, EpochEndsRequest
from mm2.kafka.wire.requests.fetch import FetchAnswer, FetchRequest, NoTopicIds
from mm2.kafka.wire.requests.list_offsets import ListOffsetsRequest
from mm2.kafka.wire.requests.metadata import BrokerMetadata, PartitionMetadata, TopicMetadata
from mm2.kafka.wire.requests.produce import ProduceAnswer, ProduceRequest
from mm2.kafka.wire.throttle import Throttle


class WireClient:
    """
    Talks to one cluster; calls raise ``Unavailable`` if there is no answer.

    Args:
        settings: keyword arguments of aiokafka's client (``mm2.kafka.client_settings``).

    Attributes:
        throttle: knows which brokers want nothing to be sent for some time.
        request_timeout_ms: how long an answer may take.
    """

    def __init__(self, alias: str, settings: Mapping[str, Any]) -> None:
        self.alias = alias
        self.throttle = Throttle(alias)
        self.request_timeout_ms: int = connection_arguments(settings)["request_timeout_ms"]
        self._translated = _Translation(alias)
        self._client = NodesClient(**settings)
        self._topics: frozenset[str] = frozenset()

    async def start(self) -> None:
        """
        Connects to the first bootstrap server that answers.

        Raises:
            AuthenticationFailed: one does, and refuses our credentials.
        """
        with self._translated:
            await self._client.bootstrap()

    async def close(self) -> None:
        """Closes all connections."""
        await self._client.close()

    async def track(self, topics: Iterable[str]) -> None:
        """Keeps metadata of these topics, and no others, up to date from now on."""
        self._topics = frozenset(topics)
        with self._translated:
            self._client.set_topics(self._topics)
            await self._client.force_metadata_update()

    @property
    def tracked(self) -> frozenset[str]:
        """The topics whose metadata are kept up to date."""
        return self._topics

    async def refresh(self) -> None:
        """Asks for the leaders anew, in the end by way of the bootstrap servers."""
        with self._translated:
            if not await self._client.force_metadata_update():
                # No broker that we know of answers: they may have moved (KIP-899, KIP-1102).
                await self._client.bootstrap()

    @property
    def cluster_id(self) -> str:
        """Kafka's id of the cluster; empty if no broker has told any."""
        return self._client.cluster_id

    def leader(self, partition: TopicPartition) -> int | None:
        """The node that leads a tracked partition; None while nobody is known to."""
        node = self._client.cluster.leader_for_partition(partition)
        return None if node is None or node < 0 else int(node)

    def topic(self, name: str) -> TopicMetadata | None:
        """A tracked topic as of the last refresh, its id and its errors; None if not yet known."""
        return self._client.topic(name)

    def partitions_of(self, topic: str) -> int:
        """How many partitions a tracked topic has as of the last refresh; 0 if not known."""
        found = self._client.topic(topic)
        return 0 if found is None else len(found.partitions)

    def partition(self, partition: TopicPartition) -> PartitionMetadata | None:
        """A tracked partition as of the last refresh, with its leader epoch."""
        topic = self._client.topic(partition.topic)
        return None if topic is None else topic.partitions.get(partition.partition)

    def broker(self, node: int) -> BrokerMetadata | None:
        """A broker as of the last refresh, with its rack."""
        return self._client.broker(node)

    def any_node(self) -> int:
        """A broker to ask what all of them know."""
        node = self._client.get_random_node()
        if node is None:
            raise Unavailable(self.alias, "no broker is known")
        return int(node)

    async def describe(self, topics: Iterable[str]) -> dict[str, TopicMetadata]:
        """Asks a broker about topics, tracked or not; each is answered, if with an error."""
        with self._translated:
            metadata = await self._client.ask(list(topics))
        if metadata is None:
            raise Unavailable(self.alias, "no broker answers")
        return {topic.name: topic for topic in metadata.topics}

    async def epoch_ends(
        self, epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEnd]:
        """
        Where leader epochs end in the logs of tracked partitions (OffsetForLeaderEpoch, KIP-320).

        Partitions whose leader is unknown are left out; others may answer with an error.
        """
        by_node: dict[int, dict[str, list[tuple[int, int, int]]]] = {}
        for partition, epoch in epochs.items():
            node = self.leader(partition)
            if node is not None:
                asked = by_node.setdefault(node, {}).setdefault(partition.topic, [])
                asked.append((partition.partition, -1, epoch))
        found: dict[TopicPartition, EpochEnd] = {}
        for node, topics in by_node.items():
            with self._translated:
                response = await self._client.send(
                    node, EpochEndsRequest(topics), group=Traffic.COORDINATOR
                )
            for end in response.ends:
                found[TopicPartition(TopicName(end.topic), end.partition)] = end
        return found

    async def topic_settings(
        self, topics: Iterable[str], names: Sequence[str]
    ) -> dict[str, dict[str, str]]:
        """Some settings of topics; topics whose settings we may not see are left out."""
        with self._translated:
            response = await self._client.send(
                self.any_node(), settings_request(topics, names), group=Traffic.COORDINATOR
            )
        return settings_of(response)

    async def broker_settings(self, names: Sequence[str]) -> dict[str, str]:
        """Some settings of any broker; none if we may not see them."""
        node = self.any_node()
        answer = await self.ask(node, broker_settings_request(node, names))
        return settings_of(answer).get(str(node), {})

    async def fetch(self, node: int, request: FetchRequest) -> FetchAnswer:
        """
        One Fetch from one broker; of errors of the whole request it tells a lost session only.

        Raises:
            NoTopicIds: the request names topics by ids, which this broker does not know.
            Unavailable: no answer, or another error of the whole request.
        """
        with self._translated:
            try:
                response = await self._client.send(node, request, group=Traffic.FETCH)
            except errors.IncompatibleBrokerVersion as error:
                raise NoTopicIds(self.alias, f"broker {node}: {error}") from error
        answer: FetchAnswer = response.answer
        self.throttle.answered(node, answer.throttle_ms)
        if answer.error and answer.error not in SESSION_LOST:
            raise Unavailable(self.alias, f"broker {node} answers {code_name(answer.error)}")
        return answer

    def end_fetch(self, node: int) -> bool:
        """Ends a broker's fetch, by closing its connection; says if there was a connection."""
        return self._client.close_connection(node, Traffic.FETCH)

    async def produce(
        self,
        node: int,
        batches: Iterable[tuple[str, int, bytes | bytearray]],
        *,
        timeout_ms: int,
        transactional_id: str | None = None,
    ) -> ProduceAnswer:
        """
        One Produce to one broker; calls begun one after the other arrive in that order.

        Raises:
            Unavailable: no answer; the batches may or may not have been written.
        """
        request = ProduceRequest(
            timeout_ms=timeout_ms, batches=batches, transactional_id=transactional_id
        )
        with self._translated:
            response = await self._client.send(node, request, group=Traffic.PRODUCE)
        answer: ProduceAnswer = response.answer
        self.throttle.answered(node, answer.throttle_ms)
        return answer

    async def list_offsets(
        self,
        partitions: Iterable[TopicPartition],
        timestamp_ms: int,
        *,
        read_committed: bool = False,
    ) -> dict[TopicPartition, int]:
        """
        Offsets of tracked partitions at a time, at ``EARLIEST`` or at ``LATEST``.

        Partitions whose leader is unknown or answers with an error are left out: ask again.
        """
        by_node: dict[int, dict[str, list[int]]] = {}
        for partition in partitions:
            node = self.leader(partition)
            if node is not None:
                topics = by_node.setdefault(node, {})
                topics.setdefault(partition.topic, []).append(partition.partition)
        found: dict[TopicPartition, int] = {}
        for node, topics in by_node.items():
            request = ListOffsetsRequest(topics, timestamp_ms, read_committed=read_committed)
            with self._translated:
                response = await self._client.send(node, request, group=Traffic.COORDINATOR)
            for each in response.found:
                if each.error == Code.NONE:
                    found[TopicPartition(TopicName(each.topic), each.partition)] = each.offset
        return found

    async def coordinator(self, kind: CoordinationType, key: str) -> int:
        """
        The node that coordinates a group or a transactional id.

        Raises:
            Unavailable: no answer, or nobody does just now.
            NotAuthorized: we may not use it.
        """
        with self._translated:
            return int(await self._client.coordinator_lookup(kind, key))

    async def ask(self, node: int, request: object) -> Any:
        """What a node answers to any request, on the connection for coordinators."""
        with self._translated:
            return await self._client.send(node, request, group=Traffic.COORDINATOR)


class _Translation:
    """Turns aiokafka's errors into ours; entered for each request, so that it has to be quick."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, _: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, errors.AuthenticationFailedError):
            raise AuthenticationFailed(self._alias, str(error)) from error
        if isinstance(error, errors.TransactionalIdAuthorizationFailed):
            raise NotAuthorized(self._alias, str(error)) from error
        if isinstance(error, (TimeoutError, errors.KafkaError, OSError)):
            raise Unavailable(self._alias, str(error) or type(error).__name__) from error
