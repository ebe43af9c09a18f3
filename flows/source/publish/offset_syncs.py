"""
Offset syncs: pairs of an upstream and a downstream offset of the same record.

When one is due is Java's rule (``OffsetSyncWriter``, behaviours section 7), applied to whole
batches. They go to ``mm2-offset-syncs.<other cluster>.internal`` in rounds: what a newer sync of
the same partition has overtaken meanwhile is not sent, so that a fast flow does not spend its time
on syncs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import structlog

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicPartition
from mm2.core.translation.offset_sync import OffsetSyncQueue
from mm2.core.translation.runs import Runs
from mm2.errors import ClusterError
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import OffsetSyncSpec
from mm2.stop_deadlines import SYNCS_S

log = structlog.get_logger()

_ROUND_S: Final = 0.5
"""Between rounds while records come. What mm2 itself translates goes by exact runs."""

_ROUND_SIZE: Final = 200


class OffsetSyncs:
    """Publishes the offset syncs of a task."""

    def __init__(self, spec: OffsetSyncSpec, writer: Writer) -> None:
        self._spec = spec
        self._writer = writer
        self._queue = OffsetSyncQueue(spec.lag_max, _ROUND_SIZE)
        self._due = asyncio.Event()
        self._one_round = asyncio.Lock()

    def acknowledged(self, partition: TopicPartition, runs: Runs) -> None:
        """Learns that the target has the runs of a batch, none if nobody knows where."""
        if runs:
            self._queue.acknowledged_runs(partition, runs)
            self._due.set()

    def forget(self, partition: TopicPartition) -> None:
        """The task copies this partition no longer."""
        self._queue.forget(partition)

    async def run(self) -> None:
        """Publishes what is due, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            await self._round()
            await asyncio.sleep(_ROUND_S)

    async def end(self) -> None:
        """Publishes what is left, if that does not take long."""
        try:
            async with asyncio.timeout(SYNCS_S):
                await self.promote()
        except TimeoutError:
            self._failed(f"not written within {SYNCS_S:.0f} s")

    async def promote(self) -> None:
        """Publishes also what is not due yet, so that idle partitions are fully synced."""
        self._queue.promote_delayed()
        while await self._round():
            pass

    async def _round(self) -> int:
        async with self._one_round:
            syncs = list(self._queue.fire())
            if syncs:
                await self._send(syncs)
        if len(syncs) == _ROUND_SIZE:
            self._due.set()
        return len(syncs)

    async def _send(self, syncs: Sequence[OffsetSync]) -> None:
        records = [(sync.key(), sync.value()) for sync in syncs]
        try:
            await self._writer.send_all(self._spec.topic, records, partition=0)
        except ClusterError as error:
            self._failed(str(error))
        finally:
            for _ in syncs:
                self._queue.completed()

    def _failed(self, reason: str) -> None:
        """Java drops a failed sync as well; the partition's next one makes up for it."""
        log.warning("offset_syncs.failed", topic=self._spec.topic, error=reason)
