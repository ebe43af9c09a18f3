"""
What clients are told of the cluster: its brokers, the instances as more of them, and its topics.

A client asks any broker that it knows of for the coordinator of its group. A broker of the cluster
would name the cluster's own, and the group's offsets would be in two places. So clients are told
that each broker is where an instance is, which forwards what only the broker can answer.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from mm2.core.model import TopicPartition
from mm2.core.offset_manager.ensemble import Ensemble
from mm2.kafka.chunks import NAMES_PER_REQUEST, chunks
from mm2.kafka.wire.requests.metadata import (
    BrokerMetadata,
    Metadata,
    MetadataRequest,
    PartitionMetadata,
    TopicMetadata,
)
from mm2.kafka.wire.requests.topic_names import TopicNamesRequest, TopicNamesResponse

Ask = Callable[[object], Awaitable[Any]]
"""Sends a request to any broker, on behalf of a client."""

_KNOWN_S: Final = 2.0
"""So long leaders are taken to be what they were; clients ask again when they have changed."""

_MOST_TOPICS: Final = 10_000
"""Whose leaders are remembered."""


class ClusterView:
    """The cluster as clients are shown it, and who leads which partition."""

    def __init__(self) -> None:
        self._leaders: dict[str, tuple[float, Mapping[int, int]]] = {}
        self._brokers: Mapping[int, BrokerMetadata] = {}

    async def metadata_answer(
        self, ask: Ask, ensemble: Ensemble, topics: Iterable[str] | None
    ) -> Mapping[str, Any]:
        """
        The answer to a Metadata request.

        Args:
            ask: asks the cluster.
            ensemble: the instances.
            topics: that are asked about; None: all.

        Raises:
            ClusterError: the cluster does not answer.
        """
        names = await _all_topics(ask) if topics is None else list(dict.fromkeys(topics))
        parts = [
            await self._metadata(ask, part)
            for part in list(chunks(names, NAMES_PER_REQUEST)) or [[]]
        ]
        return {
            "brokers": _nodes(parts[0].brokers, ensemble),
            "cluster_id": parts[0].cluster_id or None,
            "controller_id": -1,
            "topics": [_topic(topic) for part in parts for topic in part.topics],
        }

    async def leader(self, ask: Ask, where: TopicPartition) -> BrokerMetadata | None:
        """
        The broker that leads a partition; None if nobody does, or is known to.

        Raises:
            ClusterError: the cluster does not answer.
        """
        asked_at, leaders = self._leaders.get(where.topic, (float("-inf"), {}))
        if time.monotonic() - asked_at > _KNOWN_S:
            await self._metadata(ask, [where.topic])
            _, leaders = self._leaders.get(where.topic, (0.0, {}))
        return self._brokers.get(leaders.get(where.partition, -1))

    async def any_broker(self, ask: Ask) -> BrokerMetadata | None:
        """
        A broker that is there; None if none is.

        Raises:
            ClusterError: the cluster does not answer.
        """
        await self._metadata(ask, [])
        brokers = list(self._brokers.values())
        return random.choice(brokers) if brokers else None  # noqa: S311 - no secret

    async def _metadata(self, ask: Ask, topics: Sequence[str]) -> Metadata:
        metadata: Metadata = (await ask(MetadataRequest(topics))).metadata
        now = time.monotonic()
        self._brokers = {each.node: each for each in metadata.brokers}
        if len(self._leaders) > _MOST_TOPICS:
            self._leaders.clear()
        for topic in metadata.topics:
            if not topic.error:
                leaders = {each.partition: each.leader for each in topic.partitions.values()}
                self._leaders[topic.name] = now, leaders
        return metadata


async def _all_topics(ask: Ask) -> list[str]:
    answer: TopicNamesResponse = await ask(TopicNamesRequest())
    return sorted(await asyncio.to_thread(answer.names))


def _nodes(brokers: Iterable[BrokerMetadata], ensemble: Ensemble) -> list[Mapping[str, Any]]:
    """The brokers, each where an instance is, and the instances, which are coordinators."""
    reached = [(each.node, ensemble.host_of(each.node)) for each in brokers]
    instances = [(each.node, each) for each in ensemble.instances if each.host]
    return [
        {"node_id": node, "host": at.host, "port": at.port, "rack": None}
        for node, at in [*reached, *instances]
        if at is not None
    ]


def _topic(topic: TopicMetadata) -> Mapping[str, Any]:
    return {
        "error_code": topic.error,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "partitions": [_partition(each) for each in topic.partitions.values()],
    }


def _partition(partition: PartitionMetadata) -> Mapping[str, Any]:
    return {
        "error_code": partition.error,
        "partition_index": partition.partition,
        "leader_id": partition.leader,
        "leader_epoch": partition.leader_epoch,
        "replica_nodes": partition.replicas,
        "isr_nodes": partition.in_sync,
    }
