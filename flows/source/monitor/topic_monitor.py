"""
Periodically checks topic ids, leaders, tombstone retention and open transactions.

That is: other topics under the same names, deleted topics, leaders that changed, tombstones that
may be gone, transactions that hang.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import structlog

from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import GapReporter
from flows.source.monitor.remote_topics import RemoteTopics
from mm2.aligned_waits import aligned
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.source_gaps import GapKind, deletion_retention_ms
from mm2.errors import ClusterError
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.list_offsets import LATEST
from mm2.kafka.wire.requests.metadata import TopicMetadata
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import BundleSpec

log = structlog.get_logger()

_SETTINGS_KEPT_S: Final = 300.0
_UNSURE_S: Final = 1.0
_CHECKED_IN_A_SECOND: Final = 100
_LATE_S: Final = 1.0
"""So much later than its interval a check may come."""

_STORE_EVERY_MS: Final = 3_600_000
"""How often the time of being complete is stored for a compacted topic without new records."""
_CHECKS_BETWEEN: Final = 2
"""Retention shorter than so many checks counts as so many: a copy cannot be seen earlier."""


class TopicMonitor:
    """
    Checks the topics of a task on both clusters at intervals.

    Args:
        partitions: of the task; may change at any time, followed by ``wake()``.
        changed: called when partitions may be fetched again, or have other leaders.
    """

    def __init__(
        self,
        *,
        partitions: Mapping[TopicPartition, MirroredPartition],
        source: WireClient,
        remote: RemoteTopics,
        gaps: GapReporter,
        spec: BundleSpec,
        now_ms: Callable[[], int],
        changed: Callable[[], None],
    ) -> None:
        self._partitions = partitions
        self._source = source
        self._remote = remote
        self._gaps = gaps
        self._least_interval_s = spec.monitor_interval_s
        hanging_s = spec.gaps.hanging_transaction.total_seconds()
        # Else nothing waits for transactions.
        self._hanging_after_s = hanging_s if spec.data.read_committed else math.inf
        self._now_ms = now_ms
        self._changed = changed
        self._wake = asyncio.Event()
        self._missing: set[str] = set()
        self._retention_ms: dict[TopicName, int | None] = {}
        self._asked_s: dict[TopicName, float] = {}
        self._stored_ms: dict[TopicPartition, int] = {}

    def wake(self) -> None:
        """Checks at once."""
        self._wake.set()

    async def run(self) -> None:
        """Checks at each interval, until cancelled."""
        while True:
            self._wake.clear()
            await self._check(list(self._partitions.values()))
            with suppress(TimeoutError):
                async with asyncio.timeout(aligned(self._pause_s)):
                    await self._wake.wait()

    @property
    def _pause_s(self) -> float:
        """Until the next check; soon, if something is not confirmed."""
        return min(self._interval_s, _UNSURE_S) if self._remote.is_unsure else self._interval_s

    @property
    def _interval_s(self) -> float:
        """Longer with thousands of partitions, so that checks cost no more than a few ms/s."""
        interval_s = self._least_interval_s + len(self._partitions) / _CHECKED_IN_A_SECOND
        return math.ceil(interval_s) if interval_s > 1 else interval_s

    async def _check(self, partitions: Sequence[MirroredPartition]) -> None:
        if not partitions:
            return
        # Each cluster is checked by itself: one may be away.
        for check in (self._check_remotes, self._check_topics, self._check_ends):
            try:
                await check(partitions)
            except ClusterError as error:
                log.debug("source.check_failed", error=str(error))

    async def _check_remotes(self, partitions: Sequence[MirroredPartition]) -> None:
        before = [(p.remote.is_there, p.validation.is_valid) for p in partitions]
        try:
            await self._remote.check(partitions)
        finally:
            # One that begins again in a new remote topic is there as it was before.
            if before != [(p.remote.is_there, p.validation.is_valid) for p in partitions]:
                self._changed()

    async def _check_topics(self, partitions: Sequence[MirroredPartition]) -> None:
        ends = [partition.fetch.end for partition in partitions]
        topics = await self._source.describe({p.source.topic for p in partitions})
        missing = {n for n, t in topics.items() if t.error == Code.UNKNOWN_TOPIC_OR_PARTITION}
        is_stale = False
        for partition, end in zip(partitions, ends, strict=True):
            topic = topics.get(partition.source.topic)
            if topic is None:
                continue
            validation = partition.validation
            is_stale |= validation.mark_missing(is_missing=topic.name in missing)
            if self._is_another(partition, topic):
                validation.invalidate()
                is_stale = True
            elif validation.topic_id is not None:
                validation.confirm_end(end)
        for name in missing - self._missing:
            log.warning("source.topic_missing", topic=name)
        self._missing = missing
        if is_stale:
            try:
                await self._source.refresh()
            finally:
                self._changed()

    @staticmethod
    def _is_another(partition: MirroredPartition, topic: TopicMetadata) -> bool:
        """Whether the topic or its leader may not be what the position was compared with."""
        known = partition.validation.topic_id
        if topic.topic_id is not None and known not in (None, topic.topic_id):
            return True
        found = topic.partitions.get(partition.source.partition)
        return found is not None and found.leader_epoch > partition.validation.checked_epoch

    async def _check_ends(self, partitions: Sequence[MirroredPartition]) -> None:
        now_s = time.monotonic()
        for partition in partitions:
            if not partition.is_end_current(now_s):
                partition.pinned.restart(now_s)
            gap = partition.pinned.overdue(after_s=self._hanging_after_s, now_s=now_s)
            if gap is not None:
                self._gaps.found(partition, gap)
        await self._refresh_settings(
            {p.source.topic for p in partitions if not p.validation.is_missing}
        )
        compacted = [
            p
            for p in partitions
            if p.fetch.position is not None and self._retention_ms.get(p.source.topic) is not None
        ]
        ends = await self._source.list_offsets([p.source for p in compacted], LATEST)
        for partition in compacted:
            if (end := ends.get(partition.source)) is not None:
                self._note_end(partition, end, self._retention_ms[partition.source.topic] or 0)

    def _note_end(self, partition: MirroredPartition, end: int, retention_ms: int) -> None:
        now_ms, behind = self._now_ms(), partition.catching_up
        seen_ms = int(_CHECKS_BETWEEN * (self._interval_s + _LATE_S) * 1000)
        kept_ms = max(retention_ms, seen_ms)
        gap = behind.look(partition.reached, end, now_ms=now_ms, retention_ms=kept_ms)
        if gap is not None:
            self._gaps.found(partition, gap)
        if not behind.is_reported:
            self._gaps.closed(partition, GapKind.TOMBSTONES_EXPIRED)
        stored_ms = self._stored_ms.setdefault(partition.source, now_ms)
        if now_ms - stored_ms >= min(_STORE_EVERY_MS, max(retention_ms // 4, seen_ms)):
            self._stored_ms[partition.source] = now_ms
            partition.progress.require_commit()

    async def _refresh_settings(self, topics: set[TopicName]) -> None:
        now_s = time.monotonic()
        due = [
            t for t in topics if now_s - self._asked_s.get(t, -_SETTINGS_KEPT_S) >= _SETTINGS_KEPT_S
        ]
        if not due:
            return
        found = await self._source.topic_settings(due, ("cleanup.policy", "delete.retention.ms"))
        for topic in due:
            self._asked_s[topic] = now_s
            self._retention_ms[topic] = deletion_retention_ms(found.get(topic, {}))
