"""Topics as a cluster describes them, and taking them away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from mm2.core.model import ClusterAlias, TopicName
from mm2.core.topics.acls import AclBinding
from mm2.kafka.admin import Admin
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.records import create_topic


def partition_counts(cluster: Cluster) -> dict[str, int]:
    """The names of all topics, with how many partitions they have."""
    topics = _admin(cluster).list_topics(timeout=PATIENCE_S).topics
    return {name: len(topic.partitions) for name, topic in topics.items()}


def settings_of(cluster: Cluster, topic: str) -> dict[str, str]:
    """All settings of a topic, also those that are defaults."""
    # The client must live until it has answered.
    admin = _admin(cluster)
    (future,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    return {name: entry.value for name, entry in future.result(PATIENCE_S).items()}


def set_topic(cluster: Cluster, topic: str, name: str, value: str) -> None:
    """Changes a setting of a topic, and waits until the brokers know of it."""
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = _admin(cluster)
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    eventually(lambda: settings_of(cluster, topic)[name] == value)


def delete_before(cluster: Cluster, topic: str, offset: int) -> None:
    """Deletes the first records of partition 0."""
    admin = _admin(cluster)
    (future,) = admin.delete_records([TopicPartition(topic, 0, offset)]).values()
    future.result(PATIENCE_S)


def topic_id(cluster: Cluster, topic: str) -> object:
    """What tells a topic from an earlier one of its name; None if there is none."""

    async def ask() -> object:
        async with asking(cluster) as admin:
            return (await admin.topic_ids([TopicName(topic)])).get(TopicName(topic))

    return asyncio.run(ask())


def delete_topic(cluster: Cluster, topic: str) -> None:
    """Deletes a topic, and waits until the cluster does not know it any more."""
    admin = _admin(cluster)
    admin.delete_topics([topic])[topic].result(PATIENCE_S)
    eventually(lambda: topic not in admin.list_topics(timeout=PATIENCE_S).topics)


def recreate_topic(cluster: Cluster, topic: str, partitions: int = 1) -> None:
    """Deletes a topic, and makes another one of its name."""
    delete_topic(cluster, topic)
    create_topic(cluster.bootstrap, topic, partitions)


def delete_all_topics(cluster: Cluster) -> None:
    """Deletes all topics but the brokers' own, and does not wait."""
    admin = _admin(cluster)
    names = [name for name in admin.list_topics(timeout=PATIENCE_S).topics if name[:2] != "__"]
    for deleted in admin.delete_topics(names).values() if names else ():
        deleted.result(PATIENCE_S)


def _admin(cluster: Cluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap})


def allow(cluster: Cluster, rule: AclBinding) -> None:
    """Creates an ACL, and waits until the brokers know of it."""

    async def create() -> None:
        async with asking(cluster) as admin:
            assert await admin.create_acls([rule]) == {}

    asyncio.run(create())
    eventually(lambda: rule in topic_acls(cluster))


def topic_acls(cluster: Cluster) -> set[AclBinding]:
    """All ACLs about topics."""

    async def ask() -> set[AclBinding]:
        async with asking(cluster) as admin:
            return set(await admin.describe_topic_acls())

    return asyncio.run(ask())


@asynccontextmanager
async def asking(cluster: Cluster) -> AsyncIterator[Admin]:
    """Our own admin client."""
    admin = Admin(ClusterAlias(cluster.name), {"bootstrap.servers": cluster.bootstrap})
    try:
        yield admin
    finally:
        await admin.close()
