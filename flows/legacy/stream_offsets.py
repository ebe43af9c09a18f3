"""
Commits of a stream: the smallest offset of each partition that is not acknowledged (KIP-3).

What the target has acknowledged out of order, behind a record that it has not, is not counted: a
restart sends that record again, and what follows it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

import structlog

from flows.legacy.offset_stores import OffsetStore
from flows.source.mirrored_partition import MirroredPartition
from mm2.core.model import TopicPartition
from mm2.errors import ClusterError

log = structlog.get_logger()

_LOOK_S: Final = 1.0


class StreamOffsets:
    """
    Commits the offsets of a stream's partitions.

    Args:
        partitions: shared with the parts that change them.
        interval_s: between two commits, in seconds.
    """

    def __init__(
        self,
        store: OffsetStore,
        partitions: Mapping[TopicPartition, MirroredPartition],
        *,
        interval_s: float,
    ) -> None:
        self._store = store
        self._partitions = partitions
        self._interval_s = interval_s
        self._one_at_a_time = asyncio.Lock()

    async def run(self) -> None:
        """
        Commits at intervals, until cancelled.

        A partition's first offset is committed at once: without any, a restart would begin where
        ``auto.offset.reset`` says, and with ``latest`` miss what came meanwhile.
        """
        due = time.monotonic() + self._interval_s
        while True:
            await asyncio.sleep(min(_LOOK_S, max(0.0, due - time.monotonic())))
            partitions = list(self._partitions.values())
            if time.monotonic() >= due:
                due = time.monotonic() + self._interval_s
            else:
                partitions = [p for p in partitions if p.progress.committed is None]
            with suppress(ClusterError):  # it is logged, and committed with the next ones
                await self.commit(partitions)

    async def commit(self, partitions: Iterable[MirroredPartition]) -> None:
        """
        Commits what has moved.

        Raises:
            ClusterError: not all is committed; it is tried again with the next commit.
        """
        async with self._one_at_a_time:
            moved = {
                each: each.progress.mirrored
                for each in partitions
                if each.fetch.position is not None and each.progress.has_moved
            }
            if not moved:
                return
            offsets = {each.source: mirrored + 1 for each, mirrored in moved.items()}
            try:
                done = await self._store.commit(offsets)
            except ClusterError as error:
                log.warning("stream.commit_failed", partitions=len(offsets), error=str(error))
                raise
            for each, mirrored in moved.items():
                if each.source in done:
                    each.progress.commit(mirrored)
            if refused := offsets.keys() - done:
                log.warning("stream.commit_failed", partitions=len(refused), error="see the group")
            log.debug("stream.committed", partitions=len(done))
