"""What becomes of one fetched chunk: as columns where that can be done, else record by record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Final

from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.forwarder import end_overlap, read_failed
from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.record_batch import Batch
from flows.source.forward.record_body import DecodedRecord
from flows.source.mirrored_partition import MirroredPartition
from flows.source.transform.changed_batches import (
    NOTHING,
    SEND_AFTER_S,
    TURN_S,
    ChangedBatches,
    CollectedRecords,
    RecordCopies,
)
from flows.source.transform.column_handle import ChangedPart, ColumnHandle, prepare
from flows.source.transform.fetched_chunk import FetchedChunk, alike
from flows.source.transform.handler_batches import HandlerOfBatches
from flows.source.transform.target_routes import Routes
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.wire.compression import Compression
from mm2.supervision import is_set_within

_LOOK_S: Final = 1.0
"""How often a partition that waits for the target's records looks whether it was reset."""


class ChunkTransform:
    """
    Has the records of chunks changed, and sends what becomes of them.

    Args:
        partitions: of the task; may change at any time.
        routes: to other partitions of the target.
    """

    def __init__(
        self,
        changed: ChangedBatches,
        errors: ErrorPolicy,
        partitions: Mapping[TopicPartition, MirroredPartition],
        policy: MergePolicy,
        routes: Routes,
    ) -> None:
        self._changed = changed
        self._errors = errors
        self._partitions = partitions
        self._policy = policy
        self._routes = routes
        self._supplied = asyncio.Event()

    def supplied(self) -> None:
        """More is known of what the target has."""
        waiting, self._supplied = self._supplied, asyncio.Event()
        waiting.set()

    def is_current(self, chunk: FetchedChunk) -> bool:
        """Whether the partition is still ours, and has not gone back since."""
        is_ours = self._partitions.get(chunk.partition.source) is chunk.partition
        return is_ours and chunk.partition.fetch.resets == chunk.resets

    async def change(self, chunk: FetchedChunk) -> None:
        """Sends what becomes of a chunk; ends early when it is not current any more."""
        collected = CollectedRecords(chunk.position, Compression(0))
        for how, batches in alike(chunk, self._policy):
            if collected.size and how != collected.how:
                reached = max(batches[0].base_offset, collected.start)
                self._changed.send(chunk.partition, collected, reached)
            collected.how = how
            async for part in self._parts(chunk, batches):
                if not await self._send(chunk, collected, part):
                    await self._by_record(chunk, batches, part.covers, collected)
                if not self.is_current(chunk):
                    return
        self._changed.send(chunk.partition, collected, chunk.end)

    async def _parts(
        self, chunk: FetchedChunk, batches: Sequence[Batch]
    ) -> AsyncIterator[ChangedPart]:
        """What is changed as columns; nothing of it while copies of an earlier task are passed."""
        partition = chunk.partition
        cover = range(max(chunk.position, batches[0].base_offset), batches[-1].last_offset + 1)
        transform, is_passing = partition.transform, partition.fetch.overlap is not None
        if is_passing or not isinstance(transform, ColumnHandle | HandlerOfBatches):
            yield ChangedPart(cover)
            return
        limits = self._changed.limit(partition), self._policy.most_plain
        async for each in transform.parts(batches, cover, partition.sender.target, *limits):
            yield each

    async def _send(
        self, chunk: FetchedChunk, collected: CollectedRecords, part: ChangedPart
    ) -> bool:
        """Sends what was changed as columns; False if that is to be done one by one."""
        partition, made = chunk.partition, part.sections
        own, like = partition.sender, partition.source.topic
        if made is None:
            return False
        try:
            senders = {await self._routes.of(own, to, like): each for to, each in made.items()}
        except Exception:  # noqa: BLE001 - one by one, each record has its own error
            return False
        await asyncio.sleep(0)
        if self.is_current(chunk):
            self._changed.send_sections(partition, collected, senders, part.covers)
            partition.progress.count_left_out(part.left_out)
        return True

    async def _by_record(
        self,
        chunk: FetchedChunk,
        batches: Sequence[Batch],
        cover: range,
        collected: CollectedRecords,
    ) -> None:
        """Collects what becomes of records; ends early when the chunk is not current any more."""
        partition, turn, prepared = chunk.partition, time.monotonic() + TURN_S, 0
        decode = partial(chunk.decode, cover=cover, most_plain=self._policy.most_plain)
        for number, batch in enumerate(batches):
            records = self._records(chunk, batch, cover, collected)
            if number >= prepared:
                transform, target = partition.transform, partition.sender.target
                prepared = number + await prepare(transform, target, batches[number:], decode)
            for record in records:
                copies = await self._copies_in_time(chunk, record, collected)
                if time.monotonic() > turn:
                    await asyncio.sleep(0)
                    turn = time.monotonic() + TURN_S
                if not self.is_current(chunk):
                    return
                if copies.own or copies.routed:
                    self._changed.collect(partition, collected, record.offset, copies)
                elif copies is not NOTHING:
                    partition.progress.count_left_out(1)
            if not self.is_current(chunk):
                return

    def _records(
        self, chunk: FetchedChunk, batch: Batch, cover: range, collected: CollectedRecords
    ) -> Sequence[DecodedRecord]:
        """The records of a batch within a range; none if it cannot be read, and is read again."""
        partition = chunk.partition
        try:
            return chunk.decode(batch, cover, self._policy.most_plain)
        except ValueError as error:
            first = max(batch.base_offset, cover.start)
            self._changed.send(partition, collected, first)
            partition.fetch.go_back(first)
            if read_failed(partition.fetch, error):
                self._errors.unreadable(partition, batch.data, str(error))
            return ()

    async def _copies_in_time(
        self, chunk: FetchedChunk, record: DecodedRecord, collected: CollectedRecords
    ) -> RecordCopies:
        """What is to be sent of a record; what was collected before is sent if that takes long."""
        if not collected.size:
            return await self._copies(chunk, record, collected)
        loop = asyncio.get_running_loop()
        late = loop.call_later(SEND_AFTER_S, self._send_before, chunk, collected, record.offset)
        try:
            return await self._copies(chunk, record, collected)
        finally:
            late.cancel()

    def _send_before(self, chunk: FetchedChunk, collected: CollectedRecords, offset: int) -> None:
        if self.is_current(chunk):
            self._changed.send(chunk.partition, collected, offset)

    async def _copies(
        self, chunk: FetchedChunk, record: DecodedRecord, collected: CollectedRecords
    ) -> RecordCopies:
        """What is to be sent of a record; nothing if the target has it, or if it is left out."""
        partition = chunk.partition
        try:
            copies = await self._routes.copies(partition, record)
        except ClusterError as error:
            if self.is_current(chunk):
                self._changed.send(partition, collected, record.offset)
                self._try_again(partition, record, error)
            return NOTHING
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's code
            if self.is_current(chunk):
                self._changed.send(partition, collected, record.offset)
                reason = f"the transform fails at offset {record.offset}: {error!r}"
                await self._errors.failed_transform(partition, record, reason)
            if self.is_current(chunk):
                self._changed.send(partition, collected, record.offset + 1)
            return NOTHING
        if partition.fetch.overlap is None or not copies.own or not self.is_current(chunk):
            return copies
        if (found := await self._found(chunk, copies.own)) is None or not self.is_current(chunk):
            return copies
        self._changed.collect(partition, collected, record.offset, RecordCopies([], copies.routed))
        self._changed.send(partition, collected, record.offset + 1)
        partition.found_copies(record.offset, *found)
        return NOTHING

    def _try_again(
        self, partition: MirroredPartition, record: DecodedRecord, error: ClusterError
    ) -> None:
        """Goes back to a record for which a topic of the target is not ready."""
        partition.fetch.go_back(record.offset)
        if isinstance(error, Unavailable):
            partition.sender.report_error(str(error))
            partition.fetch.pause(_LOOK_S)
        else:
            self._errors.stop(partition, f"no topic for the record at {record.offset}: {error}")

    async def _found(
        self, chunk: FetchedChunk, copies: Sequence[DecodedRecord]
    ) -> tuple[int, int] | None:
        """Where the target has these copies next, of an earlier task; None if it does not."""
        partition, first = chunk.partition, NO_OFFSET
        for copy in copies:
            while (overlap := partition.fetch.overlap) is not None and overlap.is_used_up:
                await is_set_within(self._supplied, _LOOK_S)
                if not self.is_current(chunk):
                    return None
            if overlap is None:
                return None
            if not overlap.holds_next(copy):
                end_overlap(partition, overlap)
                return None
            first = overlap.end - 1 if first == NO_OFFSET else first
        return None if overlap is None else (first, overlap.end)
