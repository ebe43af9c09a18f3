"""
Creates topics on the target with the settings that it accepts, and gives them more partitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import structlog

from mm2.core.model import TopicName
from mm2.core.topics.topic_plan import CreateTopic, GrowTopic
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import Refused
from mm2.kafka.wire.error_codes import Code

log = structlog.get_logger()


async def grow_topics(admin: Admin, topics: Iterable[GrowTopic]) -> dict[TopicName, ClusterError]:
    """
    Gives topics more partitions; returns what failed, by name.

    A topic that has as many by now is no failure: somebody else was faster (C170).
    """
    failures = await admin.create_partitions(topics)
    return {
        name: error
        for name, error in failures.items()
        if not (isinstance(error, Refused) and error.code == Code.INVALID_PARTITIONS.name)
    }


async def create_topics(
    admin: Admin, topics: Iterable[CreateTopic]
) -> dict[TopicName, ClusterError]:
    """Creates topics without the settings that the cluster refuses; returns what failed by name."""
    wanted = {topic.name: topic for topic in topics}
    failures = await admin.create_topics(wanted.values())
    for name, error in list(failures.items()):
        if isinstance(error, Refused) and wanted[name].configs:
            del failures[name]
            failures |= await _create_with_what_is_accepted(admin, wanted[name])
    return failures


async def _create_with_what_is_accepted(
    admin: Admin, topic: CreateTopic
) -> dict[TopicName, ClusterError]:
    """Creates a topic that was refused; fails if that was not for single settings."""
    if failures := await admin.create_topics([replace(topic, configs={})], validate_only=True):
        return failures
    refused = await refused_settings(admin, topic)
    for key, error in refused.items():
        value = topic.configs[key]
        log.warning(
            "topic_config.not_synced", topic=topic.name, key=key, value=value, error=str(error)
        )
    accepted = {key: value for key, value in topic.configs.items() if key not in refused}
    return await admin.create_topics([replace(topic, configs=accepted)])


async def refused_settings(admin: Admin, topic: CreateTopic) -> dict[str, ClusterError]:
    """The settings with which a cluster would not create a topic, each by itself; creates none."""
    found = {}
    for key, value in topic.configs.items():
        alone = replace(topic, configs={key: value})
        if error := (await admin.create_topics([alone], validate_only=True)).get(topic.name):
            found[key] = error
    return found
