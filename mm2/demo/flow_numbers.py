"""What the tasks of a flow say of themselves, added up."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from mm2.core.model import SourceAndTarget
from mm2.demo.demo_traffic import BACK_DATED
from mm2.demo.raw_cluster import RawCluster
from mm2.kafka.logs.log_tail import LogTail
from mm2.protocol.progress_records import (
    BundleProgress,
    PartitionProgress,
    decode_progress,
    is_of_bundle,
)

_AGAIN_S: Final = 0.3
_RATE_OVER_S: Final = 5.0
_SILENT_AFTER_S: Final = 5.0


@dataclass(slots=True)
class FlowNumbers:
    """
    The numbers of one flow.

    Attributes:
        flow: which.
        partitions: the last report of each.
        latency_ms: worst latency in the last report that copied anything but back-dated records.
    """

    flow: SourceAndTarget
    partitions: dict[tuple[str, int], PartitionProgress] = field(default_factory=dict)
    latency_ms: int = 0
    _before: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    _history: deque[tuple[float, int, int]] = field(default_factory=deque)
    _heard: float = 0.0

    def add(self, report: BundleProgress, now_s: float) -> None:
        """Takes a report in."""
        self._heard = now_s
        for each in report.partitions:
            self._keep_counts(each)
            self.partitions[each.topic, each.partition] = each
        latencies = [
            each.latency_ms
            for each in report.partitions
            if each.latency_ms and each.topic not in BACK_DATED
        ]
        self.latency_ms = max(latencies, default=self.latency_ms)
        self._history.append((now_s, self.records, self.bytes))
        while len(self._history) > 2 and now_s - self._history[0][0] > _RATE_OVER_S:
            self._history.popleft()

    def _keep_counts(self, new: PartitionProgress) -> None:
        """A task that starts again counts from 0; what the former one copied still counts."""
        where = new.topic, new.partition
        old = self.partitions.get(where)
        if old is not None and new.records < old.records:
            records, size = self._before.get(where, (0, 0))
            self._before[where] = records + old.records, size + old.bytes

    @property
    def topics(self) -> int:
        """How many source topics are copied."""
        return len({topic for topic, _ in self.partitions})

    @property
    def records(self) -> int:
        """Copied records."""
        before = sum(records for records, _ in self._before.values())
        return before + sum(each.records for each in self.partitions.values())

    @property
    def bytes(self) -> int:
        """Copied bytes, as compressed."""
        before = sum(size for _, size in self._before.values())
        return before + sum(each.bytes for each in self.partitions.values())

    @property
    def lag(self) -> int:
        """Records that the source has and the target has not."""
        return sum(each.lag for each in self.partitions.values())

    @property
    def errors(self) -> list[str]:
        """What keeps partitions from going on."""
        return [f"{each.source}: {each.error}" for each in self.partitions.values() if each.error]

    def is_silent(self, now_s: float) -> bool:
        """Whether the tasks have said nothing for too long."""
        return now_s - self._heard > _SILENT_AFTER_S

    def rates(self) -> tuple[float, float]:
        """Records and bytes a second, over the last seconds."""
        if len(self._history) < 2:
            return 0.0, 0.0
        (began, records, size), (ended, more, larger) = self._history[0], self._history[-1]
        seconds = max(ended - began, 0.001)
        return (more - records) / seconds, (larger - size) / seconds


async def follow(numbers: FlowNumbers, bootstrap: str) -> None:
    """Keeps the numbers current, from the progress topic on the target; until cancelled."""
    flow = numbers.flow
    topic = f"mm2-progress.{flow.source}.internal"
    async with RawCluster(flow.target, bootstrap) as cluster:
        while True:
            if await cluster.ends({topic: 1}):
                break
            await asyncio.sleep(_AGAIN_S)
    async for record in LogTail(flow.target, {"bootstrap.servers": bootstrap}, topic):
        if is_of_bundle(record.key):
            numbers.add(decode_progress(record.value), time.monotonic())
