"""Where the copy of a partition begins that has no position (``auto.offset.reset``, KIP-1106)."""

from __future__ import annotations

import time

import pytest

from mm2.core.positions.start_rules import parse_rules
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, create_topic, produce
from tests.support.specs import data_settings

pytestmark = pytest.mark.broker

_HOUR_MS = 3_600_000


def _fill(cluster: Cluster, topic: str, partitions: int) -> int:
    """Ten records in each partition, an hour apart, the last one now; returns that time."""
    now_ms = time.time_ns() // 1_000_000
    create_topic(cluster.bootstrap, topic, partitions)
    samples = [
        Sample(value=b"%d" % n, partition=p, timestamp_ms=now_ms - (9 - n) * _HOUR_MS)
        for p in range(partitions)
        for n in range(10)
    ]
    produce(cluster.bootstrap, topic, samples)
    return now_ms


def _copied(cluster: Cluster, topic: str, partition: int) -> list[int]:
    records = records_in(log_of(cluster.bootstrap, topic, partition=partition))
    return [int(record.value or b"-1") for record in records]


def test_partitions_begin_where_their_rules_say(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    now_ms = _fill(cluster_a, unique, 7)
    iso = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime((now_ms - 6 * _HOUR_MS) / 1000 + 60))
    rules = [
        f"{unique}:0=4",
        f"{unique}:1=latest",
        f"{unique}:2={iso}",
        f"{unique}:3=by_duration:PT2H30M",
        f"{unique}:4=99",
        f"{unique}:5=2999-01-01T00:00:00Z",
        "nobody=latest",
    ]
    changes = {"starts": parse_rules(rules)}
    bench = Bench(cluster_a, cluster_b, unique, {unique: 7}, changes=changes)
    expected = {
        0: range(4, 11),
        1: range(10, 11),
        2: range(4, 11),
        3: range(7, 11),
        4: range(10, 11),
        5: range(10, 11),
        6: range(11),
    }
    remote = bench.remote(unique)
    with bench.running():
        eventually(lambda: _copied(cluster_b, remote, 6) == list(range(10)))
        # They are reported as soon as they are assigned; who has seen an end has begun to read.
        eventually(lambda: [each.end for each in bench.progress().values()] == [10] * 7)
        produce(cluster_a.bootstrap, unique, [Sample(value=b"10", partition=p) for p in range(7)])
        eventually(
            lambda: {p: _copied(cluster_b, remote, p) for p in expected},
            until=lambda found: found == {p: list(numbers) for p, numbers in expected.items()},
        )


@pytest.mark.parametrize("reset", ["latest", "by_duration:PT1S"])
def test_what_comes_while_a_task_is_away_is_not_passed_over(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, reset: str
) -> None:
    """A partition that was empty at the first look has a position all the same."""
    create_topic(cluster_a.bootstrap, unique)
    data = data_settings(reset=reset)
    bench = Bench(cluster_a, cluster_b, unique, {unique: 1}, data)
    with bench.running():
        # It is reported as soon as it is assigned; that it has an end shows that it was looked at.
        eventually(lambda: bench.progress()[unique, 0].end == 0)
    old = time.time_ns() // 1_000_000 - _HOUR_MS
    produce(cluster_a.bootstrap, unique, [Sample(value=b"0", timestamp_ms=old)])
    with bench.running():
        eventually(lambda: _copied(cluster_b, bench.remote(unique), 0) == [0])


def test_by_duration_passes_over_older_records(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    _fill(cluster_a, unique, 1)
    data = data_settings(reset="by_duration:PT4H30M")
    bench = Bench(cluster_a, cluster_b, unique, {unique: 1}, data)
    with bench.running():
        eventually(lambda: _copied(cluster_b, bench.remote(unique), 0) == [5, 6, 7, 8, 9])


def test_with_none_a_partition_stops_and_says_why(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    _fill(cluster_a, unique, 2)
    data = data_settings(reset="none")
    changes = {"starts": parse_rules([f"{unique}:1=earliest"])}
    bench = Bench(cluster_a, cluster_b, unique, {unique: 2}, data, changes=changes)
    with bench.running():
        eventually(lambda: _copied(cluster_b, bench.remote(unique), 1) == list(range(10)))
        stopped = eventually(
            lambda: bench.progress().get((unique, 0)), until=lambda p: bool(p and p.error)
        )
        assert stopped is not None
        assert "auto.offset.reset=none" in str(stopped.error)
    assert _copied(cluster_b, bench.remote(unique), 0) == []
