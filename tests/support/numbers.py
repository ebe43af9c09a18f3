"""Writes numbers in their order, and reads what a mirror makes of them."""

from __future__ import annotations

import threading
import time
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually


class NumberReader:
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
        """Reads what is there, and says how much it has read in all."""
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
        """Reads until there are so many."""
        return eventually(self.count, until=lambda found: found >= count, timeout=timeout)


class NumberWriter:
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
        """Ends, and says how many numbers are written."""
        self._is_closed.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0
        return self.total

    def _run(self) -> None:
        while not self._is_closed.wait(0.01):
            for number in range(self.total, self.total + 40):
                self._producer.produce(
                    self._topic, b"%d" % number, partition=number % self._partitions
                )
            self.total += 40
            self._producer.poll(0)
