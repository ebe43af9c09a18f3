"""Segments of a partition's log, and their indexes, as brokers keep them on disk."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

from aiokafka.errors import CorruptRecordException
from aiokafka.record.memory_records import MemoryRecords
from crc32c import crc32c

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")

_START: Final = Struct(">qiiBI")
"""First offset, length of what follows it, leader's epoch, format, checksum."""

_REST: Final = Struct(">hiqqqhii")
_REST_AT: Final = 21
_LENGTH_ENDS: Final = 12
_OLDER: Final = Struct(">IBB")
"""Of the formats before 2, behind the length: checksum, format, attributes."""

_CURRENT: Final = 2
_TRANSACTIONAL: Final = 1 << 4
_CONTROL: Final = 1 << 5
_INDEX_ENTRY: Final = Struct(">ii")
_TIME_ENTRY: Final = Struct(">qi")


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentBatch:
    """
    A batch; of formats before 2, a message or a wrapper of several.

    Attributes:
        position: of its first byte in the file.
        size: in bytes.
        last_offset: of its last record; None with formats before 2.
        max_timestamp: in milliseconds since 1970; None with formats before 2.
        is_valid: whether the checksum is that of its bytes.
        checksum: as it stands there; replicas of a batch have the same.
    """

    position: int
    size: int
    base_offset: int
    last_offset: int | None = None
    count: int | None = None
    magic: int
    codec: str
    leader_epoch: int = -1
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    is_transactional: bool = False
    is_control: bool = False
    max_timestamp: int | None = None
    is_valid: bool
    checksum: int


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A record of a batch."""

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def read_batches(data: memoryview) -> Iterator[SegmentBatch]:
    """The batches of a segment; a last one that is not there as a whole is left out."""
    at = 0
    while (size := _size_at(data, at)) is not None:
        batch = _batch(data, at, size)
        yield batch
        at += size


def rest_behind(data: memoryview, last: SegmentBatch | None) -> int:
    """The bytes behind the last whole batch; zeros at the end of the file do not count."""
    at = 0 if last is None else last.position + last.size
    return len(bytes(data[at:]).rstrip(b"\0"))


def read_records(data: memoryview, batch: SegmentBatch) -> list[SegmentRecord] | None:
    """The records of a batch; None if they cannot be read."""
    found = MemoryRecords(bytes(data[batch.position : batch.position + batch.size]))
    try:
        whole = found.next_batch()
        return [
            SegmentRecord(each.offset, each.timestamp, each.key, each.value, tuple(each.headers))
            for each in (() if whole is None else whole)
        ]
    except (CorruptRecordException, ValueError, IndexError, OSError, RuntimeError):
        return None


def order_mistake(batch: SegmentBatch, before: SegmentBatch | None) -> str | None:
    """What is wrong with where a batch begins; no checksum has that."""
    if before is None:
        return None
    last = _last(before, before.base_offset)
    if batch.base_offset > last:
        return None
    return f"the batch at offset {batch.base_offset} stands behind offset {last}"


def read_index(data: bytes, base_offset: int) -> list[tuple[int, int]]:
    """
    Offsets with the positions in the segment of the batches that have them.

    A broker makes the file larger than it has to be: what follows the last entry has zeros.
    """
    entries = [(base_offset + relative, at) for relative, at in _entries(_INDEX_ENTRY, data)]
    while entries and entries[-1] == (base_offset, 0):
        entries.pop()
    return entries


def read_time_index(data: bytes, base_offset: int) -> list[tuple[int, int]]:
    """Timestamps with the offset up to which the segment has none that is later."""
    entries = [(stamp, base_offset + relative) for stamp, relative in _entries(_TIME_ENTRY, data)]
    while entries and entries[-1] == (0, base_offset):
        entries.pop()
    return entries


def _entries(entry: Struct, data: bytes) -> Iterator[tuple[int, int]]:
    whole = data[: len(data) - len(data) % entry.size]
    yield from entry.iter_unpack(whole)


def index_mistakes(
    entries: Sequence[tuple[int, int]], batches: Sequence[SegmentBatch]
) -> Iterator[str]:
    """What an index says of a segment that is not so."""
    by_position = {each.position: each for each in batches}
    before = -1
    for offset, position in entries:
        batch = by_position.get(position)
        if offset <= before:
            yield f"offset {offset} stands behind {before}"
        elif batch is None:
            yield f"offset {offset}: no batch begins at position {position}"
        elif not batch.base_offset <= offset <= _last(batch, offset):
            yield f"offset {offset}: the batch at position {position} does not have it"
        before = offset


def time_index_mistakes(
    entries: Sequence[tuple[int, int]], base_offset: int, batches: Iterable[SegmentBatch]
) -> Iterator[str]:
    """What a time index says that is not so: times grow, and offsets are the segment's."""
    end = max((_last(each, each.base_offset) for each in batches), default=-1)
    latest, before = -1, base_offset
    for stamp, offset in entries:
        if stamp <= latest:
            yield f"timestamp {stamp} stands behind {latest}"
        elif not base_offset <= offset <= end:
            yield f"timestamp {stamp}: the segment has no offset {offset}"
        elif offset < before:
            yield f"timestamp {stamp}: offset {offset} stands behind {before}"
        latest, before = stamp, offset


def _last(batch: SegmentBatch, unknown: int) -> int:
    return unknown if batch.last_offset is None else batch.last_offset


def _size_at(data: memoryview, at: int) -> int | None:
    if len(data) - at < _START.size:
        return None
    _, length, *_ = _START.unpack_from(data, at)
    size = _LENGTH_ENDS + int(length)
    is_whole = size >= _START.size and at + size <= len(data)
    return size if is_whole else None


def _batch(data: memoryview, at: int, size: int) -> SegmentBatch:
    base, _, leader_epoch, magic, checksum = _START.unpack_from(data, at)
    if magic < _CURRENT or size < _REST_AT + _REST.size:
        return _older(data, at, size)
    attributes, last, _, newest, producer, epoch, sequence, count = _REST.unpack_from(
        data, at + _REST_AT
    )
    return SegmentBatch(
        position=at,
        size=size,
        base_offset=base,
        last_offset=base + last,
        count=count,
        magic=magic,
        codec=_codec(attributes),
        leader_epoch=leader_epoch,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=bool(attributes & _TRANSACTIONAL),
        is_control=bool(attributes & _CONTROL),
        max_timestamp=newest,
        is_valid=crc32c(data[at + _REST_AT : at + size]) == checksum,
        checksum=checksum,
    )


def _older(data: memoryview, at: int, size: int) -> SegmentBatch:
    checksum, magic, attributes = _OLDER.unpack_from(data, at + _LENGTH_ENDS)
    (base,) = Struct(">q").unpack_from(data, at)
    return SegmentBatch(
        position=at,
        size=size,
        base_offset=base,
        magic=magic,
        codec=_codec(attributes),
        is_valid=zlib.crc32(data[at + _LENGTH_ENDS + 4 : at + size]) == checksum,
        checksum=checksum,
    )


def _codec(attributes: int) -> str:
    number = attributes & 0b111
    return CODECS[number] if number < len(CODECS) else str(number)
