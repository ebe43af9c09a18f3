"""
Statistics of the batches of one partition, from their headers: no record is decoded.

Each batch counts once. Its time is that of its oldest record, so that ages and latencies are those
of the record that waited longest; its record size is its bytes, as compressed, over its records.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mm2.core.latency import LatencySeries
from mm2.core.model import NO_OFFSET


@dataclass(slots=True)
class BatchStats:
    """
    What a task knows of the batches of a partition.

    Attributes:
        first: source offset of the first record that was copied; -1 for none yet.
        live_from: where the source's log ended when the task first heard of it; what is before
            that is backfill. -1 if not known.
        age: of batches when they were fetched, in ms.
        replication: of batches when the target had them.
        live: the same without backfill.
        record_bytes: mean size of the records of a batch.
    """

    first: int = NO_OFFSET
    live_from: int = NO_OFFSET
    age: LatencySeries = field(default_factory=LatencySeries)
    replication: LatencySeries = field(default_factory=LatencySeries)
    live: LatencySeries = field(default_factory=LatencySeries)
    record_bytes: LatencySeries = field(default_factory=LatencySeries)

    def saw_end(self, end: int) -> None:
        """Learns where the source's log ends."""
        if self.live_from == NO_OFFSET:
            self.live_from = end

    def fetched(self, oldest_ms: int, now_ms: int) -> None:
        """Counts a batch that was read; -1 is a batch without a time."""
        if oldest_ms >= 0:
            self.age.record(now_ms - oldest_ms, now_ms)

    def acknowledged(
        self, first: int, *, count: int, size: int, oldest_ms: int, now_ms: int
    ) -> None:
        """Counts a batch that the target has."""
        if self.first == NO_OFFSET:
            self.first = first
        self.record_bytes.record(round(size / count), now_ms)
        if oldest_ms < 0:
            return
        self.replication.record(now_ms - oldest_ms, now_ms)
        if NO_OFFSET < self.live_from <= first:
            self.live.record(now_ms - oldest_ms, now_ms)
