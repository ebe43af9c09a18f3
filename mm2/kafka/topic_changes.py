"""Creates, grows and deletes topics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from aiokafka.protocol.admin import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)

from mm2.core.model import TopicName
from mm2.core.topics.topic_plan import CreateTopic, GrowTopic
from mm2.errors import ClusterError
from mm2.kafka.changes import MOST_MS, Outcome, change
from mm2.kafka.chunks import (
    METADATA_RECORDS_PER_REQUEST,
    NAMES_PER_REQUEST,
    chunks,
    weighed_chunks,
)
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.cluster_client import ClusterClient

TopicFailures = dict[TopicName, ClusterError]


async def create_topics(
    link: ClusterClient, topics: Iterable[CreateTopic], timeout_s: float, *, validate_only: bool
) -> TopicFailures:
    """Creates topics; returns what failed, by name. One that exists is a ``TopicExists``."""
    wanted = {topic.name: topic for topic in topics}
    failed: TopicFailures = {}
    for part in weighed_chunks(wanted.values(), METADATA_RECORDS_PER_REQUEST, _records):
        # Brokers put in their defaults for -1, whatever the version of the request (KIP-464).
        rows: list[Any] = [
            (each.name, each.partitions, each.replication_factor, [], list(each.configs.items()))
            for each in part
        ]
        request = CreateTopicsRequest(rows, MOST_MS, validate_only)
        names = [each.name for each in part]
        failed |= await change(link, "create topic", names, request, _topics, within_s=timeout_s)
    return failed


async def create_partitions(
    link: ClusterClient, topics: Iterable[GrowTopic], timeout_s: float, *, validate_only: bool
) -> TopicFailures:
    """Gives topics more partitions; returns what failed, by name."""
    wanted = {topic.name: topic for topic in topics}
    failed: TopicFailures = {}
    for part in weighed_chunks(wanted.values(), METADATA_RECORDS_PER_REQUEST, _partitions):
        rows = [(each.name, (each.partitions, None)) for each in part]
        request = CreatePartitionsRequest(rows, MOST_MS, validate_only=validate_only)
        names = [each.name for each in part]
        failed |= await change(
            link, "add partitions to", names, request, _topics, within_s=timeout_s
        )
    return failed


async def delete_topics(
    link: ClusterClient, names: Collection[TopicName], timeout_s: float
) -> TopicFailures:
    """Deletes topics; returns what failed, by name. One that does not exist is no failure."""
    failed: TopicFailures = {}
    for part in chunks(names, NAMES_PER_REQUEST):
        request = DeleteTopicsRequest(part, MOST_MS)
        failed |= await change(link, "delete topic", part, request, _deleted, within_s=timeout_s)
    return {name: error for name, error in failed.items() if not isinstance(error, UnknownTopic)}


def _records(topic: CreateTopic) -> int:
    """Of the metadata log, that a new topic makes."""
    return 1 + topic.partitions + len(topic.configs)


def _partitions(topic: GrowTopic) -> int:
    return topic.partitions


def _topics(answer: Any) -> Iterator[Outcome[TopicName]]:
    for name, code, message in answer.topic_errors:
        yield TopicName(name), code, message


def _deleted(answer: Any) -> Iterator[Outcome[TopicName]]:
    for name, code in answer.topic_error_codes:
        yield TopicName(name), code, None
