"""Hands out the records of one topic, to be shown."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection

from mm2.client.client_config import ClientConfig
from mm2.core.model import TopicName
from mm2.errors import InvalidArgument
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.flow_clusters import check_reachable
from mm2.kafka.logs.log_tail import LogTail
from mm2.kafka.logs.read_log import records_to_end
from mm2.kafka.logs.records import Record


async def records_of(
    config: ClientConfig,
    topic: TopicName,
    partitions: Collection[int] = (),
    *,
    from_end: bool = False,
    follow: bool = False,
) -> AsyncGenerator[Record, None]:
    """
    Yields the records of a topic, each partition's in their order; only what is committed.

    Args:
        partitions: only these; empty for all.
        from_end: leaves out what is there already; only if followed.
        follow: goes on with what is written from now on, and never ends by itself; a cluster that
            is away is waited for.

    Raises:
        UnknownTopic: the topic is not there.
        InvalidArgument: it has no such partition.
        ClusterError: the cluster does not answer, or refuses.
    """
    await _check(config, topic, partitions)
    properties, numbers = config.client("consumer"), sorted(partitions) or None
    if follow:
        tail = LogTail(config.alias, properties, topic, partitions=numbers, from_end=from_end)
        async for record in tail:
            yield record
    else:
        async for record in records_to_end(config.alias, properties, topic, partitions=numbers):
            yield record


async def _check(config: ClientConfig, topic: TopicName, partitions: Collection[int]) -> None:
    admin = Admin(config.alias, config.client("admin"))
    try:
        await check_reachable(admin)
        found = (await admin.describe_topics([topic])).get(topic)
    finally:
        await admin.close()
    if found is None:
        raise UnknownTopic(config.alias, f"there is no topic {topic}, or we may not know of it")
    if wrong := sorted(number for number in partitions if not 0 <= number < found.partitions):
        has = f"{topic} has partitions 0 to {found.partitions - 1}"
        raise InvalidArgument(f"partition {wrong[0]}: {has}")
