"""What a task reports of one partition."""

from __future__ import annotations

import time

from flows.source.mirrored_partition import MirroredPartition
from mm2.config.text.expressions import hide
from mm2.core.model import NO_OFFSET
from mm2.protocol.progress_records import PartitionProgress


def partition_report(partition: MirroredPartition, now_ms: int) -> PartitionProgress:
    """The partition as it is now."""
    error = partition.error or next((s.last_error for s in partition.senders if s.last_error), None)
    progress, stats = partition.progress, partition.stats
    pinned_ms = round(1000 * partition.pinned.age_s(time.monotonic()))
    return PartitionProgress(
        topic=partition.source.topic,
        partition=partition.source.partition,
        remote=partition.sender.target.topic,
        records=progress.records,
        bytes=progress.bytes,
        position=progress.mirrored,
        end=partition.fetch.end,
        start=partition.fetch.start,
        lag=partition.lag,
        broker=partition.fetch.broker,
        latency_ms=progress.latency_ms,
        lost=partition.gaps.lost,
        diverged=partition.gaps.diverged,
        gaps=tuple(partition.gaps.reports),
        skipped=progress.skipped,
        contested=progress.is_contested,
        first=stats.first,
        dead_letters=progress.dead_letters,
        pinned_since_ms=now_ms - pinned_ms if pinned_ms else NO_OFFSET,
        backfill=max(0, stats.live_from - partition.reached),
        age_ms=stats.age.sample(now_ms),
        replication_ms=stats.replication.sample(now_ms),
        live_ms=stats.live.sample(now_ms),
        record_bytes=stats.record_bytes.sample(now_ms),
        error=error and hide(error),
    )
