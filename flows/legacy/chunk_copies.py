"""The copies of what one fetch has brought: collected, and sent as batches."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from flows.legacy.copies_under_way import CopiesUnderWay, SourceCopies
from flows.source.forward.dead_letters import CONSUMED, Failure
from flows.source.forward.recode import encode, records_of
from flows.source.forward.record_batch import Batch
from flows.source.forward.record_body import DecodedRecord, unreadable_record
from flows.source.transform.fetched_chunk import FetchedChunk
from mm2.core.model import TopicName, TopicPartition
from mm2.core.unacknowledged_offsets import BatchOffsets
from mm2.kafka.wire.compression import Compression
from mm2.kafka.wire.error_codes import Code


@dataclass(slots=True, eq=False)
class _CollectedBatch:
    how: Compression
    records: list[DecodedRecord] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    size: int = 0

    def add(self, record: DecodedRecord) -> None:
        self.records.append(record)
        self.offsets.append(record.offset)
        self.size += len(record.body)


class ChunkCopies:
    """
    Sends the copies of a chunk.

    Args:
        batch_size: bytes of the records in a batch; a larger record has one of its own.

    Attributes:
        source: the partition that the chunk is of.
        keyless: decides about copies without a key; any partition will do, as in Java's producer.
    """

    def __init__(
        self,
        chunk: FetchedChunk,
        source: SourceCopies,
        under_way: CopiesUnderWay,
        *,
        batch_size: int,
    ) -> None:
        self.chunk = chunk
        self.source = source
        self._batch_size = batch_size
        self.keyless = random.randrange(1 << 31)  # noqa: S311 - no secret
        self._under_way = under_way
        self._most: dict[TopicName, int] = {}
        self._begun: dict[TopicPartition, tuple[_CollectedBatch, BatchOffsets]] = {}

    async def read(self, batch: Batch) -> list[DecodedRecord]:
        """The records of a batch; one that cannot be read is left out as a whole, or fails."""
        position = self.chunk.position
        try:
            records = records_of(batch)
            if batch.base_offset >= position:
                return records
            return [each for each in records if each.offset >= position]
        except ValueError as error:
            offset = max(position, batch.base_offset)
            failure = Failure(
                source=self.source.partition.source,
                offset=offset,
                stage=CONSUMED,
                code=Code.CORRUPT_MESSAGE,
                reason=f"unreadable at offset {offset}: {error}",
            )
            letter = unreadable_record(offset, batch.data)
            await self.failed(failure, letter)
            return []

    async def failed(self, failure: Failure, record: DecodedRecord) -> None:
        """As ``CopiesUnderWay.failed``."""
        await self._under_way.failed(self.source, failure, record)

    def most_bytes(self, topic: TopicName) -> int:
        """Bytes of the records in a batch, by what was known of the topic when it was asked."""
        most = self._most.get(topic)
        if most is None:
            most = self._most[topic] = self._under_way.most_bytes(topic, self._batch_size)
        return most

    def add(self, target: TopicPartition, copy: DecodedRecord, how: Compression) -> None:
        """Adds a copy; sends first what is full, or is compressed in another way."""
        if target in self._begun:
            batch, offsets = self._begun[target]
            is_full = batch.size + len(copy.body) > self.most_bytes(target.topic)
            if not is_full and (batch.how is how or batch.how == how):
                batch.add(copy)
                return
            self._send(target, batch, offsets)
        batch = _CollectedBatch(how)
        batch.add(copy)
        self._begun[target] = batch, self.source.take(BatchOffsets(batch.offsets))

    def add_batch(self, target: TopicPartition, data: bytearray, offsets: Sequence[int]) -> None:
        """Sends a batch of copies behind those that were added."""
        self.send()
        taken = self.source.take(BatchOffsets(offsets))
        self._under_way.send(self._under_way.sender(target), data, self.source, taken)

    def send(self) -> None:
        """Sends all that is collected."""
        for target, (batch, offsets) in self._begun.items():
            self._send(target, batch, offsets)
        self._begun.clear()

    def _send(self, target: TopicPartition, batch: _CollectedBatch, offsets: BatchOffsets) -> None:
        data = encode(batch.records, batch.how).data
        self._under_way.send(self._under_way.sender(target), data, self.source, offsets)
