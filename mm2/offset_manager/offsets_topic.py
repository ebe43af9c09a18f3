"""The topic that holds the offsets: created once, and never with another number of partitions."""

from __future__ import annotations

from typing import Final

import stamina

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.core.model import TopicName
from mm2.errors import ClusterError, FatalError
from mm2.kafka.admin import Admin
from mm2.kafka.cleanup_policy import CLEANUP_POLICY, COMPACT, cleanup_policy
from mm2.kafka.client_errors import UnknownTopic, needs_more_brokers

_SEEN_WITHIN_S: Final = 30.0
"""How long a topic that was created just now may take to be known to all brokers."""

_REPLICAS: Final = "offsets.topic.replication.factor"


async def prepare_topic(admin: Admin, settings: OffsetManagerSettings) -> None:
    """
    Creates the topic, unless it is there.

    Raises:
        FatalError: it cannot be created as it should be, has another number of partitions, or
            would lose offsets after a while.
        ClusterError: the cluster does not answer, or refuses us.
    """
    if await _partitions(admin, settings) is None:
        await _create(admin, settings)
    async for attempt in stamina.retry_context(
        on=UnknownTopic, attempts=None, timeout=_SEEN_WITHIN_S, wait_initial=0.1, wait_max=1.0
    ):
        with attempt:
            await check_topic(admin, settings)
    policy = await cleanup_policy(admin, TopicName(settings.topic))
    if policy not in {None, COMPACT}:
        raise FatalError(
            f"The offsets topic {settings.topic} has {CLEANUP_POLICY}={policy}, so that offsets "
            f"would be gone after a while. Set {CLEANUP_POLICY}={COMPACT}, or name a topic that is "
            "not there yet in offsets.topic.name."
        )


async def check_topic(admin: Admin, settings: OffsetManagerSettings) -> None:
    """
    Looks whether the topic is as it was.

    Raises:
        FatalError: it has another number of partitions.
        UnknownTopic: the broker that was asked does not know it, or not yet.
        ClusterError: the cluster does not answer, or refuses us.
    """
    found = await _partitions(admin, settings)
    if found == settings.partitions:
        return
    if found is None:
        raise UnknownTopic(admin.alias, f"there is no topic {settings.topic}")
    raise FatalError(
        f"The offsets topic {settings.topic} has {found} partitions, and "
        f"offsets.topic.num.partitions is {settings.partitions}: groups would be looked for where "
        "their offsets are not. Set the key to the number with which the topic was created; if the "
        "topic has been given more partitions since, name a new one in offsets.topic.name."
    )


async def _partitions(admin: Admin, settings: OffsetManagerSettings) -> int | None:
    found = await admin.describe_topics([TopicName(settings.topic)])
    description = found.get(TopicName(settings.topic))
    return None if description is None else description.partitions


async def _create(admin: Admin, settings: OffsetManagerSettings) -> None:
    try:
        await admin.create_internal_topic(
            settings.topic,
            partitions=settings.partitions,
            replication_factor=settings.replicas,
            configs=settings.topic_configs,
        )
    except ClusterError as error:
        if not needs_more_brokers(error):
            raise
        raise FatalError(
            f"The offsets topic {settings.topic} cannot have {settings.replicas} replicas: the "
            f"cluster has fewer brokers. Set {_REPLICAS} to their number or less."
        ) from error
