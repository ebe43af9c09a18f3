"""
Periodically checks topic ids, leaders, tombstone retention and open transactions.

That is: other topics under the same names, deleted topics, leaders that changed, tombstones that
may be gone, transactions that hang.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import structlog

from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import Gaps
from flows.source.monitor.remote_topics import RemoteTopics
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.source_gaps import GapKind, deletion_retention_ms
from mm2.errors import ClusterError
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.list_offsets import LATEST
from mm2.kafka.wire.requests.metadata import TopicMetadata
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import GapSpec

log = structlog.get_logger()

_SETTINGS_KEPT_S: Final = 300.0
_DOUBT_S: Final = 1.0
_LOOKED_AT_IN_A_SECOND: Final = 200
_STORE_EVERY_MS: Final = 3_600_000
"""How often the time of being complete is stored for a compacted topic without new records."""
_LOOKS_BETWEEN: Final = 2
"""Shorter retention than so many looks is not told apart: a copy cannot be known to be in time."""


class TopicMonitor:
    """
    Keeps an eye on both clusters for a task.

    Args:
        partitions: of the task; may change at any time, followed by ``wake()``.
        source: the source cluster.
        remote: compares the remote topics.
        gaps: takes note of what is missing.
        spec: how often, and when a transaction hangs.
        now_ms: the clock.
        changed: called when partitions may be fetched again, or have other leaders.
    """

    def __init__(
        self,
        *,
        partitions: Mapping[TopicPartition, MirroredPartition],
        source: WireClient,
        remote: RemoteTopics,
        gaps: Gaps,
        spec: GapSpec,
        now_ms: Callable[[], int],
        changed: Callable[[], None],
    ) -> None:
        self._partitions = partitions
        self._source = source
        self._remote = remote
        self._gaps = gaps
        self._spec = spec
        self._now_ms = now_ms
        self._changed = changed
        self._wake = asyncio.Event()
        self._missing: set[str] = set()
        self._retention_ms: dict[TopicName, int | None] = {}
        self._asked_s: dict[TopicName, float] = {}
        self._stored_ms: dict[TopicPartition, int] = {}

    def wake(self) -> None:
        """Looks at once."""
        self._wake.set()

    async def run(self) -> None:
        """Looks at each interval, until cancelled."""
        while True:
            self._wake.clear()
            await self._look(list(self._partitions.values()))
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause_s):
                    await self._wake.wait()

    @property
    def _pause_s(self) -> float:
        """Until the next look; a doubt does not wait for long."""
        return min(self._interval_s, _DOUBT_S) if self._remote.is_unsure else self._interval_s

    @property
    def _interval_s(self) -> float:
        """Longer with thousands of partitions, so that looking costs no more than a few ms/s."""
        return self._spec.look_every_s + len(self._partitions) / _LOOKED_AT_IN_A_SECOND

    async def _look(self, partitions: Sequence[MirroredPartition]) -> None:
        if not partitions:
            return
        # Each cluster is looked at by itself: one may be away.
        for look in (self._look_at_remotes, self._look_at_topics, self._look_at_ends):
            try:
                await look(partitions)
            except ClusterError as error:
                log.debug("source.look_failed", error=str(error))

    async def _look_at_remotes(self, partitions: Sequence[MirroredPartition]) -> None:
        before = [(p.is_remote_there, p.is_settled) for p in partitions]
        await self._remote.look(partitions)
        # One that begins again in a new remote topic is there as it was before.
        if before != [(p.is_remote_there, p.is_settled) for p in partitions]:
            self._changed()

    async def _look_at_topics(self, partitions: Sequence[MirroredPartition]) -> None:
        ends = [partition.end for partition in partitions]
        topics = await self._source.describe({p.source.topic for p in partitions})
        missing = {n for n, t in topics.items() if t.error == Code.UNKNOWN_TOPIC_OR_PARTITION}
        is_stale = False
        for partition, end in zip(partitions, ends, strict=True):
            topic = topics.get(partition.source.topic)
            if topic is None:
                continue
            is_stale |= partition.is_missing != (topic.name in missing)
            partition.is_missing = topic.name in missing
            if self._is_another(partition, topic):
                partition.is_settled, is_stale = False, True
            elif partition.topic_id is not None:
                partition.known_end = end
        for name in missing - self._missing:
            log.warning("source.topic_missing", topic=name)
        self._missing = missing
        if is_stale:
            await self._source.refresh()
            self._changed()

    @staticmethod
    def _is_another(partition: MirroredPartition, topic: TopicMetadata) -> bool:
        """Whether the topic or its leader may not be what the position was compared with."""
        if topic.topic_id is not None and partition.topic_id not in (None, topic.topic_id):
            return True
        found = topic.partitions.get(partition.source.partition)
        return found is not None and found.leader_epoch > partition.settled_epoch

    async def _look_at_ends(self, partitions: Sequence[MirroredPartition]) -> None:
        now_s = time.monotonic()
        for partition in partitions:
            if not partition.is_end_current(now_s):
                partition.pinned.restart(now_s)
            gap = partition.pinned.overdue(after_s=self._spec.hanging_after_s, now_s=now_s)
            if gap is not None:
                self._gaps.found(partition, gap)
        await self._refresh_settings({p.source.topic for p in partitions if not p.is_missing})
        compacted = [
            p
            for p in partitions
            if p.position is not None and self._retention_ms.get(p.source.topic) is not None
        ]
        ends = await self._source.list_offsets([p.source for p in compacted], LATEST)
        for partition in compacted:
            if (end := ends.get(partition.source)) is not None:
                self._note_end(partition, end, self._retention_ms[partition.source.topic] or 0)

    def _note_end(self, partition: MirroredPartition, end: int, retention_ms: int) -> None:
        now_ms, behind = self._now_ms(), partition.catching_up
        seen_ms = int(_LOOKS_BETWEEN * self._interval_s * 1000)
        kept_ms = max(retention_ms, seen_ms)
        gap = behind.look(partition.reached, end, now_ms=now_ms, retention_ms=kept_ms)
        if gap is not None:
            self._gaps.found(partition, gap)
        if not behind.is_reported:
            self._gaps.closed(partition, GapKind.TOMBSTONES_EXPIRED)
        stored_ms = self._stored_ms.setdefault(partition.source, now_ms)
        if now_ms - stored_ms >= min(_STORE_EVERY_MS, max(retention_ms // 4, seen_ms)):
            self._stored_ms[partition.source], partition.committed = now_ms, None

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
