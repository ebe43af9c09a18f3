"""Killed again and again under traffic: what mm2 copies twice, and what Java's MirrorMaker does."""

from __future__ import annotations

import threading
import time
from functools import partial
from pathlib import Path

import psutil
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.records import create_topic

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.reference,
    pytest.mark.thorough,
    pytest.mark.timeout(1_200),
]

_PARTITIONS = 2
_KILLS = 5
_EACH = 100_000
"""Records before each kill, and after the last one."""

_BURST = 500
_BURSTS_PER_SECOND = 40


def test_five_kills_lose_nothing_keep_order_and_repeat_a_tenth_of_what_java_repeats(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    repeated: dict[str, int] = {}
    for alias, command in (("P", None), ("J", java_mirror)):
        folder = tmp_path / alias
        folder.mkdir()
        topic = f"{unique}-{alias}"
        create_topic(cluster_a.bootstrap, topic, _PARTITIONS)
        text = properties(
            {alias: cluster_a.bootstrap, "B": cluster_b.bootstrap},
            {
                f"{alias}->B.enabled": "true",
                "topics": topic,
                "heartbeats.replication.enabled": "false",
                "emit.heartbeats.enabled": "false",
                "offset.flush.interval.ms": "2000",
            },
        )
        remote = f"{alias}.{topic}"
        for turn in range(_KILLS + 1):
            with (
                Mirror(folder, text, command=command) as mirror,
                _Traffic(cluster_a, topic, turn) as traffic,
            ):
                if turn < _KILLS:
                    _kill_in_mid_copy(mirror, cluster_b, remote)
                else:
                    traffic.join()
                    last = [_EACH // _PARTITIONS * (_KILLS + 1) - 1] * _PARTITIONS
                    eventually(partial(_newest, cluster_b, remote), until=last.__eq__, timeout=180)
        repeated[alias] = _repeated(cluster_b, remote, (_KILLS + 1) * _EACH)
    print(f"repeated records: mm2 {repeated['P']}, Java {repeated['J']}")  # noqa: T201 - a figure
    assert repeated["P"] * 10 <= repeated["J"]


def _kill_in_mid_copy(mirror: Mirror, target: Cluster, remote: str) -> None:
    """Kills all of its processes when half of what is being written has arrived."""
    enough = _written(target, remote) + _EACH // 2
    eventually(partial(_written, target, remote), until=enough.__le__, timeout=180)
    for process in [psutil.Process(mirror.process.pid), *mirror.family()]:
        process.kill()
    mirror.process.wait()
    mirror.wait_gone()


class _Traffic:
    """Writes the records of one turn, steadily, once the mirror had time to start."""

    def __init__(self, source: Cluster, topic: str, turn: int) -> None:
        self._producer = Producer(
            {"bootstrap.servers": source.bootstrap, "enable.idempotence": True, "linger.ms": 5}
        )
        self._topic = topic
        self._first = turn * _EACH
        self._thread = threading.Thread(target=self._write)

    def __enter__(self) -> threading.Thread:
        self._thread.start()
        return self._thread

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def _write(self) -> None:
        time.sleep(8)
        for burst in range(self._first, self._first + _EACH, _BURST):
            for number in range(burst, burst + _BURST):
                self._producer.produce(
                    self._topic,
                    value=b"%d" % (number // _PARTITIONS),
                    partition=number % _PARTITIONS,
                )
            self._producer.poll(0)
            time.sleep(1 / _BURSTS_PER_SECOND)
        assert self._producer.flush(60) == 0


def _written(cluster: Cluster, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    try:
        return sum(
            consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=60)[1]
            for number in range(_PARTITIONS)
        )
    except KafkaException:
        return 0  # not created yet
    finally:
        consumer.close()


def _newest(cluster: Cluster, topic: str) -> list[int]:
    """The last number in each partition."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    found = []
    for number in range(_PARTITIONS):
        where = TopicPartition(topic, number)
        where.offset = max(0, consumer.get_watermark_offsets(where, timeout=60)[1] - 1)
        consumer.assign([where])
        message = consumer.poll(5)
        found.append(-1 if message is None else int(message.value() or b""))
    consumer.close()
    return found


def _repeated(cluster: Cluster, topic: str, total: int) -> int:
    """How many copies are one too many; all must be there, first copies in order."""
    end = _written(cluster, topic)
    seen: list[dict[int, None]] = [{} for _ in range(_PARTITIONS)]
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(_PARTITIONS)])
    read = 0
    while read < end:
        messages = consumer.consume(10_000, timeout=10)
        assert messages, f"{read} of {end}"
        read += len(messages)
        for message in messages:
            seen[message.partition() or 0][int(message.value() or b"")] = None
    consumer.close()
    for found in seen:
        assert list(found) == list(range(total // _PARTITIONS)), "lost or out of order"
    return end - total
