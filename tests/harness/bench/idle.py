"""
What many partitions cost in which nothing happens, and how soon a record in any of them is seen.
"""

from __future__ import annotations

import random
import time
from typing import Final

from tests.harness.bench.measurements import Numbers
from tests.harness.bench.mirrors import Mirror, Peer, cpu_s, running
from tests.harness.bench.probes import Arrivals, Source, percentiles
from tests.harness.bench.settings import properties, source_cluster, target_cluster
from tests.harness.bench.throughput import Conditions
from tests.support.records import create_topic

_TOPICS: Final = 20
_PARTITIONS: Final = 100
_WATCHED: Final = 60
"""Partitions that get records; the mirror does not know which. All would busy the consumer."""

_RATE: Final = 20
_SETTLE_S: Final = 30.0
"""Brokers compile what they do often; none shall do it while its CPU is measured."""

_NO_INDEX: Final = {"index.interval.bytes": str(1 << 20)}
"""The first entry of a partition's offset index, after 4 KiB by default, took a broker 50 ms."""

_IDLE_S: Final = 60.0
_PROBED_S: Final = 60.0


def measure(partitions: int, peers: list[Peer], conditions: Conditions) -> dict[str, Numbers]:
    """
    CPU of each peer with idle partitions, and percentiles of when records in some are seen.

    Raises:
        Stuck: records do not arrive.
    """
    topics = {f"bench-{n:02}": partitions // _TOPICS for n in range(_TOPICS)}
    everywhere = [(topic, number) for topic, count in topics.items() for number in range(count)]
    watched = random.Random(5).sample(everywhere, min(_WATCHED, len(everywhere)))
    return {peer.name: _measured(peer, topics, watched, conditions) for peer in peers}


def _measured(
    peer: Peer,
    topics: dict[str, int],
    watched: list[tuple[str, int]],
    conditions: Conditions,
) -> Numbers:
    # Brokers that have served another peer have their code compiled, and need less.
    with (
        source_cluster(undisturbed=True) as source,
        target_cluster(undisturbed=True) as target,
    ):
        for topic, count in topics.items():
            create_topic(source.bootstrap, topic, count, _NO_INDEX)
            create_topic(target.bootstrap, f"A.{topic}", count, _NO_INDEX)
        text = properties(source, target, tasks=conditions.tasks, more=conditions.settings)
        brokers = [*source.pids, *target.pids]
        with running(peer, text) as mirror:
            arrivals = Arrivals(target.bootstrap, [(f"A.{t}", p) for t, p in watched])
            writer = Source(source.bootstrap, watched, random_places=True)
            with arrivals.collected():
                writer.until_arrived(arrivals)
                arrivals.wait_for(writer.write_for(_SETTLE_S * conditions.scale, _RATE))
                used = _idle_cores(mirror, brokers, _IDLE_S * conditions.scale)
                before = len(arrivals.delays_ms)
                arrivals.wait_for(writer.write_for(_PROBED_S * conditions.scale, _RATE))
    return {**used, **percentiles(arrivals.delays_ms[before:])}


def _idle_cores(mirror: Mirror, brokers: list[int], seconds: float) -> dict[str, float]:
    before = cpu_s(mirror, brokers)
    time.sleep(seconds)
    cores = {kind: (now - before[kind]) / seconds for kind, now in cpu_s(mirror, brokers).items()}
    busy_brokers = cores.pop("brokers")
    return {"idle_cores": sum(cores.values()), "idle_brokers_cores": busy_brokers}
