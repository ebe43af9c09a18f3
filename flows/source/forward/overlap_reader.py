"""Reads what remote partitions hold beyond the committed positions, as far as it is compared."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

import structlog

from flows.source.forward.overlap import Overlap
from flows.source.forward.record_batch import HEADER_SIZE, CorruptBatch, read
from flows.source.mirrored_partition import MirroredPartition
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code, code_name
from mm2.kafka.wire.requests.fetch import FetchRequest
from mm2.kafka.wire.requests.list_offsets import LATEST
from mm2.kafka.wire.wire_client import WireClient

log = structlog.get_logger()

_MOST_BYTES: Final = 64 << 20
"""Of all overlaps together, decompressed, so that a start does not take long."""

_LEAST_BYTES: Final = 1 << 20
"""Of the overlap of one partition."""

_FETCH_BYTES: Final = 4 << 20
_WAIT_MS: Final = 100
_BACKOFF_S: Final = 0.2

_PASSING: Final = frozenset(
    {
        Code.LEADER_NOT_AVAILABLE,
        Code.NOT_LEADER_OR_FOLLOWER,
        Code.REPLICA_NOT_AVAILABLE,
        Code.OFFSET_NOT_AVAILABLE,
        Code.FENCED_LEADER_EPOCH,
        Code.UNKNOWN_LEADER_EPOCH,
        Code.KAFKA_STORAGE_ERROR,
    }
)
"""Another broker gives the records, or this one soon; without leave to read there is none."""


class OverlapReader:
    """
    Reads the overlaps of partitions; one that has used up its overlap is not fetched meanwhile.

    Args:
        partitions: of the task; may change at any time, followed by ``wake()``.
        supplied: called when a partition may be fetched again.
    """

    def __init__(
        self,
        target: WireClient,
        partitions: Mapping[TopicPartition, MirroredPartition],
        supplied: Callable[[], None],
    ) -> None:
        self._target = target
        self._partitions = partitions
        self._supplied = supplied
        self._wake = asyncio.Event()

    async def find(self, ends: Mapping[TopicPartition, int]) -> dict[TopicPartition, Overlap]:
        """
        Finds what remote partitions hold from the given offsets on, without reading it.

        Of a long one only the beginning will be read; what is not read will be copied twice.

        ``ends`` has the offset behind the record at the committed position.

        Raises:
            Unavailable: the target does not answer.
        """
        known = {where: end for where, end in ends.items() if end != NO_OFFSET}
        found = await self._target.list_offsets(known, LATEST)
        longer = {w: range(known[w], end) for w, end in found.items() if end > known[w]}
        most = max(_MOST_BYTES // max(len(longer), 1), _LEAST_BYTES)
        return {where: Overlap(unread, most, self.wake) for where, unread in longer.items()}

    def wake(self) -> None:
        """There are overlaps to read."""
        self._wake.set()

    async def run(self) -> None:
        """Reads one fetch of each overlap that is used up, until cancelled."""
        while True:
            self._wake.clear()
            waiting = [each for each in self._partitions.values() if each.fetch.waits_for_overlap]
            for partition in waiting:
                await self._read(partition)
            if not waiting:
                await self._wake.wait()

    async def _read(self, partition: MirroredPartition) -> None:
        overlap = partition.fetch.overlap
        if overlap is None:
            return
        try:
            data = await self._fetch(partition.sender.target, overlap)
        except Unavailable as error:
            log.debug("source.check_failed", error=str(error))
            await asyncio.sleep(_BACKOFF_S)
            with suppress(Unavailable):
                await self._target.refresh()  # another broker may lead it
            return
        await overlap.read_on(data)
        self._supplied()

    async def _fetch(self, where: TopicPartition, overlap: Overlap) -> memoryview:
        most = min(_FETCH_BYTES, max(overlap.most, _LEAST_BYTES))
        return await _read_at(self._target, where, overlap.unread.start, most)


async def end_without_markers(target: WireClient, where: TopicPartition, end: int) -> int:
    """
    The first of the transaction markers at the end of a log that ends at ``end``; ``end`` if none.

    Where a log lost its end, a transaction coordinator that did not know that a marker was written
    writes it again, at the place of a lost record.

    Raises:
        Unavailable: the target does not answer, or with bytes that are no batch.
    """
    while end > 0:
        try:
            batch = read(await _read_at(target, where, end - 1, most=HEADER_SIZE), 0)
        except CorruptBatch as error:
            raise Unavailable(target.alias, f"{where}: {error}") from error
        if batch is None or not batch.is_control or batch.base_offset >= end:
            break
        end = batch.base_offset
    return end


async def _read_at(target: WireClient, where: TopicPartition, offset: int, most: int) -> memoryview:
    """Records from an offset on, at least a whole batch; none without leave to read."""
    if (node := target.leader(where)) is None:
        raise Unavailable(target.alias, f"{where} has no leader")
    await asyncio.sleep(target.throttle.delay(node))
    request = FetchRequest(
        max_wait_ms=_WAIT_MS,
        min_bytes=1,
        max_bytes=most,
        read_committed=False,
        topics={where.topic: [(where.partition, offset, most)]},
    )
    partitions = (await target.fetch(node, request)).partitions
    if not partitions:  # The broker throttles us.
        raise Unavailable(target.alias, f"no answer about {where}")
    if (error := partitions[0].error) in _PASSING:
        raise Unavailable(target.alias, f"{where}: {code_name(error)}")
    return partitions[0].records if error == Code.NONE else memoryview(b"")
