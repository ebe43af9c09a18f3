"""
Writes a task's progress to the progress topic: each second what changed, if anything has.

When nothing has, it writes a sign of life less often. Each partition is reported once a minute in
any case, so that readers need no older records.

A task may have thousands of partitions, most of them idle: each second only those with activity
are checked, and all of them at longer intervals. Where thousands are active, they take turns.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Final, TypeAlias

import structlog

from flows.source.mirrored_partition import MirroredPartition
from mm2.aligned_waits import aligned
from mm2.config.text.expressions import hide
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.policy import HEARTBEATS_TOPIC
from mm2.errors import ClusterError
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.progress_records import (
    BundleProgress,
    LoadProgress,
    PaceProgress,
    PartitionProgress,
    encode_progress,
)
from mm2.supervision import is_set_within

log = structlog.get_logger()

INTERVAL_S: Final = 1.0
_SIGN_OF_LIFE_S: Final = 3
"""Seconds between reports while nothing changes; the task counts as lost much later."""

_REPEAT_MS: Final = 60_000
_MOST_IN_ONE_RECORD: Final = 1000
"""Partitions; brokers take a mebibyte by default."""

_MOST_AT_ONCE: Final = 4000
"""Partitions in an interval. At 15 µs each, that is 6 % of the time of copying."""

_MOST_OF_FLOW: Final = 20_000
"""Of all its tasks in an interval: at 14 µs each, that is 28 % of a core of the leader."""

_TROUBLE: Final = slice(5)
"""Of a fingerprint: what operators must learn at once."""

_AT_ONCE: Final = 100
"""Up to so many partitions are all checked each time."""

_LATER_MS: Final = 10
"""For each one more, the check of all is so much later; activity is reported at once."""

_LATEST_MS: Final = 10_000
"""But not later, so that each is reported in time."""


_Fingerprint: TypeAlias = tuple[object, ...]
_Change: TypeAlias = tuple[_Fingerprint, PartitionProgress]


class TaskReporter:
    """
    Reports the progress of a task.

    ``partitions`` may change at any time; ``pace`` returns what holds the task back, and ``tasks``
    how many tasks report to the same leader.
    """

    def __init__(
        self,
        spec: BundleSpec,
        partitions: Mapping[TopicPartition, MirroredPartition],
        writer: Writer,
        now_ms: Callable[[], int],
        *,
        pace: Callable[[], PaceProgress],
        load: Callable[[], LoadProgress] = LoadProgress,
        tasks: Callable[[], int] = lambda: 1,
    ) -> None:
        self._spec = spec
        self._partitions = partitions
        self._writer = writer
        self._now_ms = now_ms
        self._pace = pace
        self._load = load
        self._tasks = tasks
        # By partition: its state when it was last reported, and when that was.
        self._reported: dict[TopicPartition, tuple[_Fingerprint, int]] = {}
        self._last_pace: tuple[int, PaceProgress] | None = None
        self._active: dict[TopicPartition, MirroredPartition] = {}
        self._all_at_ms = 0
        self._wake = asyncio.Event()
        self.generation = 0

    def wake(self) -> None:
        """Something happened that must be reported at once."""
        self._all_at_ms = 0
        self._wake.set()

    def touched(self, partition: MirroredPartition) -> None:
        """A partition has activity."""
        self._active[partition.source] = partition

    async def run(self) -> None:
        """Reports until cancelled."""
        while True:
            # Not afterwards: what happens while a report is on its way is not in it.
            self._wake.clear()
            await self.report(most=self._most)
            await self._until_due()

    @property
    def _most(self) -> int:
        return max(1, min(_MOST_AT_ONCE, _MOST_OF_FLOW // max(1, self._tasks())))

    async def _until_due(self) -> None:
        """Waits for changes, or for a sign of life: all tasks of a machine give it together."""
        began = asyncio.get_running_loop().time()
        while not await is_set_within(self._wake, aligned(INTERVAL_S)):
            now = asyncio.get_running_loop().time()
            is_due = round(now) % _SIGN_OF_LIFE_S == 0 or now - began >= _SIGN_OF_LIFE_S
            if is_due or self._has_changes():
                return

    def _has_changes(self) -> bool:
        is_reported = (self.generation, self._pace()) == self._last_pace
        # A heartbeat a second is not worth a report a second, which others fetch, too.
        return not is_reported or any(
            partition.source.topic != HEARTBEATS_TOPIC for _, partition in self._changes()
        )

    async def report(self, *, most: int | None = None) -> None:
        """
        Writes what has changed; also when nothing has, as a sign of life.

        Args:
            most: partitions, of which those in trouble come first and those whose last report is
                the oldest follow; None has no limit.
        """
        now_ms = self._now_ms()
        changes = list(self._changes())
        turns = 1
        if most is not None and len(changes) > most:
            turns = math.ceil(len(changes) / most)
            changes = nsmallest(most, changes, key=self._urgency)
        changed = [
            (fingerprint, partition_report(partition, now_ms)) for fingerprint, partition in changes
        ]
        for first in range(0, max(len(changed), 1), _MOST_IN_ONE_RECORD):
            if not await self._write(changed[first : first + _MOST_IN_ONE_RECORD], turns=turns):
                return

    async def final_report(self) -> None:
        """Reports, after all else, that everything is committed; others may wait for that."""
        await self._write([], is_last=True)

    async def _write(
        self, changed: Sequence[_Change], *, turns: int = 1, is_last: bool = False
    ) -> bool:
        progress = BundleProgress(
            bundle=self._spec.index,
            epoch=self._spec.epoch,
            generation=self.generation,
            time_ms=self._now_ms(),
            pid=os.getpid(),
            partitions=tuple(progress for _, progress in changed),
            pace=self._pace(),
            load=self._load(),
            is_last=is_last,
            turn_ms=round(1000 * INTERVAL_S) * turns,
        )
        key, value = encode_progress(progress)
        try:
            await self._writer.send(self._spec.progress_topic, key, value, partition=0)
        except ClusterError as error:
            log.warning("source.report_failed", error=str(error))
            return False
        self._last_pace = progress.generation, progress.pace
        for fingerprint, each in changed:
            self._reported[each.source] = fingerprint, progress.time_ms
            if (partition := self._partitions.get(each.source)) is not None:
                partition.progress.restart_latency()
        return True

    def _changes(self) -> Iterator[tuple[_Fingerprint, MirroredPartition]]:
        """The partitions that changed, or whose last report is long ago."""
        now_ms = self._now_ms()
        self._add_all_when_due(now_ms)
        for source, partition in list(self._active.items()):
            fingerprint = _fingerprint(partition)
            reported, at_ms = self._reported.get(source, (None, 0))
            if self._partitions.get(source) is not partition:
                del self._active[source]
            elif fingerprint != reported or now_ms - at_ms >= _REPEAT_MS:
                yield fingerprint, partition
            elif not partition.progress.queued and not partition.progress.uncommitted:
                del self._active[source]

    def _urgency(self, change: tuple[_Fingerprint, MirroredPartition]) -> tuple[bool, int]:
        fingerprint, partition = change
        reported, at_ms = self._reported.get(partition.source, ((), 0))
        return fingerprint[_TROUBLE] == reported[_TROUBLE], at_ms

    def _add_all_when_due(self, now_ms: int) -> None:
        if not 0 < self._all_at_ms - now_ms <= _LATEST_MS:
            later_ms = max(0, len(self._partitions) - _AT_ONCE) * _LATER_MS
            self._all_at_ms = now_ms + min(later_ms, _LATEST_MS)
            self._active = dict(self._partitions)


def _fingerprint(partition: MirroredPartition) -> _Fingerprint:
    """
    What differs whenever a partition's progress does, and costs less to make.

    It is made of thousands of partitions at a time, and nearly always for nothing.
    """
    progress, fetch, gaps = partition.progress, partition.fetch, partition.gaps
    return (
        gaps.lost,
        gaps.diverged,
        gaps.reports,
        progress.skipped,
        _error_of(partition),
        progress.records,
        progress.bytes,
        progress.mirrored,
        fetch.position,
        fetch.end,
        fetch.broker,
        progress.latency_ms,
        progress.queued,
        progress.uncommitted,
        progress.left_out,
    )


def _error_of(partition: MirroredPartition) -> str | None:
    """Its own error, or else one of a sender of its copies."""
    error = partition.error or partition.sender.last_error
    if error or not partition.routed.owners:
        return error
    return next((each.last_error for each in partition.routed.owners if each.last_error), None)


def partition_report(partition: MirroredPartition, now_ms: int) -> PartitionProgress:
    """The partition as it is now."""
    error = _error_of(partition)
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
        left_out=progress.left_out,
        pinned_since_ms=now_ms - pinned_ms if pinned_ms else NO_OFFSET,
        backfill=max(0, stats.live_from - partition.reached),
        age_ms=stats.age.sample(now_ms),
        replication_ms=stats.replication.sample(now_ms),
        live_ms=stats.live.sample(now_ms),
        record_bytes=stats.record_bytes.sample(now_ms),
        error=error and _writable(error),
    )


def _writable(error: str) -> str:
    """Without secrets, and without halves of characters that errors of users' classes may have."""
    return hide(error).encode(errors="replace").decode()
