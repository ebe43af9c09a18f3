"""Bundles whose loads are uneven: partitions change hands under traffic, and over a crash."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from mm2.protocol.control_codec import decode_control
from mm2.protocol.control_records import Assignment
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror, one_way
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, consume, create_topic

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_BUSY = (0, 2)
_CONTROL = "mm2-control.A.internal"


class _Traffic:
    """Numbered records, all on the busy partitions, until stopped."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
        self._topic = topic
        self._stop = threading.Event()
        self.sent = 0

    def run(self) -> None:
        """Writes 100 KB a second."""
        while not self._stop.wait(0.05):
            for partition in _BUSY:
                value = b"%06d" % self.sent + bytes(2500)
                self._producer.produce(self._topic, value, partition=partition)
            self.sent += 1
            self._producer.poll(0)
        assert self._producer.flush(PATIENCE_S) == 0

    @contextmanager
    def flowing(self) -> Iterator[None]:
        """Runs in a thread."""
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()


def _text(source: Cluster, target: Cluster, topic: str, **more: str) -> str:
    return one_way(source, target, topic, {"heartbeats.replication.enabled": "false", **more})


def _assignments(cluster: Cluster) -> list[Assignment]:
    """All assignments of the last leader, in order."""
    entries = [
        decode_control(r.key, r.value) for r in records_in(log_of(cluster.bootstrap, _CONTROL))
    ]
    found = [entry for entry in entries if isinstance(entry, Assignment)]
    return [entry for entry in found if entry.epoch == max(each.epoch for each in found)]


def _holders(cluster: Cluster) -> dict[int, int]:
    """Which bundle each partition is in, by the newest assignments."""
    newest = {entry.index: entry for entry in _assignments(cluster)}
    return {p.partition: index for index, entry in newest.items() for p in entry.partitions}


def _numbers(samples: list[Sample], partition: int) -> list[int]:
    return [int((s.value or b"")[:6]) for s in samples if s.partition == partition]


@pytest.mark.also_on_spark_cluster
@pytest.mark.parametrize(
    "exactly_once", [pytest.param("disabled", marks=pytest.mark.thorough), "enabled"]
)
def test_a_busy_partition_moves_under_traffic_and_each_record_is_copied_once_in_order(
    exactly_once: str, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 4)
    settings = {
        "assignment.balance.interval.seconds": "1",
        "B.exactly.once.source.support": exactly_once,
    }
    text = _text(cluster_a, cluster_b, unique, **settings)
    traffic = _Traffic(cluster_a.bootstrap, unique)
    with Mirror(tmp_path, text) as mirror:
        with traffic.flowing():
            eventually(mirror.text, until=lambda t: "flow.rebalanced" in t, timeout=100)
            holders = eventually(
                lambda: _holders(cluster_b),
                until=lambda h: len(h) == 4 and len({h[p] for p in _BUSY}) == 2,
            )
            assert sorted(holders) == [0, 1, 2, 3]
            before = traffic.sent
            eventually(lambda: traffic.sent, until=lambda n: n > before + 40)
        copied = consume(cluster_b.bootstrap, f"A.{unique}", 2 * traffic.sent)
        assert mirror.stop() == 0
        assert "part.failed" not in mirror.text()
    for partition in _BUSY:
        assert _numbers(copied, partition) == list(range(traffic.sent))
    told = [{p for p in entry.partitions if p.topic == unique} for entry in _assignments(cluster_b)]
    assert any(len(partitions) == 1 for partitions in told), (
        "taken from one before given to another"
    )


@pytest.mark.also_on_spark_cluster
def test_a_driver_killed_while_a_partition_moves_loses_nothing_and_keeps_the_order(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 4)
    text = _text(cluster_a, cluster_b, unique, **{"assignment.balance.interval.seconds": "1"})
    traffic = _Traffic(cluster_a.bootstrap, unique)
    with traffic.flowing():
        with Mirror(tmp_path, text) as mirror:
            eventually(mirror.text, until=lambda t: "flow.rebalanced" in t, timeout=100)
            mirror.kill()
            mirror.wait_gone()
        with Mirror(tmp_path, text) as mirror:
            eventually(mirror.text, until=lambda t: "flow.assigned" in t, timeout=100)
            sent = traffic.sent + 20
            eventually(lambda: traffic.sent, until=lambda n: n > sent)
            eventually(
                lambda: consume(cluster_b.bootstrap, f"A.{unique}", 2 * sent, timeout=20),
                timeout=100,
            )
            assert mirror.stop() == 0
    copied = consume(cluster_b.bootstrap, f"A.{unique}", 2 * sent)
    for partition in _BUSY:
        numbers = _numbers(copied, partition)
        firsts = list(dict.fromkeys(numbers))
        assert firsts == list(range(len(firsts))), "in order, none missing"


@pytest.mark.also_on_spark_cluster
def test_partitions_stay_in_their_bundles_over_a_restart_with_more_tasks(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 6)
    runs = (
        {"tasks.max": "2", "assignment.strategy": "round-robin"},
        {"tasks.max": "3", "assignment.strategy": "load"},
    )
    holders: list[dict[int, int]] = []
    for settings in runs:
        text = _text(cluster_a, cluster_b, unique, **settings)
        with Mirror(tmp_path, text) as mirror:
            eventually(mirror.text, until=lambda t: "source.partitions_assigned" in t, timeout=100)
            assert mirror.stop() == 0
        holders.append(_holders(cluster_b))
    dealt, more = holders
    assert dealt == {0: 0, 1: 1, 2: 0, 3: 1, 4: 0, 5: 1}
    assert sorted(more) == list(range(6))
    assert sorted(more.values()) == [0, 0, 1, 1, 2, 2]
    assert sum(more[p] != dealt[p] for p in range(6)) == 2
