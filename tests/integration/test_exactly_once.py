"""
Exactly once: what readers of committed records see of a mirror, whatever happens to it.
"""

from __future__ import annotations

import pytest

from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = pytest.mark.broker

_COMMITTED = {"isolation.level": "read_committed"}


def _samples(first: int, count: int, partitions: int = 1) -> list[Sample]:
    return [
        Sample(key=b"%d" % n, value=b"v%d" % n, partition=n % partitions, timestamp_ms=1000 + n)
        for n in range(first, first + count)
    ]


def test_each_record_comes_once_over_restarts(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, f"{unique}-t", 3)
    bench = Bench(cluster_a, cluster_b, unique, {f"{unique}-t": 3}, exactly_once=True)
    for turn in range(3):
        produce(cluster_a.bootstrap, f"{unique}-t", _samples(turn * 30, 30, 3))
        with bench.running():
            consume(cluster_b.bootstrap, f"A.{unique}-t", 30 * (turn + 1), settings=_COMMITTED)
    found = consume(cluster_b.bootstrap, f"A.{unique}-t", 90, settings=_COMMITTED)
    assert sorted(s.value or b"" for s in found) == sorted(s.value or b"" for s in _samples(0, 90))
