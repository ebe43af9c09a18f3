"""Stock clients that know the instances alone, and read records and keep offsets through them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AsyncPartition
from confluent_kafka import OFFSET_STORED, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.cluster import KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.offset_manager import (
    ServedInstance,
    commit,
    committed,
    consumer,
    served,
    until_all_serve,
)
from tests.support.providers import PATIENT
from tests.support.records import create_topic, numbered, produce

pytestmark = pytest.mark.broker

PARTITIONS = 4
RECORDS = 40


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    """Two brokers, so that requests have to reach the right one."""
    with KafkaCluster("offsets", brokers=2, properties=PATIENT) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def started(cluster: KafkaCluster) -> Iterator[list[ServedInstance]]:
    settings = {
        "offsets.topic.name": "kept-offsets",
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": "2",
    }
    with served(cluster.bootstrap, settings, 2) as instances:
        yield instances


@pytest.fixture
def instances(started: list[ServedInstance]) -> list[ServedInstance]:
    until_all_serve(started)
    return started


@pytest.fixture
def topic(cluster: KafkaCluster, unique: str) -> str:
    create_topic(cluster.bootstrap, unique, PARTITIONS)
    produce(cluster.bootstrap, unique, numbered(0, RECORDS, PARTITIONS))
    return unique


def read(client: Consumer, count: int) -> list[int]:
    found: list[int] = []

    def more() -> int:
        came = client.consume(count - len(found), timeout=1)
        # An error in between takes nothing from the records that came with it.
        found.extend(int(each.value() or b"") for each in came if each.error() is None)
        for each in came:
            assert each.error() is None, each.error()
        return len(found)

    eventually(more, until=lambda seen: seen >= count)
    return found


def assigned(topic: str) -> list[TopicPartition]:
    return [TopicPartition(topic, number, OFFSET_STORED) for number in range(PARTITIONS)]


def test_one_client_reads_records_commits_and_goes_on_where_it_was(
    cluster: KafkaCluster, instances: list[ServedInstance], topic: str
) -> None:
    more = {"auto.offset.reset": "earliest", "enable.auto.offset.store": True}
    with consumer(instances, topic, **more) as client:
        client.assign(assigned(topic))
        first = read(client, RECORDS // 2)
        commit(client, *client.position(assigned(topic)))
    with consumer(instances[::-1], topic, **more) as client:
        client.assign(assigned(topic))
        rest = read(client, RECORDS - len(first))
        assert sorted(first + rest) == list(range(RECORDS))
        commit(client, *client.position(assigned(topic)))
        assert committed(client, topic, PARTITIONS) == [RECORDS // PARTITIONS] * PARTITIONS
    # The client must live until it has answered.
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    groups = admin.list_consumer_groups().result(PATIENCE_S)
    assert topic not in {each.group_id for each in groups.valid}


def test_the_clusters_brokers_lead_their_partitions_and_instances_are_more_brokers(
    cluster: KafkaCluster, instances: list[ServedInstance], topic: str
) -> None:
    real = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(topic, timeout=30)
    with consumer(instances, topic) as client:
        shown = client.list_topics(topic, timeout=30)
    assert {number: each.leader for number, each in shown.topics[topic].partitions.items()} == {
        number: each.leader for number, each in real.topics[topic].partitions.items()
    }
    assert len(shown.brokers) == len(real.brokers) + len(instances)
    assert real.brokers.keys() < shown.brokers.keys()
    addresses = {f"{each.host}:{each.port}" for each in shown.brokers.values()}
    assert addresses == {each.address for each in instances}


async def test_a_client_of_aiokafka_reads_records_and_keeps_its_offsets(
    instances: list[ServedInstance], topic: str
) -> None:
    found: list[int] = []
    for _ in range(2):
        client = AIOKafkaConsumer(
            bootstrap_servers=[each.address for each in instances],
            group_id=topic,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        await client.start()
        try:
            client.assign([AsyncPartition(topic, number) for number in range(PARTITIONS)])
            wanted = len(found) + RECORDS // 2
            while len(found) < wanted:
                found.append(int((await client.getone()).value))
            await client.commit()
        finally:
            await client.stop()
    assert sorted(found) == list(range(RECORDS))


def test_a_client_reads_on_when_the_instance_is_killed_through_which_it_reads(
    cluster: KafkaCluster, instances: list[ServedInstance], topic: str
) -> None:
    with consumer(instances, topic, **{"auto.offset.reset": "earliest"}) as client:
        client.assign(assigned(topic))
        found = read(client, RECORDS)
        for turn, victim in enumerate(instances, start=1):
            victim.kill()
            produce(cluster.bootstrap, topic, numbered(turn * RECORDS, RECORDS, PARTITIONS))
            found += read(client, RECORDS)
            victim.start()
        assert sorted(found) == list(range(3 * RECORDS))
