"""Reading from the replica in our own rack (KIP-392)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = pytest.mark.broker

_SELECTOR = {
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "min.insync.replicas": "1",
}
_PARTITIONS = 4
_IN_ORDER = {"enable.idempotence": "true"}


@pytest.fixture(scope="module")
def two_racks() -> Iterator[KafkaCluster]:
    """Three brokers, each in a rack of its own."""
    racks = ("east", "west")
    # The controllers need a majority, so the broker that is stopped must not be one of two.
    with KafkaCluster(
        "R", brokers=3, heap="320m", properties=_SELECTOR, racks=(*racks, "north")
    ) as cluster:
        yield cluster


def _samples(first: int) -> list[Sample]:
    return [Sample(value=b"%d" % n, partition=n % _PARTITIONS) for n in range(first, first + 40)]


def _leaders(cluster: Cluster, topic: str) -> set[int]:
    listed = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(topic, timeout=60)
    return {partition.leader for partition in listed.topics[topic].partitions.values()}


def _brokers(bench: Bench) -> set[int | None]:
    return {partition.broker for partition in bench.progress().values()}


def test_partitions_are_read_in_our_rack_and_elsewhere_when_its_broker_is_gone(
    two_racks: KafkaCluster, cluster_b: Cluster, topic_name: str, unique: str
) -> None:
    create_topic(two_racks.bootstrap, topic_name, _PARTITIONS, replication_factor=3)
    produce(two_racks.bootstrap, topic_name, _samples(0))
    assert len(_leaders(two_racks, topic_name)) > 1, "some are led in other racks"
    topics = {topic_name: _PARTITIONS}
    bench = Bench(two_racks, cluster_b, unique, topics, consumer={"client.rack": "west"})
    remote = bench.remote(topic_name)
    with bench.running():
        consume(cluster_b.bootstrap, remote, 40)
        assert eventually(lambda: _brokers(bench), until=lambda found: found == {2}) == {2}
        two_racks.kill(1)
        # Leaders may change: nothing is to be lost, repeated or put in another order by that.
        produce(two_racks.bootstrap, topic_name, _samples(40), settings=_IN_ORDER)
        consume(cluster_b.bootstrap, remote, 80)
        assert eventually(lambda: 2 not in _brokers(bench))
        two_racks.restart(1)
        produce(two_racks.bootstrap, topic_name, _samples(80))
        copied = consume(cluster_b.bootstrap, remote, 120)
    for number in range(_PARTITIONS):
        mine = [int(sample.value or b"") for sample in copied if sample.partition == number]
        assert mine == list(range(number, 120, _PARTITIONS))
