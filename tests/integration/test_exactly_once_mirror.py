"""Exactly once as a user runs it: the driver, its tasks and Spark killed while records flow."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Self

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties, worker_pids
from tests.support.records import create_topic

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(400)]


class _Reader:
    """Reads committed records of a mirror, whose values are numbers."""

    def __init__(self, cluster: Cluster, topic: str, partitions: int) -> None:
        self.found: list[list[int]] = [[] for _ in range(partitions)]
        self._consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": "none",
                "isolation.level": "read_committed",
            }
        )
        self._consumer.assign(
            [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)]
        )

    def count(self) -> int:
        for message in self._consumer.consume(20_000, timeout=0.2):
            if message.error() is None:
                self.found[message.partition() or 0].append(int(message.value() or b""))
        return sum(map(len, self.found))

    def catch_up(self) -> int:
        """Reads until nothing has come for a second."""
        last, since = self.count(), time.monotonic()
        while time.monotonic() < since + 1:
            if (found := self.count()) > last:
                last, since = found, time.monotonic()
        return last

    def wait(self, count: int, timeout: float = 120.0) -> int:
        return eventually(self.count, until=lambda found: found >= count, timeout=timeout)


class _Writer:
    """Writes numbers, a few thousand a second, until closed."""

    def __init__(self, cluster: Cluster, topic: str, partitions: int) -> None:
        self.total = 0
        self._partitions = partitions
        self._topic = topic
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "linger.ms": 5}
        )
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> int:
        self._is_closed.set()
        self._thread.join()
        assert self._producer.flush(20) == 0
        return self.total

    def _run(self) -> None:
        while not self._is_closed.wait(0.01):
            for number in range(self.total, self.total + 40):
                self._producer.produce(
                    self._topic, b"%d" % number, partition=number % self._partitions
                )
            self.total += 40
            self._producer.poll(0)


def test_each_record_comes_once_whoever_is_killed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 4)
    text = properties(
        {"A": cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {
            "A->B.enabled": "true",
            "topics": unique,
            "B.exactly.once.source.support": "enabled",
            "A.consumer.isolation.level": "read_committed",
            "A->B.exactly.once.support": "required",
            "B->A.emit.heartbeats.enabled": "false",
            # Whoever waited for an open transaction to time out would wait too long.
            "B.producer.transaction.timeout.ms": "600000",
        },
    )
    with _Writer(cluster_a, unique, 4) as writer:
        reader = _Reader(cluster_b, f"A.{unique}", 4)
        _kill_one_after_the_other(cluster_b, reader, text, tmp_path)
        seen = reader.catch_up()
        with Mirror(tmp_path, text) as mirror:
            reader.wait(seen + 1)
            total = writer.close()
            reader.wait(total)
            assert mirror.stop() == 0
    assert reader.catch_up() == total
    assert reader.found == [list(range(number, total, 4)) for number in range(4)]


def _kill_one_after_the_other(target: Cluster, reader: _Reader, text: str, folder: Path) -> None:
    started = time.time_ns() // 1_000_000
    with Mirror(folder, text) as mirror:
        reader.wait(1)
        os.kill(worker_pids(target.bootstrap, "A", started)[0], signal.SIGKILL)
        reader.wait(reader.count() + 4000)
        (jvm,) = [process for process in mirror.family() if process.name() == "java"]
        jvm.kill()
        reader.wait(reader.count() + 4000)
        mirror.kill()
        mirror.wait_gone()
