"""
Offset syncs: pairs of an upstream and a downstream offset of the same record.

When one is due is Java's rule (``OffsetSyncWriter``, behaviours section 7), applied to whole
batches. They go to ``mm2-offset-syncs.<other cluster>.internal``, at most ten unacknowledged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import structlog

from flows.source.partition import Mirrored
from flows.source.produce import Outgoing
from mm2.core.model import NO_OFFSET
from mm2.core.offset_sync import OffsetSyncQueue
from mm2.errors import ClusterError
from mm2.herder.bundle import OffsetSyncSpec
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_MOST_UNACKNOWLEDGED: Final = 10


class OffsetSyncs:
    """
    Publishes the offset syncs of a task.

    Args:
        spec: where, and how often.
        writer: a producer of the cluster that holds the topic.
    """

    def __init__(self, spec: OffsetSyncSpec, writer: Writer) -> None:
        self._spec = spec
        self._writer = writer
        self._queue = OffsetSyncQueue(spec.lag_max)
        self._due = asyncio.Event()

    def acknowledged(self, partition: Mirrored, batch: Outgoing) -> None:
        """Learns that the target has a batch, at the offset where it put it."""
        if batch.base_offset == NO_OFFSET:
            return
        downstream = batch.base_offset
        for first, count in _runs(batch.offsets):
            self._queue.update_range(partition.source, first, downstream, count)
            downstream += count
        self._due.set()

    async def run(self) -> None:
        """Publishes what is due, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self._publish()

    async def promote(self) -> None:
        """Publishes also what is not due yet, so that idle partitions are fully synced."""
        self._queue.promote()
        await self._publish()

    async def _publish(self) -> None:
        while due := self._queue.take(_MOST_UNACKNOWLEDGED):
            try:
                async with asyncio.TaskGroup() as group:
                    for sync in due:
                        key, value = sync.encode()
                        group.create_task(
                            self._writer.send(self._spec.topic, key, value, partition=0)
                        )
            except* ClusterError as errors:
                # Java drops a failed sync as well; the next one of the partition replaces it.
                log.warning("offset_syncs.failed", error=str(errors.exceptions[0]))


def _runs(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of consecutive offsets as (first, count)."""
    if isinstance(offsets, range):
        return [(offsets.start, len(offsets))]
    runs: list[tuple[int, int]] = []
    for offset in offsets:
        if runs and runs[-1][0] + runs[-1][1] == offset:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((offset, 1))
    return runs
