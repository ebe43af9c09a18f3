"""
What becomes of a gap: it is counted, logged, reported, kept, and stops its partition if so wished.

The last gap of each kind and partition is kept in the control topic, where later releases and other
tools find it after the task and its progress records are gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from flows.source.mirrored_partition import MirroredPartition
from mm2.core.positions.source_gaps import Gap, GapKind
from mm2.errors import ClusterError
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_codec import encode_gap
from mm2.protocol.progress_records import GapReport

log = structlog.get_logger()

_RETRY_S: Final = 5.0
_OF_REMOTE: Final = frozenset({GapKind.REMOTE_RECREATED, GapKind.REMOTE_TRUNCATED})
_OPEN: Final = frozenset({GapKind.TOMBSTONES_EXPIRED, GapKind.TRANSACTION_HANGING})


class GapReporter:
    """Counts, logs, reports and stores gaps; ``wake`` is called when a report is due at once."""

    def __init__(
        self,
        spec: BundleSpec,
        writer: Writer,
        *,
        now_ms: Callable[[], int],
        wake: Callable[[], None],
    ) -> None:
        self._spec = spec
        self._writer = writer
        self._now_ms = now_ms
        self._wake = wake
        self._unwritten: asyncio.Queue[tuple[bytes, bytes]] = asyncio.Queue()

    def found(self, partition: MirroredPartition, gap: Gap) -> bool:
        """Takes note of a gap; whether the partition may go on at ``gap.resume``."""
        fails = self._fails(gap.kind)
        partition.gaps.count(gap)
        self._report(partition, gap.kind, gap.first, gap.end, is_open=gap.kind in _OPEN)
        log_gap(partition, gap, fails=fails)
        if fails:
            partition.fail(f"{gap.kind.value}: offsets {gap.first} to {gap.end}")
        return not fails

    def closed(self, partition: MirroredPartition, kind: GapKind) -> None:
        """Takes note that what was reported as open is over."""
        if (report := partition.gaps.open(kind)) is None:
            return
        self._report(partition, kind, report.first, report.end, is_open=False)
        log.info(
            "source.gap_closed",
            kind=kind.value,
            topic=partition.source.topic,
            partition=partition.source.partition,
        )

    async def run(self) -> None:
        """Keeps what was noted in the control topic, until cancelled."""
        while True:
            key, value = await self._unwritten.get()
            while True:
                try:
                    await self._writer.send(self._spec.control_topic, key, value, partition=0)
                    break
                except ClusterError as error:
                    log.warning("source.report_failed", error=str(error))
                    await asyncio.sleep(_RETRY_S)

    def _fails(self, kind: GapKind) -> bool:
        if kind is GapKind.TRANSACTION_HANGING:
            return False
        if kind in _OF_REMOTE:
            return self._spec.gaps.fail_on_remote_gap
        return self._spec.gaps.fail_on_source_gap

    def _report(
        self, partition: MirroredPartition, kind: GapKind, first: int, end: int, *, is_open: bool
    ) -> None:
        report = GapReport(
            kind=kind.value, first=first, end=end, time_ms=self._now_ms(), is_open=is_open
        )
        partition.gaps.add(kind, report)
        self._unwritten.put_nowait(encode_gap(partition.source, report))
        self._wake()


def log_gap(partition: MirroredPartition, gap: Gap, *, fails: bool) -> None:
    """Logs a gap that was found; whether the partition stops because of it."""
    log.error(
        "source.gap_found",
        kind=gap.kind.value,
        topic=partition.source.topic,
        partition=partition.source.partition,
        first=gap.first,
        end=gap.end,
        records_lost=gap.lost,
        records_diverged=gap.diverged,
        resume=gap.resume,
        policy="fail" if fails else "report",
    )
