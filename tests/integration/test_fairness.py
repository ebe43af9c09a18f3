"""Busy partitions must not starve the others."""

from __future__ import annotations

import pytest

from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.records import Sample, create_topic, produce
from tests.support.specs import data_settings

pytestmark = pytest.mark.broker

_HOT = 8
_QUIET = 120
_MIB = 1 << 20


def _fill(cluster: Cluster, topic: str, mebibytes: int) -> int:
    """
    A backlog on all busy partitions; returns the number of records.

    Small batches fill an answer to the last byte; large ones would leave crumbs for the others.
    """
    count = mebibytes * 256
    samples = (Sample(value=bytes(4000), partition=n % _HOT) for n in range(count))
    produce(cluster.bootstrap, topic, samples, settings={"batch.size": 16384})
    return count


def _copied(bench: Bench, topic: str) -> int:
    return sum(p.records for (name, _), p in bench.progress().items() if name == topic)


def test_quiet_partitions_are_copied_while_busy_ones_have_a_backlog(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """The busy partitions alone could take all of every fetch; a limit makes that last."""
    hot, quiet = f"{unique}-hot", f"{unique}-quiet"
    create_topic(cluster_a.bootstrap, hot, _HOT)
    create_topic(cluster_a.bootstrap, quiet, _QUIET)
    backlog = _fill(cluster_a, hot, 24)
    topics = {quiet: _QUIET, hot: _HOT}
    data = data_settings(fetch_max_bytes=_MIB, fetch_partition_bytes=_MIB)
    changes = {"byte_rate_limit": _MIB // 2}
    bench = Bench(cluster_a, cluster_b, unique, topics, data, changes=changes)
    with bench.running():
        eventually(lambda: _copied(bench, hot))
        for round_ in range(1, 4):
            samples = [Sample(value=b"here", partition=n) for n in range(0, _QUIET, 40)]
            produce(cluster_a.bootstrap, quiet, samples)
            wanted = len(samples) * round_
            eventually(lambda: _copied(bench, quiet), until=wanted.__eq__)
        assert _copied(bench, hot) < backlog, "the backlog is still there"
