"""Sink connectors of one worker copy to several targets, exactly once, whoever is killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.connect import sample, standalone
from tests.support.mirror import Mirror
from tests.support.numbers import NumberReader, NumberWriter
from tests.support.records import create_topic

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.thorough,
    pytest.mark.timeout(600),
]
_PARTITIONS = 4
_KILLS = 3


def test_each_record_comes_once_to_each_target_whoever_is_killed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """One of the targets is on the source's own brokers: its alias makes it another cluster."""
    create_topic(cluster_a.bootstrap, unique, _PARTITIONS)
    source = f"S{unique[-4:]}"
    # In the samples the worker is at the second cluster and its sink's target is the first.
    connectors = {
        f"{target}.properties": sample(
            "connect-mirror-sink.properties",
            (cluster, cluster_a),
            {
                "name": f"{unique}->{target}",
                "source.cluster.alias": source,
                "target.cluster.alias": target,
                "topics": unique,
                "refresh.topics.interval.seconds": "1",
            },
        )
        for target, cluster in (("near", cluster_a), ("far", cluster_b))
    }
    worker = sample("connect-standalone.properties", (cluster_b, cluster_a), {})
    remote = f"{source}.{unique}"
    with NumberWriter(cluster_a, unique, _PARTITIONS) as writer:
        readers = [NumberReader(each, remote, _PARTITIONS) for each in (cluster_a, cluster_b)]
        for kill in range(_KILLS):
            with standalone(tmp_path, worker, connectors) as mirror:
                _progress(readers)
                _strike(mirror, kill)
                _progress(readers)
                mirror.kill()
                mirror.wait_gone()
        with standalone(tmp_path, worker, connectors) as mirror:
            _progress(readers)
            total = writer.close()
            for reader in readers:
                reader.wait(total)
            assert mirror.stop() == 0
    for reader in readers:
        assert reader.catch_up() == total
        assert reader.found == [list(range(n, total, _PARTITIONS)) for n in range(_PARTITIONS)]


def _progress(readers: list[NumberReader]) -> None:
    """Records come at every target, now and not only once."""
    for reader in readers:
        reader.wait(reader.count() + 2000)


def _strike(mirror: Mirror, kill: int) -> None:
    """Kills one of the worker's processes; which, goes round."""
    family = [each for each in mirror.family() if each.is_running()]
    victim = sorted(family, key=lambda each: each.create_time())[kill % len(family)]
    os.kill(victim.pid, signal.SIGKILL)
    time.sleep(0.1)
