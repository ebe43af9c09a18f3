"""
What a task tells the world in the progress topic: each second what changed, if anything has.

When nothing has, it says less often that it lives. Each partition is spoken of once a minute in any
case, so that whoever looks has to read no more.

A task may have thousands of partitions, most of them idle: only those that something happened to
are looked at each second, all of them now and then.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Final, TypeAlias

import structlog

from flows.source.mirrored_partition import MirroredPartition
from mm2.core.model import TopicPartition
from mm2.errors import ClusterError
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.progress_records import (
    BundleProgress,
    PaceProgress,
    PartitionProgress,
    encode_progress,
)
from mm2.supervision import is_set_within

log = structlog.get_logger()

INTERVAL_S: Final = 1.0
_QUIET_LOOKS: Final = 3
"""So many intervals a task of which there is no news says nothing; it counts as lost much later."""

_REPEAT_MS: Final = 60_000
_MOST_IN_ONE_RECORD: Final = 2000
"""Partitions; brokers take a mebibyte by default."""

_AT_ONCE: Final = 100
"""So many partitions are all looked at each time."""

_LATER_MS: Final = 5
"""For each one more, all of them are looked at so much later; what happens tells so by itself."""

_LATEST_MS: Final = 5_000
"""But not later, so that each is spoken of in time."""


_Pulse: TypeAlias = tuple[object, ...]
_Change: TypeAlias = tuple[_Pulse, PartitionProgress]


class TaskReporter:
    """
    Reports the progress of a task.

    Args:
        spec: the bundle.
        partitions: of the task; may change at any time.
        writer: a producer of the target cluster.
        now_ms: the clock.
        pace: what holds the task back.
    """

    def __init__(
        self,
        spec: BundleSpec,
        partitions: Mapping[TopicPartition, MirroredPartition],
        writer: Writer,
        now_ms: Callable[[], int],
        *,
        pace: Callable[[], PaceProgress],
    ) -> None:
        self._spec = spec
        self._partitions = partitions
        self._writer = writer
        self._now_ms = now_ms
        self._pace = pace
        # By partition: its pulse when it was told of, and when that was.
        self._reported: dict[TopicPartition, tuple[_Pulse, int]] = {}
        self._told: tuple[int, PaceProgress] | None = None
        self._lively: dict[TopicPartition, MirroredPartition] = {}
        self._all_at_ms = 0
        self._wake = asyncio.Event()
        self.generation = 0

    def wake(self) -> None:
        """Something happened that should be known at once."""
        self._all_at_ms = 0
        self._wake.set()

    def touched(self, partition: MirroredPartition) -> None:
        """Something happened to a partition, or comes to be under way."""
        self._lively[partition.source] = partition

    async def run(self) -> None:
        """Reports until cancelled."""
        while True:
            # Not afterwards: what happens while a report is on its way is not in it.
            self._wake.clear()
            await self.report()
            await self._until_due()

    async def _until_due(self) -> None:
        """Waits for news, or until it is time for a sign of life."""
        for _ in range(_QUIET_LOOKS):
            if await is_set_within(self._wake, INTERVAL_S) or self._has_news():
                return

    def _has_news(self) -> bool:
        is_told = (self.generation, self._pace()) == self._told
        return not is_told or next(self._news(), None) is not None

    async def report(self) -> None:
        """Writes what is news; also when nothing is, as a sign of life."""
        changed = [(pulse, partition.progress()) for pulse, partition in self._news()]
        for first in range(0, max(len(changed), 1), _MOST_IN_ONE_RECORD):
            if not await self._write(changed[first : first + _MOST_IN_ONE_RECORD]):
                return

    async def final_report(self) -> None:
        """Says, after all else, that everything is committed: who waits for that need not guess."""
        await self._write([], is_last=True)

    async def _write(self, changed: Sequence[_Change], *, is_last: bool = False) -> bool:
        progress = BundleProgress(
            bundle=self._spec.index,
            epoch=self._spec.epoch,
            generation=self.generation,
            time_ms=self._now_ms(),
            pid=os.getpid(),
            partitions=tuple(progress for _, progress in changed),
            pace=self._pace(),
            is_last=is_last,
        )
        key, value = encode_progress(progress)
        try:
            await self._writer.send(self._spec.progress_topic, key, value, partition=0)
        except ClusterError as error:
            log.warning("source.report_failed", error=str(error))
            return False
        self._told = progress.generation, progress.pace
        for pulse, each in changed:
            self._reported[each.source] = pulse, progress.time_ms
            if (partition := self._partitions.get(each.source)) is not None:
                partition.latency_ms = 0
        return True

    def _news(self) -> Iterator[tuple[_Pulse, MirroredPartition]]:
        """The partitions of which something changed, or that were last told of long ago."""
        now_ms = self._now_ms()
        self._look_at_all_now_and_then(now_ms)
        for source, partition in list(self._lively.items()):
            pulse = _pulse(partition)
            told, at_ms = self._reported.get(source, (None, 0))
            if self._partitions.get(source) is not partition:
                del self._lively[source]
            elif pulse != told or now_ms - at_ms >= _REPEAT_MS:
                yield pulse, partition
            elif not partition.queued and not partition.uncommitted:
                del self._lively[source]

    def _look_at_all_now_and_then(self, now_ms: int) -> None:
        if not 0 < self._all_at_ms - now_ms <= _LATEST_MS:
            later_ms = max(0, len(self._partitions) - _AT_ONCE) * _LATER_MS
            self._all_at_ms = now_ms + min(later_ms, _LATEST_MS)
            self._lively = dict(self._partitions)


_state = attrgetter(
    "records",
    "bytes",
    "mirrored",
    "position",
    "end",
    "broker",
    "latency_ms",
    "lost",
    "diverged",
    "skipped",
    "error",
    "lane.last_error",
    "queued",
    "uncommitted",
)


def _pulse(partition: MirroredPartition) -> _Pulse:
    """
    What differs whenever a partition's progress does, and costs less to make.

    It is made of thousands of partitions at a time, and nearly always for nothing.
    """
    state: _Pulse = _state(partition)
    return (*state, *partition.gaps.values()) if partition.gaps else state
