"""
Looks at settings of topics, and alters them one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any

from mm2.core.model import TopicName
from mm2.core.topics.remote_configs import AlterConfig, ConfigEntry
from mm2.errors import ClusterError
from mm2.kafka.client_errors import NotSupported, UnknownTopic, raise_first
from mm2.kafka.conversions import (
    NAMES_PER_REQUEST,
    alteration_resource,
    chunks,
    config_entries,
    topic_resource,
)
from mm2.kafka.librdkafka_admin import LibrdkafkaAdmin


async def topic_configs(
    calls: LibrdkafkaAdmin, topics: Iterable[TopicName]
) -> dict[TopicName, list[ConfigEntry]]:
    """
    All settings of the topics, with where each comes from; topics that are gone are left out.

    Raises:
        ClusterError: the first failure.
    """
    found: dict[TopicName, list[ConfigEntry]] = {}
    for names in chunks(sorted(topics), NAMES_PER_REQUEST):
        found |= await _described(calls, names)
    return found


async def _described(
    calls: LibrdkafkaAdmin, names: list[TopicName]
) -> dict[TopicName, list[ConfigEntry]]:
    resources = [topic_resource(name) for name in names]
    described, failures = await calls.many(
        "describe settings of",
        lambda c: c.describe_configs(resources, request_timeout=calls.timeout_s),
    )
    raise_first(failures.values(), unless=UnknownTopic)
    return {TopicName(key.name): config_entries(each) for key, each in described.items()}


async def alter_topic_configs(
    calls: LibrdkafkaAdmin, changes: Iterable[AlterConfig]
) -> dict[TopicName, ClusterError]:
    """
    Sets and deletes settings of topics, leaving all others; returns what failed, by topic.

    Raises:
        NotSupported: the cluster is older than this operation (C183).
    """
    by_topic = groupby(sorted(changes, key=attrgetter("topic")), key=attrgetter("topic"))
    resources = [alteration_resource(topic, each) for topic, each in by_topic]
    failed: dict[TopicName, ClusterError] = {}
    for some in chunks(resources, NAMES_PER_REQUEST):
        failed |= await _altered(calls, some)
    for error in failed.values():
        if isinstance(error, NotSupported):
            raise error
    return failed


async def _altered(calls: LibrdkafkaAdmin, resources: list[Any]) -> dict[TopicName, ClusterError]:
    _, failures = await calls.many(
        "alter settings of",
        lambda c: c.incremental_alter_configs(resources, request_timeout=calls.timeout_s),
    )
    return {TopicName(resource.name): error for resource, error in failures.items()}
