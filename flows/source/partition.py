"""One mirrored partition: where it is, what is under way, what has been counted."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from flows.source.lane import Lane, Outgoing
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.herder.progress import PartitionProgress

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class Mirrored:
    """
    The state of one source partition in a task.

    Attributes:
        source: the source partition.
        lane: the way to its remote partition.
        position: next offset to fetch; None until it is known.
        mirrored: upstream offset of the last record that the target has.
        committed: the ``mirrored`` that the positions topic has; None if it has nothing.
        queued: bytes between fetch and acknowledgement.
        end: high watermark of the source, or the last stable offset when read committed.
        records: acknowledged records.
        bytes: acknowledged bytes.
        latency_ms: worst latency since it was last reported.
        lost: records that were gone before we could fetch them.
        begins_empty: it had no record at all when it was first looked at.
        pause_until: by the monotonic clock, in seconds; it is not fetched before.
        corrupt: how often in a row the batch at ``position`` could not be read.
        error: why it does not go on.
    """

    source: TopicPartition
    lane: Lane
    position: int | None = None
    mirrored: int = NO_OFFSET
    committed: int | None = None
    queued: int = 0
    end: int = NO_OFFSET
    records: int = 0
    bytes: int = 0
    latency_ms: int = 0
    lost: int = 0
    begins_empty: bool = False
    pause_until: float = 0.0
    corrupt: int = 0
    error: str | None = None

    @property
    def lag(self) -> int:
        """
        Records that the source has and the target does not.

        Counted in offsets. When nothing is under way, what was passed over (transaction markers,
        aborted records) is not counted as missing.
        """
        if self.end == NO_OFFSET:
            return 0
        reached = self.mirrored + 1
        if self.lane.is_idle and self.position is not None:
            reached = max(reached, self.position)
        return max(0, self.end - reached)

    def fail(self, reason: str) -> None:
        """Stops this partition, and no other, until a new task takes it on."""
        self.error = reason
        log.error(
            "source.partition_failed",
            topic=self.source.topic,
            partition=self.source.partition,
            position=self.position,
            reason=reason,
        )

    def acknowledge(self, batch: Outgoing, now_ms: int) -> None:
        """Counts a batch that the target has."""
        self.queued -= batch.size
        self.mirrored = batch.offsets[-1]
        self.records += len(batch.offsets)
        self.bytes += len(batch.data)
        if batch.max_timestamp >= 0:
            self.latency_ms = max(self.latency_ms, now_ms - batch.max_timestamp)

    def progress(self) -> PartitionProgress:
        """What the task reports of it."""
        return PartitionProgress(
            topic=self.source.topic,
            partition=self.source.partition,
            remote=self.lane.target.topic,
            records=self.records,
            bytes=self.bytes,
            position=self.mirrored,
            end=self.end,
            lag=self.lag,
            latency_ms=self.latency_ms,
            lost=self.lost,
            error=self.error or self.lane.last_error,
        )
