"""What real brokers say of topics, leaders and leader epochs."""

from __future__ import annotations

import asyncio

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.admin import Admin
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.epoch_ends import EpochEnd
from tests.support.batches import Plain, write_batch
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.raw import wire, write
from tests.support.records import create_topic

pytestmark = pytest.mark.broker


async def test_a_topic_that_was_created_again_has_another_id(
    cluster_a: Cluster, topic_name: str
) -> None:
    name = TopicName(topic_name)
    admin = Admin("A", {"bootstrap.servers": cluster_a.bootstrap})
    create_topic(cluster_a.bootstrap, topic_name, 2)
    async with wire(cluster_a.bootstrap, topic_name) as client:

        async def led() -> bool:
            await client.refresh()
            return None not in {client.leader(TopicPartition(name, n)) for n in range(2)}

        await eventually_async(led)
        first = client.topic(topic_name)
        assert first is not None
        assert sorted(first.partitions) == [0, 1]
        assert first.topic_id is not None
        assert (await client.describe([topic_name])) == {topic_name: first}
        await admin.delete_topics([name])

        async def code() -> int:
            await client.refresh()
            topic = client.topic(topic_name)
            assert topic is not None
            return topic.error

        await eventually_async(code, until=lambda error: error == Code.UNKNOWN_TOPIC_OR_PARTITION)
        create_topic(cluster_a.bootstrap, topic_name, 1)
        await eventually_async(code, until=lambda error: error == Code.NONE)
        second = client.topic(topic_name)
        assert second is not None
        assert second.topic_id not in (None, first.topic_id)
    await admin.close()


async def test_brokers_know_where_leader_epochs_end(cluster_a: Cluster, topic_name: str) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    batch = write_batch([Plain(value=b"v"), Plain(offset=1)])
    await asyncio.to_thread(write, cluster_a.bootstrap, topic_name, batch)
    where = TopicPartition(TopicName(topic_name), 0)
    async with wire(cluster_a.bootstrap, topic_name) as client:
        partition, leader = client.partition(where), client.leader(where)
        assert partition is not None
        assert leader is not None
        assert partition.leader_epoch == 0
        assert partition.replicas == partition.in_sync == (leader,)
        assert (await client.epoch_ends({where: 0}))[where] == EpochEnd(topic_name, 0, 0, 0, 2)
        # An epoch that has not begun yet.
        assert (await client.epoch_ends({where: 7}))[where] == EpochEnd(topic_name, 0, 0, -1, -1)
        broker = client.broker(leader)
        assert broker is not None
        assert cluster_a.bootstrap.endswith(f"{broker.host}:{broker.port}")
