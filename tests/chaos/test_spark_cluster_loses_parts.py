"""Executors, workers, masters and drivers of a Spark cluster are killed: nothing is lost."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Final

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.records import committed, create_topic
from tests.support.spark_cluster import SparkCluster

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.chaos, pytest.mark.thorough]

_PARTITIONS: Final = 4
_PER_S: Final = 200
_GOES_ON_S: Final = 3
"""A Python process goes on for a moment when its executor is gone; its gap comes after that."""

_BACK_WITHIN_S: Final = 240.0
"""A machine that does much else starts an executor in half a minute."""

_LONGEST_GAP_S: Final = 30.0
"""What users are promised, whatever was killed."""

_EXECUTORS: Final = 20
_WORKERS: Final = 5
_MASTERS: Final = 3
_DRIVERS: Final = 3


class _Writer(Thread):
    """Writes numbers, in order, to each partition in turn."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
        self._topic = topic
        self._ends = Event()
        self.number = 0

    def run(self) -> None:
        while not self._ends.wait(1 / _PER_S):
            number = self.number
            self._producer.produce(self._topic, b"%d" % number, partition=number % _PARTITIONS)
            self._producer.poll(0)
            self.number = number + 1

    def end(self) -> None:
        self._ends.set()
        self.join()
        assert self._producer.flush(60) == 0


class _Reader(Thread):
    """Reads the copies as they come, and remembers how long none came in some partition."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        super().__init__(daemon=True)
        settings = {"group.id": "none", "isolation.level": "read_committed"}
        self._consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
        self._consumer.assign([TopicPartition(topic, n, 0) for n in range(_PARTITIONS)])
        self._ends = Event()
        self._newest = dict.fromkeys(range(_PARTITIONS), (-1, 0.0))
        self.gap_s = 0.0

    def run(self) -> None:
        while not self._ends.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                partition, now = message.partition() or 0, time.monotonic()
                number, at = self._newest[partition]
                self.gap_s = max(self.gap_s, now - at) if at else 0.0
                self._newest[partition] = max(number, int(message.value() or b"")), now
        self._consumer.close()

    def has_all_after(self, number: int) -> bool:
        """Whether a later number has come in each partition."""
        return all(newest > number for newest, _ in self._newest.values())

    def end(self) -> None:
        self._ends.set()
        self.join()


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):  # Spark may have ended it.
        process.kill()


class _Run(ExitStack):
    """A mirror on a cluster, and what may happen to both."""

    def __init__(self, spark: SparkCluster, mirror: Mirror) -> None:
        super().__init__()
        self._spark = spark
        self.mirror = self.enter_context(mirror)

    def executor(self) -> None:
        _kill(random.choice(eventually(self._spark.executors)))

    def worker(self) -> None:
        """Another one comes at once."""
        self._spark.kill_worker(random.choice(self._spark.workers))
        self._spark.add_worker()

    def master(self) -> None:
        """It is started again, and knows nothing; executors are killed, too."""
        self._spark.kill_master()
        self._spark.start_master()
        for executor in self._spark.executors():
            _kill(executor)

    def driver(self) -> None:
        """It is started again when its processes are gone."""
        self.mirror.kill()
        self.mirror.wait_gone()
        self.enter_context(self.mirror)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("mode", ["disabled", "enabled"], ids=["at-least-once", "exactly-once"])
def test_all_records_come_and_exactly_once_none_comes_twice(
    mode: str, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    topic, remote = unique, f"{cluster_a.name}.{unique}"
    create_topic(cluster_a.bootstrap, topic, _PARTITIONS)
    events: list[Callable[[_Run], None]] = [
        *[_Run.executor] * _EXECUTORS,
        *[_Run.worker] * _WORKERS,
        *[_Run.master] * _MASTERS,
        *[_Run.driver] * _DRIVERS,
    ]
    random.shuffle(events)
    gaps: dict[str, list[float]] = {}
    writer, reader = _Writer(cluster_a.bootstrap, topic), _Reader(cluster_b.bootstrap, remote)

    def wait_for_copies() -> None:
        number = writer.number + _GOES_ON_S * _PER_S
        eventually(lambda: reader.has_all_after(number), timeout=_BACK_WITHIN_S)

    with SparkCluster(workers=2) as spark:
        settings = {**spark.application, "B.exactly.once.source.support": mode}
        text = one_way(cluster_a, cluster_b, topic, settings)
        with _Run(spark, Mirror(tmp_path, text)) as run:
            writer.start()
            reader.start()
            wait_for_copies()
            for event in events:
                reader.gap_s = 0.0
                event(run)
                wait_for_copies()
                gaps.setdefault(event.__name__, []).append(reader.gap_s)
                print(f"{mode}: {event.__name__} {reader.gap_s:.1f} s")  # noqa: T201 - figures
            writer.end()
            reader.end()
            written = {each.value for each in committed(cluster_a.bootstrap, topic)}
            eventually(
                lambda: {each.value for each in committed(cluster_b.bootstrap, remote)},
                until=lambda found: found >= written,
                timeout=_BACK_WITHIN_S,
            )
            assert run.mirror.stop() == 0
    copies = Counter(each.value for each in committed(cluster_b.bootstrap, remote))
    twice = sum(count - 1 for count in copies.values())
    rows = {name: f"{len(g)} | {median(g):.1f} | {max(g):.1f}" for name, g in gaps.items()}
    print(f"{mode}: {len(written)} records, {twice} twice, gaps (events, median, max) {rows}")  # noqa: T201
    assert copies.keys() == written
    assert mode == "disabled" or twice == 0
    longest = max(max(each) for each in gaps.values())
    assert longest <= _LONGEST_GAP_S, (
        f"a partition got nothing for {longest:.1f} s, and is to get copies again within"
        f" {_LONGEST_GAP_S:.0f} s, whatever was killed: {rows}"
    )
