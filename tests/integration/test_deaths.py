"""What a mirror survives: the death of each of its processes, and clusters that are away."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition

from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias
from mm2.demo.broker_settings import free_ports
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror, one_way, properties, worker_pids
from tests.support.records import consume, create_topic, numbered, produce
from tests.support.topics import partition_counts

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.mark.also_on_spark_cluster(always=True)
def test_killed_in_mid_copy_it_loses_nothing_and_keeps_order(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    text = one_way(
        cluster_a,
        cluster_b,
        unique,
        {
            # Small fetches make the copy long enough to be interrupted.
            "A.consumer.max.partition.fetch.bytes": "20000",
            "A.consumer.fetch.max.bytes": "40000",
        },
    )
    total = 200_000
    produce(
        cluster_a.bootstrap,
        unique,
        numbered(0, total, 2),
        settings={"queue.buffering.max.messages": 1_000_000},
    )
    with Mirror(tmp_path, text) as mirror:
        consume(cluster_b.bootstrap, f"A.{unique}", 1000)
        mirror.kill()
        mirror.wait_gone()
    with Mirror(tmp_path, text):
        _expect_all_in_order(cluster_b, f"A.{unique}", total)


def _expect_all_in_order(cluster: Cluster, topic: str, total: int) -> None:
    """Every number is there, and the first copies of each partition's numbers are in order."""
    first_copies: dict[int, dict[int, None]] = {0: {}, 1: {}}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in first_copies])
    deadline = time.monotonic() + 2 * PATIENCE_S
    while sum(map(len, first_copies.values())) < total:
        for message in consumer.consume(10_000, timeout=0.5):
            first_copies[message.partition() or 0][int(message.value() or b"")] = None
        assert time.monotonic() < deadline, {p: len(found) for p, found in first_copies.items()}
    consumer.close()
    for found in first_copies.values():
        assert list(found) == sorted(found)


@pytest.mark.also_on_spark_cluster(always=True)
def test_a_killed_worker_comes_back_and_the_others_never_stop(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    text = one_way(
        cluster_a,
        cluster_b,
        unique,
        {
            "tasks.max": "2",
            "heartbeats.replication.enabled": "false",
        },
    )
    started = time.time_ns() // 1_000_000
    with Mirror(tmp_path, text) as mirror:
        produce(cluster_a.bootstrap, unique, numbered(0, 2, 2))
        consume(cluster_b.bootstrap, f"A.{unique}", 2)
        before = _workers(cluster_b, started)
        os.kill(before[0], signal.SIGKILL)
        killed = time.time_ns() // 1_000_000
        produce(cluster_a.bootstrap, unique, numbered(2, 2, 2))
        consume(cluster_b.bootstrap, f"A.{unique}", 4)
        after = _workers(cluster_b, killed + 1000)
        assert after[0] != before[0]
        assert after[1] == before[1]
        assert mirror.stop() == 0


def _workers(cluster: Cluster, since_ms: int) -> dict[int, int]:
    return eventually(
        lambda: worker_pids(cluster.bootstrap, "A", since_ms), until=lambda found: len(found) == 2
    )


@pytest.mark.also_on_spark_cluster
def test_when_sparks_jvm_dies_it_is_started_again(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    text = one_way(cluster_a, cluster_b, unique)
    with Mirror(tmp_path, text) as mirror:
        produce(cluster_a.bootstrap, unique, numbered(0, 1))
        consume(cluster_b.bootstrap, f"A.{unique}", 1)
        mirror.jvm().kill()
        # Until then an executor's task may go on for a moment.
        eventually(lambda: mirror.text().count('"spark.started"') == 2)
        produce(cluster_a.bootstrap, unique, numbered(1, 1))
        consume(cluster_b.bootstrap, f"A.{unique}", 2)
        assert mirror.stop() == 0
        mirror.wait_gone()


@pytest.mark.also_on_spark_cluster
def test_an_unreachable_cluster_is_waited_for_while_other_flows_go_on(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    for name in (f"{unique}-b", f"{unique}-c"):
        create_topic(cluster_a.bootstrap, name, 1)
        produce(cluster_a.bootstrap, name, numbered(0, 1))
    (port,) = free_ports(1)
    late, address = KafkaCluster("C", port=port), f"127.0.0.1:{port}"
    text = properties(
        {"A": cluster_a.bootstrap, "B": cluster_b.bootstrap, "C": address},
        {
            "emit.heartbeats.enabled": "false",
            "A->B.enabled": "true",
            "A->B.topics": f"{unique}-b",
            "A->C.enabled": "true",
            "A->C.topics": f"{unique}-c",
        },
    )
    try:
        with Mirror(tmp_path, text) as mirror:
            consume(cluster_b.bootstrap, f"A.{unique}-b", 1)
            eventually(lambda: "cluster.unreachable" in mirror.text())
            late.start()
            consume(address, f"A.{unique}-c", 1)
            assert mirror.stop() == 0
    finally:
        late.stop()


def test_heartbeats_need_the_target_only(cluster_b: Cluster, unique: str, tmp_path: Path) -> None:
    source, target = f"S{unique[-6:]}", f"T{unique[-6:]}"
    text = properties(
        {source: "127.0.0.1:1", target: cluster_b.bootstrap},
        {f"{source}->{target}.enabled": "true", f"{target}->{source}.enabled": "false"},
    )
    key = Heartbeat(ClusterAlias(source), ClusterAlias(target), 0).key()
    with Mirror(tmp_path, text) as mirror:
        eventually(lambda: "heartbeats" in partition_counts(cluster_b))
        eventually(lambda: key in {beat.key() for beat in _messages(cluster_b, "heartbeats")})
        assert mirror.stop() == 0
        mirror.wait_gone()


@pytest.mark.also_on_spark_cluster
def test_an_outage_of_the_target_loses_nothing_and_does_not_hold_up_a_stop(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 1)
    target = KafkaCluster("D").start()
    text = one_way(cluster_a, target, unique)
    try:
        with Mirror(tmp_path, text) as mirror:
            produce(cluster_a.bootstrap, unique, numbered(0, 10))
            consume(target.bootstrap, f"A.{unique}", 10)
            target.kill()
            produce(cluster_a.bootstrap, unique, numbered(10, 10))
            eventually(lambda: '"source.suspended"' in mirror.text_of_tasks())
            target.restart()
            copied = consume(target.bootstrap, f"A.{unique}", 20)
            assert [sample.value for sample in copied] == [b"%d" % n for n in range(20)]
            eventually(lambda: b'{"offset":19}' in _positions(target, "A"))
            target.kill()
            assert mirror.stop() == 0
            mirror.wait_gone()
        target.restart()
        with Mirror(tmp_path, text):
            produce(cluster_a.bootstrap, unique, numbered(20, 1))
            copied = consume(target.bootstrap, f"A.{unique}", 21)
            assert [sample.value for sample in copied] == [b"%d" % n for n in range(21)]
    finally:
        target.stop()


def _messages(cluster: Cluster, topic: str) -> list[Message]:
    """What a small topic holds now."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    numbers = consumer.list_topics(topic, timeout=60).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
    found = consumer.consume(10_000, timeout=1)
    consumer.close()
    return found


def _positions(cluster: Cluster, source: str) -> set[bytes | None]:
    """All values that the positions topic has had."""
    return {message.value() for message in _messages(cluster, f"mm2-offsets.{source}.internal")}
