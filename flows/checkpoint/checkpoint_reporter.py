"""Reports what the checkpoint flow does, for people and metrics, in the flow's progress topic."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from flows.checkpoint.followed_groups import FollowedGroups
from flows.checkpoint.group_offset_sync import GroupOffsetSync
from flows.checkpoint.outbox import CheckpointOutbox
from mm2.aligned_waits import aligned
from mm2.clock import now_ms
from mm2.core.internal_records import Checkpoint
from mm2.core.latency import Latency
from mm2.core.model import GroupId, TopicPartition
from mm2.errors import ClusterError
from mm2.kafka.chunks import chunks
from mm2.protocol.checkpoint_progress import (
    CheckpointLatency,
    CheckpointProgress,
    encode_checkpoint_progress,
)

log = structlog.get_logger()

INTERVAL_S: Final = 1.0
_MOST_IN_ONE_RECORD: Final = 1000

_Key = tuple[GroupId, TopicPartition]


class Latencies:
    """How long checkpoints take from choice to writing, for each group and partition."""

    def __init__(self) -> None:
        self._series: dict[_Key, Latency] = {}
        self._exact: dict[_Key, bool] = {}
        self._changed: dict[_Key, None] = {}

    def written(self, checkpoint: Checkpoint, timestamp_ms: int) -> None:
        """Notes that a checkpoint of this time is written now (C340)."""
        key, written_ms = (checkpoint.group, checkpoint.partition), now_ms()
        taken_ms = max(0, written_ms - timestamp_ms)
        if key in self._series:
            self._series[key].record(taken_ms, written_ms)
        else:
            self._series[key] = Latency(taken_ms, written_ms)
        self._exact[key] = checkpoint.exact
        self._changed[key] = None

    def changes(self) -> list[CheckpointLatency]:
        """Those with news since the last call."""
        changed, self._changed = self._changed, {}
        return [self._latency(key) for key in changed]

    def _latency(self, key: _Key) -> CheckpointLatency:
        (group, where), stats = key, self._series[key].stats(now_ms())
        return CheckpointLatency(
            group=group,
            topic=where.topic,
            partition=where.partition,
            last_ms=stats.last,
            min_ms=stats.least,
            max_ms=stats.most,
            avg_ms=stats.mean,
            exact=self._exact[key],
        )


class CheckpointReporter:
    """Writes progress records with the key ``checkpoint``."""

    def __init__(
        self,
        topic: str,
        outbox: CheckpointOutbox,
        groups: FollowedGroups,
        latencies: Latencies,
        sync: GroupOffsetSync,
    ) -> None:
        self._topic = topic
        self._outbox = outbox
        self._groups = groups
        self._latencies = latencies
        self._sync = sync
        self._reported: object = None

    async def run(self) -> None:
        """Reports what changed until cancelled."""
        while True:
            await asyncio.sleep(aligned(INTERVAL_S))
            await self.report()

    async def report(self) -> None:
        """Writes what changed since the last time."""
        changes = self._latencies.changes()
        state = len(self._groups.current), self._groups.of_other_types, self._sync.active
        if not changes and state == self._reported:
            return
        self._reported = state
        for some in chunks(changes, _MOST_IN_ONE_RECORD) if changes else [[]]:
            progress = CheckpointProgress(
                time_ms=now_ms(),
                groups=len(self._groups.current),
                other_types=tuple(sorted(self._groups.of_other_types)),
                active=tuple(sorted(self._sync.active)),
                latencies=tuple(some),
            )
            try:
                await self._outbox.write_report(self._topic, *encode_checkpoint_progress(progress))
            except ClusterError as error:
                log.warning("checkpoint.report_failed", error=str(error))
                return
