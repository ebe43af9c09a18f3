"""
How much memory a mirror's processes take together: while it copies as fast as it can, and while
the target does not answer but the source has more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

import psutil

from tests.harness.bench.copied import wait_for
from tests.harness.bench.measurements import Numbers
from tests.harness.bench.mirrors import Peer, family, running
from tests.harness.bench.settings import properties, source_cluster, target_cluster
from tests.harness.bench.throughput import Conditions
from tests.harness.bench.workload import WORKLOADS
from tests.support.cluster import KafkaCluster

_SAMPLE_EVERY_S: Final = 0.2
_STALLED_S: Final = 15.0
_WORKLOAD: Final = WORKLOADS["kilobyte-lz4"]
_STALL_AT: Final = 0.2
"""Part of the records that are copied when the target stalls."""


class Peak:
    """The most memory that was seen, in megabytes: resident, proportional, and by kind."""

    def __init__(self) -> None:
        self.rss = 0.0
        self.pss = 0.0
        self.kinds: dict[str, float] = {}

    def look(self, processes: Iterable[tuple[str, psutil.Process]]) -> None:
        """Looks once at processes, of which each comes with its kind."""
        rss: dict[str, float] = {}
        pss = 0.0
        with suppress(psutil.NoSuchProcess):
            for kind, process in processes:
                with suppress(psutil.NoSuchProcess):
                    memory = process.memory_full_info()
                    rss[kind] = rss.get(kind, 0.0) + memory.rss / 1e6
                    pss += memory.pss / 1e6
        if sum(rss.values()) > self.rss:
            self.rss, self.kinds = sum(rss.values()), rss
        self.pss = max(self.pss, pss)


def measure(peers: list[Peer], conditions: Conditions) -> dict[str, Numbers]:
    """
    The peaks of each peer.

    Raises:
        Stuck: one does not get on.
    """
    with source_cluster() as source:
        records = _WORKLOAD.write(source.bootstrap, conditions.scale)
        return {peer.name: _measured(peer, source, records, conditions) for peer in peers}


def _measured(peer: Peer, source: KafkaCluster, records: int, conditions: Conditions) -> Numbers:
    copying = _peak(peer, source, records, conditions, stalled_s=0)
    stalled = _peak(peer, source, records, conditions, stalled_s=_STALLED_S * conditions.scale)
    return {
        "copying_mb": copying.rss,
        "copying_pss_mb": copying.pss,
        "stalled_mb": stalled.rss,
        "stalled_pss_mb": stalled.pss,
        **{f"{kind}_mb": size for kind, size in stalled.kinds.items()},
    }


def _peak(
    peer: Peer, source: KafkaCluster, records: int, conditions: Conditions, *, stalled_s: float
) -> Peak:
    with target_cluster() as target:
        text = properties(source, target, tasks=conditions.tasks, more=conditions.settings)
        with running(peer, text) as mirror, watched(partial(family, mirror)) as peak:
            if stalled_s:
                wait_for(mirror, target.bootstrap, _WORKLOAD.partitions, int(records * _STALL_AT))
                target.pause()
                time.sleep(stalled_s)
                target.resume()
            wait_for(mirror, target.bootstrap, _WORKLOAD.partitions, records)
            return peak


@contextmanager
def watched(
    processes: Callable[[], Iterable[tuple[str, psutil.Process]]], every_s: float = _SAMPLE_EVERY_S
) -> Iterator[Peak]:
    """Looks at processes now and then, for as long as the context lasts."""
    peak, done = Peak(), threading.Event()

    def look() -> None:
        while not done.wait(every_s):
            peak.look(processes())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peak
    finally:
        done.set()
        thread.join()
