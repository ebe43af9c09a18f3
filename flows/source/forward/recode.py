"""
Re-encoding of batches that cannot be forwarded as they are, or are too small to be worth it.

Only offset and timestamp deltas are rewritten, so keys, values and headers are never decoded and
may hold any bytes. Compiled code does it; Python does until that is compiled, for formats before
record batches, and to name the damage of a batch.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from flows.source.fetch.contiguous_batches import MOST_RECORDS, ContiguousBatches, Piece, each_batch
from flows.source.forward.record_batch import (
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    Batch,
    assemble,
    base_timestamp,
    plain,
    split,
)
from flows.source.forward.record_body import DecodedRecord, keyed_body, read_varint, varint
from mm2.kafka.wire.compiled import NotCarried, RecordsSection, reencode
from mm2.kafka.wire.compression import MOST_PLAIN, NONE, Compression, TooLarge, compress, decompress
from mm2.kafka.wire.message_set_v01 import read_legacy

_EARLIEST: Final = -(1 << 63)
_LATEST: Final = (1 << 63) - 1
"""Timestamps that a batch can hold."""

_MOST_TOGETHER: Final = 4 << 20
"""Bytes of batches, not compressed, that become one. Their compressed size is no measure of it."""

_OF_RECORD: Final = 128
"""Bytes that a record takes in Python, however small it is."""


class Recoded(NamedTuple):
    """
    A batch that the target takes.

    Attributes:
        data: its bytes, without a producer.
        offsets: source offset of each record in it, ascending; some may repeat.
    """

    data: bytearray
    offsets: Sequence[int]


def records_of(batch: Batch, most: int = MOST_PLAIN) -> list[DecodedRecord]:
    """
    Returns the records that a consumer of the source would see, in order.

    ``most`` limits the bytes of memory that they may take, decompressed.

    Raises:
        TooLarge: they would take more.
        ValueError: if the bytes are not a batch.
    """
    if not _is_old(batch):
        _check_count(batch, most)
    return list(each_record(batch, most))


def _is_old(batch: Batch) -> bool:
    return batch.magic < MAGIC


def _check_count(batch: Batch, most: int) -> None:
    """As many as batches have that we write ourselves may be in any."""
    if batch.count > MOST_RECORDS and batch.count * _OF_RECORD > most:
        raise TooLarge(
            most, f"{batch.count} records, which count {_OF_RECORD} bytes each: more than {most}"
        )


def each_record(batch: Batch, most: int = MOST_PLAIN) -> Iterator[DecodedRecord]:
    """
    Yields what ``records_of`` returns.

    ``most`` limits the bytes that may come out of the batch, decompressed.

    Raises:
        TooLarge: more would come out.
        ValueError: if the bytes are not a batch.
    """
    if _is_old(batch):
        for old, timestamp, key, value in read_legacy(batch.data, most):
            yield DecodedRecord(old, timestamp, keyed_body(key, value))
        return
    payload = decompress(batch.codec, batch.data[HEADER_SIZE:], most=most)
    append_time = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME else None
    first = base_timestamp(batch.data)
    at = 0
    for _ in range(batch.count):
        size, at = read_varint(payload, at)
        end = at + size
        if size < 1 or end > len(payload):
            raise ValueError(f"the batch at offset {batch.base_offset} ends inside a record")
        delta, body = read_varint(payload, at + 1)  # after the record's unused attributes
        offset, body = read_varint(payload, body)
        timestamp = first + delta if append_time is None else append_time
        if not _EARLIEST <= timestamp <= _LATEST:
            raise ValueError(
                f"a record at offset {batch.base_offset + offset} has no possible time"
            )
        yield DecodedRecord(batch.base_offset + offset, timestamp, payload[body:end])
        at = end


def encode(records: Sequence[DecodedRecord], how: Compression) -> Recoded:
    """One batch of these records, at least one, with offsets from 0 and create time."""
    timestamps = [record.timestamp for record in records]
    first = timestamps[0]
    payload = bytearray()
    for delta, record in enumerate(records):
        head = b"\0" + varint(record.timestamp - first) + varint(delta)
        payload += varint(len(head) + len(record.body))
        payload += head
        payload += record.body
    offsets: Sequence[int] = [record.offset for record in records]
    if len(set(offsets)) == len(offsets):
        offsets = in_a_row(offsets)
    section = RecordsSection(memoryview(payload), [], first, max(timestamps))
    return _recoded(section, how, offsets)


def recode(
    pieces: Sequence[Piece], position: int, how: Compression, most: int = MOST_PLAIN
) -> Recoded | None:
    """
    Makes one batch of all records from ``position`` on; None if none is left.

    ``most`` limits the bytes that the records of one piece may take, decompressed.

    Raises:
        TooLarge: those of a piece that is alone would take more, or several together too much.
        ValueError: if the bytes are not batches.
    """
    try:
        section = reencode(joined(pieces, most), position)
    except NotCarried:
        return recode_bytes(pieces, position, how, most)
    if section is None:
        return None
    return _recoded(section, how, in_a_row(section.offsets))


def recode_bytes(
    pieces: Iterable[Piece], position: int, how: Compression, most: int = MOST_PLAIN
) -> Recoded | None:
    """The same as ``recode`` without compiled code: slow."""
    batches = each_batch(pieces)
    records = [r for batch in batches for r in records_of(batch, most) if r.offset >= position]
    return encode(records, how) if records else None


def joined(
    pieces: Sequence[Piece], most: int, *, together: int = _MOST_TOGETHER
) -> bytes | memoryview:
    """
    Batches side by side, not compressed.

    ``most`` limits the bytes that one may have then, ``together`` those of several.

    Raises:
        TooLarge: they would have more.
        ValueError: they are of an old format, or cannot be read.
    """
    if len(pieces) == 1:
        if isinstance(pieces[0], Batch):
            _check_count(pieces[0], most)
        return _plain(pieces[0], most)
    plains, room = [], min(together, most)
    for piece in pieces:
        plains.append(_plain(piece, room))
        room -= len(plains[-1])
        if room < 0:
            raise TooLarge(min(together, most))
    return b"".join(plains)


def _plain(piece: Piece, most: int) -> memoryview | bytes:
    if isinstance(piece, ContiguousBatches):
        return piece.data
    if _is_old(piece):
        raise NotCarried("the records are of an old format")
    if piece.codec == NONE:
        return piece.data
    return plain(piece, decompress(piece.codec, piece.data[HEADER_SIZE:], most=most))


def _recoded(section: RecordsSection, how: Compression, offsets: Sequence[int]) -> Recoded:
    return Recoded(batch_of(section, how, len(offsets)), offsets)


def batch_of(section: RecordsSection, how: Compression, count: int) -> bytearray:
    """A batch of so many records, without a producer."""
    return assemble(
        section.payload if how.codec == NONE else compress(how, section.payload),
        attributes=how.codec,
        count=count,
        base_timestamp=section.base_timestamp,
        max_timestamp=section.max_timestamp,
    )


def in_a_row(*parts: Sequence[int]) -> Sequence[int]:
    """All offsets; a range if they are one, which is cheaper to keep. None may repeat."""
    first, last = parts[0][0], parts[-1][-1]
    if last - first + 1 == sum(map(len, parts)):
        return range(first, last + 1)
    return parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))


def halve(
    data: bytes | bytearray, offsets: Sequence[int], most: int = MOST_PLAIN
) -> tuple[Recoded, Recoded]:
    """
    Splits a batch that is larger than the target accepts.

    The batch has offsets from 0 and at least two records; ``offsets`` are theirs in the source.
    Records of the same one are only separated if it has no others.

    Raises:
        ValueError: it cannot be read, or is too large for that.
    """
    (batch,) = split(memoryview(data))
    records = [
        DecodedRecord(offset, record.timestamp, record.body)
        for offset, record in zip(offsets, records_of(batch, most), strict=True)
    ]
    middle, how = _middle(offsets), Compression(batch.codec)
    return encode(records[:middle], how), encode(records[middle:], how)


def _middle(offsets: Sequence[int]) -> int:
    """The number of the record in the middle; the first of its offset, if that can be."""
    middle = len(offsets) // 2
    at = offsets[middle]
    return bisect_left(offsets, at) or bisect_right(offsets, at) % len(offsets) or middle


def first_of(data: bytes | bytearray, offsets: Sequence[int], most: int = MOST_PLAIN) -> Recoded:
    """
    Makes a batch of only the first record of another, and of those with the same offset.

    ``offsets`` are those in the source.

    Raises:
        ValueError: it cannot be read, or is too large for that.
    """
    (batch,) = split(memoryview(data))
    count = bisect_right(offsets, offsets[0])
    records = [
        DecodedRecord(offsets[0], record.timestamp, record.body)
        for record in islice(each_record(batch, most), count)
    ]
    return encode(records, Compression(batch.codec))
