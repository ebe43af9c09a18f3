"""The nodes of a cluster: which there are, who leads what, and connections to them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Mapping
from enum import IntEnum
from types import SimpleNamespace
from typing import Final

from aiokafka import errors
from aiokafka.client import AIOKafkaClient

from mm2.kafka.wire.metadata import BrokerMetadata, Metadata, MetadataRequest, TopicMetadata

_METADATA_WITHIN_S: Final = 5.0


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


class NodesClient(AIOKafkaClient):
    """
    aiokafka's client with metadata of our own: topic ids and leader epochs, and it creates nothing.

    By merely asking about them aiokafka would create topics. A remote topic deleted under us must
    not come back with the target's default partitions.
    """

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self._brokers: Mapping[int, BrokerMetadata] = {}
        self._known: Mapping[str, TopicMetadata] = {}

    def topic(self, name: str) -> TopicMetadata | None:
        """A tracked topic as of the last refresh."""
        return self._known.get(name)

    def broker(self, node: int) -> BrokerMetadata | None:
        """A broker as of the last refresh."""
        return self._brokers.get(node)

    async def ask(self, topics: Collection[str]) -> Metadata | None:
        """Metadata of these topics from any broker that answers; None if none does."""
        request = MetadataRequest(topics)
        nodes = [broker.nodeId for broker in self.cluster.brokers()]
        random.shuffle(nodes)
        for node in nodes:
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
