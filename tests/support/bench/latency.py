"""
How long a record is under way.

A producer writes at a steady rate, a consumer waits in the other cluster. What both need without a
mirror between them, producer to consumer in one cluster, is measured first and subtracted.
"""

from __future__ import annotations

from typing import Final

from tests.support.bench.mirrors import Peer, running
from tests.support.bench.outcome import Numbers
from tests.support.bench.probes import Arrivals, Source, percentiles
from tests.support.bench.settings import properties, source_cluster, target_cluster
from tests.support.bench.throughput import Conditions
from tests.support.bench.workload import TOPIC
from tests.support.cluster import KafkaCluster
from tests.support.records import create_topic

RATES: Final = (200, 2_000)
"""Records a second."""

_PARTITIONS: Final = 4
_WARM_S: Final = 8.0
_MEASURED_S: Final = 15.0


def measure(rate: int, peers: list[Peer], conditions: Conditions) -> dict[str, Numbers]:
    """
    Percentiles of the delay at a rate, of each peer, and of what it is beyond one cluster's.

    Raises:
        Stuck: records do not arrive.
    """
    with source_cluster() as source:
        create_topic(source.bootstrap, TOPIC, _PARTITIONS)
        base = _delays(source, source, TOPIC, rate, conditions.scale)
        return {peer.name: _mirrored(peer, source, rate, base, conditions) for peer in peers}


def _mirrored(
    peer: Peer, source: KafkaCluster, rate: int, base: Numbers, conditions: Conditions
) -> Numbers:
    with target_cluster() as target:
        # Made before the mirror runs, so that a consumer can wait there.
        create_topic(target.bootstrap, f"A.{TOPIC}", _PARTITIONS)
        text = properties(source, target, tasks=conditions.tasks, more=conditions.settings)
        with running(peer, text):
            found = _delays(source, target, f"A.{TOPIC}", rate, conditions.scale)
    return {**found, **{f"beyond_{kind}": found[kind] - base[kind] for kind in base}}


def _delays(
    source: KafkaCluster, target: KafkaCluster, topic: str, rate: int, scale: float
) -> dict[str, float]:
    arrivals = Arrivals(target.bootstrap, [(topic, number) for number in range(_PARTITIONS)])
    writer = Source(source.bootstrap, [(TOPIC, number) for number in range(_PARTITIONS)])
    with arrivals.collected():
        writer.until_arrived(arrivals)
        arrivals.wait_for(writer.write_for(_WARM_S * scale, rate))
        before = len(arrivals.delays_ms)
        arrivals.wait_for(writer.write_for(_MEASURED_S * scale, rate))
    return percentiles(arrivals.delays_ms[before:])
