"""
How fast a mirror copies what is there already.

The topics are full before the mirror starts, and the target is a fresh cluster. The clock starts
when a part of the records has arrived, so that neither start-up nor a cold JIT counts, and stops
when the last one has.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.bench.mirrors import Peer, cpu_s, running
from tests.support.bench.workload import PARTITIONS, Workload
from tests.support.cluster import KafkaCluster
from tests.support.demo.raw import RawCluster
from tests.support.process import Watched

_LOOK_EVERY_S: Final = 0.03
_STUCK_AFTER_S: Final = 120.0

_SETTINGS: Final = """\
clusters = A, B
A.bootstrap.servers = {source}
B.bootstrap.servers = {target}
A->B.enabled = true
topics = {name}-.*
tasks.max = {tasks}
replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
offset-syncs.topic.replication.factor = 1
offset.storage.replication.factor = 1
status.storage.replication.factor = 1
config.storage.replication.factor = 1
"""
"""The same file for both mirrors; whatever is not here is each one's default."""

TUNED: Final = """\
B.producer.batch.size = 131072
B.producer.linger.ms = 5
A.consumer.max.poll.records = 5000
A.consumer.max.partition.fetch.bytes = 4194304
"""
"""What people set to make Java's MirrorMaker faster."""

BROKER_OPTIONS: Final = ("-XX:TieredStopAtLevel=4",)
"""Unlike brokers of tests, these are worth compiling well."""


class Stuck(RuntimeError):
    """A mirror does not get on, or has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """
    What one mirror did with one workload while the clock ran.

    Attributes:
        peer: whose result it is.
        start_s: from the command to the first copied record.
        seconds: that the clock ran.
        records: copied in this time.
        bytes: of their values, before compression.
        cpu: seconds by kind of process.
    """

    peer: str
    start_s: float
    seconds: float
    records: int
    bytes: int
    cpu: Mapping[str, float]

    @property
    def records_s(self) -> float:
        """Records a second."""
        return self.records / self.seconds

    @property
    def megabytes_s(self) -> float:
        """Megabytes a second."""
        return self.bytes / 1e6 / self.seconds

    def cpu_per_gb(self, *kinds: str) -> float:
        """CPU seconds for each gigabyte, of all kinds of process named."""
        return sum(self.cpu.get(kind, 0.0) for kind in kinds) / (self.bytes / 1e9)


def measure(
    peer: Peer,
    workload: Workload,
    source: KafkaCluster,
    *,
    tasks: int,
    warm: float,
    settings: str = "",
) -> Result:
    """
    Lets a mirror copy a workload to a fresh cluster.

    Args:
        tasks: ``tasks.max``.
        warm: the part of the records, from 0 to 1, that is copied before the clock starts.
        settings: more lines for the properties file.

    Raises:
        Stuck: it does not get on.
    """
    with (
        tempfile.TemporaryDirectory(prefix="mm2-bench-") as folder,
        KafkaCluster("B", heap="1g", options=BROKER_OPTIONS) as target,
    ):
        properties = _SETTINGS.format(
            source=source.bootstrap, target=target.bootstrap, name=workload.name, tasks=tasks
        )
        with running(peer, properties + settings, Path(folder)) as mirror:
            clock = _Clock(peer, workload, mirror, [*source.pids, *target.pids])
            try:
                return asyncio.run(clock.run(target.bootstrap, warm))
            except Stuck as error:
                log = (Path(folder) / "mirror.log").read_text(errors="replace")
                raise Stuck(f"{error}\n{log[-3000:]}") from error


class _Clock:
    def __init__(self, peer: Peer, workload: Workload, mirror: Watched, brokers: list[int]) -> None:
        self._peer = peer
        self._workload = workload
        self._mirror = mirror
        self._brokers = brokers
        self._topics = {f"A.{topic}": PARTITIONS for topic in workload.topics}
        self._all = sum(workload.topics.values())

    async def run(self, bootstrap: str, warm: float) -> Result:
        began = time.monotonic()
        async with RawCluster("B", bootstrap) as target:
            await self._until(target, 1)
            first = time.monotonic()
            copied = await self._until(target, max(1, int(self._all * warm)))
            started, before = time.monotonic(), self._cpu()
            await self._until(target, self._all)
            seconds, after = time.monotonic() - started, self._cpu()
        return Result(
            peer=self._peer.name,
            start_s=first - began,
            seconds=seconds,
            records=self._all - copied,
            bytes=(self._all - copied) * self._workload.record_bytes,
            cpu={kind: used - before.get(kind, 0.0) for kind, used in after.items()},
        )

    async def _until(self, target: RawCluster, records: int) -> int:
        seen, moved = -1, time.monotonic()
        while seen < records:
            copied = sum((await target.ends(self._topics)).values())
            if copied > seen:
                seen, moved = copied, time.monotonic()
            if self._mirror.status is not None:
                raise Stuck(f"{self._peer.name} ended with status {self._mirror.status}")
            if time.monotonic() - moved > _STUCK_AFTER_S:
                raise Stuck(f"{self._peer.name} stays at {seen} of {self._all} records")
            if seen < records:
                await asyncio.sleep(_LOOK_EVERY_S)
        return seen

    def _cpu(self) -> dict[str, float]:
        return cpu_s(self._mirror, self._brokers)
