"""
How fast a mirror copies what is there already.

The topic is full before the mirror starts, and the target is a fresh cluster; the brokers of both
have been written to and read from until their code is compiled. The clock starts when a part of
the records has arrived, so that neither start-up nor a mirror's cold JIT counts, and stops when the
last one has.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.harness.bench.copied import Copied
from tests.harness.bench.measurements import Numbers
from tests.harness.bench.mirrors import Mirror, Peer, cpu_s, running
from tests.harness.bench.settings import properties, source_cluster, target_cluster
from tests.harness.bench.warming import warm
from tests.harness.bench.workload import TOPIC, Workload
from tests.support.cluster import KafkaCluster

WARM_S: Final = 25.0
"""Brokers compile for so long what they do often, at the cost of who comes first."""

_MIRROR: Final = ("tasks", "driver", "JVM", "executors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """
    What holds for both peers.

    Attributes:
        tasks: ``tasks.max``.
        warm: the part of the records, from 0 to 1, that is copied before the clock starts.
        scale: of the numbers of records.
        settings: more lines for the properties file.
        own_settings: more of them, by the name of the peer that gets them.
    """

    tasks: int = 2
    warm: float = 0.25
    scale: float = 1.0
    settings: str = ""
    own_settings: Mapping[str, str] = field(default_factory=dict)

    def settings_of(self, peer: Peer) -> str:
        """The lines that a peer gets."""
        return self.settings + self.own_settings.get(peer.name, "")


def measure(workload: Workload, peers: list[Peer], conditions: Conditions) -> dict[str, Numbers]:
    """
    Lets mirrors copy a workload, one after the other, each to a fresh cluster.

    Raises:
        Stuck: one does not get on.
    """
    with source_cluster() as source:
        records = workload.write(source.bootstrap, conditions.scale)
        warm(source.bootstrap, WARM_S * conditions.scale)
        return {peer.name: _copied(peer, workload, source, records, conditions) for peer in peers}


def _copied(
    peer: Peer, workload: Workload, source: KafkaCluster, records: int, conditions: Conditions
) -> Numbers:
    with target_cluster(workload.brokers) as target:
        warm(target.bootstrap, WARM_S * conditions.scale, replicas=workload.brokers)
        text = properties(
            source,
            target,
            tasks=conditions.tasks,
            replicas=workload.brokers,
            more=workload.settings + conditions.settings_of(peer),
        )
        with running(peer, text) as mirror:
            timed = timed_copy(mirror, workload, records, (source, target), conditions.warm)
            return asyncio.run(timed)


async def timed_copy(
    mirror: Mirror,
    workload: Workload,
    records: int,
    clusters: tuple[KafkaCluster, KafkaCluster],
    warm: float,
    *,
    copy: str = f"A.{TOPIC}",
) -> Numbers:
    """
    Rates and costs of copying a workload's topic, from now on.

    Args:
        copy: its name on the target.

    Raises:
        Stuck: the mirror does not get on.
    """
    source, target = clusters
    brokers = [*source.pids, *target.pids]
    began = time.monotonic()
    async with Copied(mirror, target.bootstrap, workload.partitions, copy=copy) as copied:
        await copied.reaches(1)
        first = time.monotonic()
        before = await copied.reaches(max(1, int(records * warm)))
        started, used = time.monotonic(), cpu_s(mirror, brokers)
        await copied.reaches(records)
        ended = time.monotonic()
        seconds = ended - started
        cpu = {kind: now - used.get(kind, 0) for kind, now in cpu_s(mirror, brokers).items()}
    numbers = numbers_of(cpu, seconds, records - before, workload.size)
    return {"start_s": first - began, "whole_s": ended - began, **numbers}


def numbers_of(cpu: Numbers, seconds: float, records: int, size: int) -> Numbers:
    """
    Rates and costs of what was copied while the clock ran.

    Args:
        cpu: seconds by kind of process.
        seconds: that the clock ran.
        records: copied in this time.
        size: of each, in bytes.
    """
    gigabytes = records * size / 1e9
    mirror = sum(cpu.get(kind, 0.0) for kind in _MIRROR)
    machine = seconds * (os.cpu_count() or 1)
    return {
        "records_s": records / seconds,
        "megabytes_s": gigabytes * 1e3 / seconds,
        "cpu_copying": cpu.get("tasks", mirror) / gigabytes,
        "cpu_mirror": mirror / gigabytes,
        **{f"cpu_{kind}": cpu[kind] / gigabytes for kind in _MIRROR if kind in cpu},
        "cpu_brokers": cpu["brokers"] / gigabytes,
        "brokers_share": cpu["brokers"] / machine,
        "mirror_share": mirror / machine,
    }
