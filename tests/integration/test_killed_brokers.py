"""Brokers killed with -9, one after the other, while records are under way."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer

from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.records import consume, create_topic

pytestmark = [pytest.mark.broker, pytest.mark.thorough, pytest.mark.timeout(600)]

_PARTITIONS = 6
_KILLS = 3
_DOWN_S = 6
_REPLICATED = {
    "min.insync.replicas": "2",
    "transaction.state.log.min.isr": "2",
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
}


class _Traffic:
    """An idempotent producer that writes 2,000 numbered records a second until it is stopped."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5}
        self._producer = Producer({**settings, "delivery.timeout.ms": 300_000})
        self._topic = topic
        self._stop = threading.Event()
        self.sent = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._write)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
        assert self._producer.flush(120) == 0

    def _write(self) -> None:
        while not self._stop.wait(0.01):
            for number in range(self.sent, self.sent + 20):
                self._producer.produce(
                    self._topic, value=b"%d" % number, partition=number % _PARTITIONS
                )
            self._producer.poll(0)
            self.sent += 20


@pytest.mark.parametrize("side", ["source", "target"])
def test_killed_brokers_lose_repeat_and_reorder_nothing(
    cluster_a: Cluster, unique: str, side: str
) -> None:
    with KafkaCluster("R", brokers=3, heap="320m", properties=_REPLICATED) as replicated:
        source, target = (replicated, cluster_a) if side == "source" else (cluster_a, replicated)
        factors = {replicated.name: 3, cluster_a.name: 1}
        create_topic(source.bootstrap, unique, _PARTITIONS, replication_factor=factors[source.name])
        bench = Bench(
            source,
            target,
            unique,
            {unique: _PARTITIONS},
            replication_factor=factors[target.name],
        )
        traffic = _Traffic(source.bootstrap, unique)
        with bench.running():
            with traffic.running():
                for turn in range(_KILLS):
                    time.sleep(_DOWN_S)
                    replicated.kill(turn)
                    time.sleep(_DOWN_S)
                    replicated.restart(turn)
            copied = consume(target.bootstrap, bench.remote(unique), traffic.sent, timeout=120)
        for number in range(_PARTITIONS):
            mine = [int(s.value or b"") for s in copied if s.partition == number]
            assert mine == list(range(number, traffic.sent, _PARTITIONS))
