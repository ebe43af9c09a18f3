"""Mirrors between brokers of the current version and of 3.9, both ways at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from mm2.demo.kafka_jars import KAFKA_VERSION
from tests.support.cluster import KafkaCluster, running
from tests.support.eventually import eventually
from tests.support.layout import OLDER_VERSION
from tests.support.mirror import Mirror, properties
from tests.support.records import (
    CODECS,
    Sample,
    commit_group,
    committed,
    consume,
    create_topic,
    produce,
    produce_transaction,
)

pytestmark = [pytest.mark.broker, pytest.mark.spark]

Clusters = dict[str, KafkaCluster]
WAYS = (("A", "B"), ("B", "A"))


@pytest.fixture(scope="module")
def clusters() -> Iterator[Clusters]:
    """A of the older version, B of the current one."""
    found = {
        "A": KafkaCluster("A", version=OLDER_VERSION),
        "B": KafkaCluster("B", version=KAFKA_VERSION),
    }
    with running(*found.values()):
        yield found


def _shapes(codec: str) -> list[Sample]:
    return [
        Sample(key=b"k", value=codec.encode(), timestamp_ms=1_700_000_000_000),
        Sample(key=b"k", value=None, headers=(("a", b"1"), ("a", None)), partition=1),
        *(Sample(value=b"%d" % n, partition=2) for n in range(100)),
    ]


def _fill(cluster: KafkaCluster, topic: str) -> int:
    """All codecs, and a committed and an aborted transaction; returns how many are to be copied."""
    create_topic(cluster.bootstrap, topic, 3, {"max.message.bytes": "2000000"})
    for codec in CODECS:
        produce(cluster.bootstrap, topic, _shapes(codec), codec=codec)
    for commit in (True, False):
        samples = [Sample(value=b"transaction", partition=1)] * 10
        produce_transaction(cluster.bootstrap, topic, samples, commit=commit)
    return len(CODECS) * 102 + 10


def _exists(cluster: KafkaCluster, topic: str) -> bool:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    return topic in admin.list_topics(timeout=60).topics


def _committed(cluster: KafkaCluster, group: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
    (found,) = consumer.committed([TopicPartition(topic, 2)], timeout=60)
    consumer.close()
    return int(found.offset)


@pytest.mark.parametrize(
    "exactly_once",
    [pytest.param(False, marks=pytest.mark.thorough), True],
    ids=["at-least-once", "exactly-once"],
)
def test_records_settings_and_groups_are_mirrored_both_ways(
    clusters: Clusters, exactly_once: bool, unique: str, tmp_path: Path
) -> None:
    count = {_fill(cluster, unique) for cluster in clusters.values()}.pop()
    for cluster in clusters.values():
        commit_group(cluster.bootstrap, unique, {(unique, 2): 500})
    text = properties(
        {alias: cluster.bootstrap for alias, cluster in clusters.items()},
        {
            "A->B.enabled": "true",
            "B->A.enabled": "true",
            "topics": unique,
            "groups": unique,
            "offset.lag.max": "0",
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
            **{f"{alias}.consumer.isolation.level": "read_committed" for alias in clusters},
            **{
                f"{alias}.exactly.once.source.support": "enabled"
                for alias in clusters
                if exactly_once
            },
        },
    )
    with Mirror(tmp_path, text) as mirror:
        for source, target in WAYS:
            copy = f"{source}.{unique}"
            eventually(partial(_exists, clusters[target], copy))
            consume(clusters[target].bootstrap, copy, count)
            wanted = partial(_committed, clusters[target], unique, copy)
            # Markers of the mirror's own transactions take offsets too.
            eventually(wanted, until=(500).__le__)
        assert mirror.stop() == 0
    more = [Sample(value=b"after", partition=2)] * 10
    for cluster in clusters.values():
        produce(cluster.bootstrap, unique, more)
    with Mirror(tmp_path, text) as mirror:
        for source, target in WAYS:
            copied = consume(
                clusters[target].bootstrap, f"{source}.{unique}", count + 10, timeout=60
            )
            written = consume(clusters[source].bootstrap, unique, count + 10)
            assert [s.content for s in copied] == [s.content for s in written]
        assert mirror.stop() == 0
    for source, target in WAYS:
        assert len(committed(clusters[target].bootstrap, f"{source}.{unique}")) == count + 10
