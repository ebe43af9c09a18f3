"""
How long it takes from the command to the first copied record.

Each run has a fresh target, where all topics are still to be made; the files of both mirrors are in
the page cache.
"""

from __future__ import annotations

import statistics
import time

from tests.harness.bench.copied import wait_for
from tests.harness.bench.measurements import Numbers
from tests.harness.bench.mirrors import Peer, running
from tests.harness.bench.settings import properties, source_cluster, target_cluster
from tests.harness.bench.throughput import Conditions
from tests.harness.bench.workload import TOPIC
from tests.support.cluster import KafkaCluster
from tests.support.records import Sample, create_topic, produce


def measure(runs: int, peers: list[Peer], conditions: Conditions) -> dict[str, Numbers]:
    """
    The median of ``runs`` runs of each peer, after one that does not count.

    Raises:
        Stuck: no record arrives.
    """
    with source_cluster() as source:
        create_topic(source.bootstrap, TOPIC)
        produce(source.bootstrap, TOPIC, [Sample(value=b"first")])
        return {
            peer.name: {
                "start_s": statistics.median(
                    [_started(peer, source, conditions) for _ in range(runs + 1)][1:]
                )
            }
            for peer in peers
        }


def _started(peer: Peer, source: KafkaCluster, conditions: Conditions) -> float:
    with target_cluster() as target:
        text = properties(source, target, tasks=conditions.tasks, more=conditions.settings)
        began = time.monotonic()
        with running(peer, text) as mirror:
            wait_for(mirror, target.bootstrap, 1, 1)
            return time.monotonic() - began
