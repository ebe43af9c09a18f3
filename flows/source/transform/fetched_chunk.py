"""What one fetch has brought of a partition, for copying record by record."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from flows.source.fetch.aborted_transactions import aborted_in, readable_end
from flows.source.forward.forwarder import continuing, read_failed
from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.recode import records_of
from flows.source.forward.record_batch import Batch, split
from flows.source.forward.record_body import DecodedRecord
from flows.source.mirrored_partition import MirroredPartition
from flows.source.transform.column_handle import ColumnHandle
from mm2.kafka.wire.compression import Compression
from mm2.kafka.wire.requests.fetch import FetchedPartition

_MOST_BYTES: Final = 256 << 10
"""Of batches that are changed together, as they were fetched: what else waits has its turn."""

_MOST_BYTES_OF_COLUMNS: Final = 1 << 20
"""The same of what is changed as columns, which is fast, but takes long to begin with SQL."""


@dataclass(slots=True)
class FetchedChunk:
    """
    Batches of one fetch, or of several that had to wait.

    Attributes:
        position: the first offset that counts.
        batches: without those of aborted transactions, if these are left out.
        end: the offset behind the last batch.
        size: in bytes, as fetched.
        resets: of the partition's ``FetchState`` when it was taken.
    """

    partition: MirroredPartition
    position: int
    batches: list[Batch]
    end: int
    size: int
    resets: int = 0
    _decoded: tuple[Batch, Sequence[DecodedRecord]] | None = None

    def merge(self, later: FetchedChunk) -> bool:
        """Adds what was fetched behind it, unless it is much; says whether it has."""
        follows = (later.position, later.resets) == (self.end, self.resets)
        if not follows or self.size + later.size > _most_together(self.partition):
            return False
        self.batches += later.batches
        self.end = later.end
        self.size += later.size
        return True

    def decode(self, batch: Batch, cover: range, most_plain: int) -> Sequence[DecodedRecord]:
        """
        The records of a batch within a range of offsets.

        Those of the last batch are kept, as parts of it may come in turn.

        Raises:
            ValueError: it cannot be read.
        """
        if batch.last_offset < cover.start or batch.base_offset >= cover.stop:
            return ()
        if self._decoded is None or self._decoded[0] is not batch:
            self._decoded = batch, records_of(batch, most_plain)
        if batch.base_offset >= cover.start and batch.last_offset < cover.stop:
            return self._decoded[1]
        records = self._decoded[1]
        first, behind = (
            bisect_left(records, at, key=attrgetter("offset")) for at in (cover.start, cover.stop)
        )
        return records[first:behind]


def _most_together(partition: MirroredPartition) -> int:
    """Bytes of batches of a partition that are changed together, as they were fetched."""
    is_fast = isinstance(partition.transform, ColumnHandle)
    return _MOST_BYTES_OF_COLUMNS if is_fast else _MOST_BYTES


def append_or_merge(chunks: MutableSequence[FetchedChunk], chunk: FetchedChunk) -> None:
    """
    Appends a chunk, or merges it into the last one, but not into the first, which is being changed.

    Many small chunks would take a request of SQL each.
    """
    if len(chunks) <= 1 or not chunks[-1].merge(chunk):
        chunks.append(chunk)


def alike(chunk: FetchedChunk, policy: MergePolicy) -> Iterator[tuple[Compression, list[Batch]]]:
    """Batches in a row that are to be compressed alike, not too many at a time."""
    most = _most_together(chunk.partition)
    group: list[Batch] = []
    size = 0
    for batch in chunk.batches:
        size += len(batch.data)
        if group and (size > most or policy.of(batch) != policy.of(group[0])):
            yield policy.of(group[0]), group
            group, size = [], len(batch.data)
        group.append(batch)
    if group:
        yield policy.of(group[0]), group


def take_chunk(
    partition: MirroredPartition,
    fetched: FetchedPartition,
    *,
    read_committed: bool,
    unreadable: Callable[[str], None],
) -> FetchedChunk | None:
    """
    Takes all whole batches from the partition's position on, and moves the position.

    Args:
        unreadable: called with the reason if a batch stays damaged however often it is fetched.
    """
    fetch = partition.fetch
    if fetch.is_held or fetch.position is None:
        return None
    end = readable_end(fetched, read_committed=read_committed)
    fetch.set_bounds(fetched.log_start, end)
    aborted = aborted_in(fetched, read_committed=read_committed)
    start, batches = fetch.position, []
    try:
        for batch in continuing(partition, split(fetched.records)):
            is_void = aborted.is_void(batch)
            if batch.last_offset < start:
                continue
            batch.verify()
            if not is_void:
                batches.append(batch)
            fetch.advance(batch.last_offset + 1, batch.leader_epoch, is_read=False)
    except ValueError as error:
        if read_failed(fetch, error):
            unreadable(str(error))
    if fetch.position == start:
        return None
    size = len(fetched.records)
    return FetchedChunk(partition, start, batches, fetch.position, size, fetch.resets)
