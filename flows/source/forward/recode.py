"""
Re-encoding of batches that cannot be forwarded as they are, or are too small to be worth it.

Only offset and timestamp deltas are rewritten, so keys, values and headers are never decoded and
may hold whatever bytes they like (a header key that is not UTF-8, say, which client libraries
refuse). Compiled code does it; Python does until that is compiled, for formats before record
batches, and to say what is wrong with a damaged batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from flows.source.fetch.contiguous_batches import MOST_RECORDS, ContiguousBatches, Piece, each_batch
from flows.source.forward.batch import (
    HEADER_SIZE,
    LOG_APPEND_TIME,
    Batch,
    assemble,
    base_timestamp,
    plain,
    split,
)
from mm2.kafka.wire.compiled import NotCarried, RecordsSection, reencode
from mm2.kafka.wire.compression import MOST_PLAIN, NONE, Compression, TooLarge, compress, decompress
from mm2.kafka.wire.message_set_v01 import read_legacy

_EARLIEST: Final = -(1 << 63)
_LATEST: Final = (1 << 63) - 1
"""Timestamps that a batch can hold."""

_MOST_PLAIN: Final = 4 << 20
"""Bytes of batches, not compressed, that become one. How small they compress says little of it."""

_OF_RECORD: Final = 128
"""Bytes that a record takes in Python, however small it is."""


@dataclass(frozen=True, slots=True)
class DecodedRecord:
    """
    One record: where and when, and the rest as bytes.

    Attributes:
        offset: in the source log.
        timestamp: in ms; -1 is none.
        body: encoded key, value and headers, from the key's length on.
    """

    offset: int
    timestamp: int
    body: bytes


class Recoded(NamedTuple):
    """
    A batch that the target takes.

    Attributes:
        data: its bytes, without a producer.
        offsets: source offset of each record in it, ascending.
    """

    data: bytearray
    offsets: Sequence[int]


def records_of(batch: Batch, most: int = MOST_PLAIN) -> list[DecodedRecord]:
    """
    The records that a consumer of the source would see, in order.

    Args:
        batch: which has them.
        most: bytes of memory that they may take, decompressed.

    Raises:
        TooLarge: they would take more.
        ValueError: if the bytes are not a batch.
    """
    if not _is_old(batch):
        _check_count(batch, most)
    return list(each_record(batch, most))


def _is_old(batch: Batch) -> bool:
    return batch.magic < 2  # noqa: PLR2004 - formats before record batches


def _check_count(batch: Batch, most: int) -> None:
    """As many as batches have that we write ourselves may be in any."""
    if batch.count > MOST_RECORDS and batch.count * _OF_RECORD > most:
        raise TooLarge(
            most, f"{batch.count} records, which count {_OF_RECORD} bytes each: more than {most}"
        )


def each_record(batch: Batch, most: int = MOST_PLAIN) -> Iterator[DecodedRecord]:
    """
    What ``records_of`` returns, one by one.

    Args:
        batch: which has them.
        most: bytes that may come out of it, decompressed.

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
    offsets = [record.offset for record in records]
    return _recoded(RecordsSection(memoryview(payload), offsets, first, max(timestamps)), how)


def recode(
    parts: Sequence[Piece], position: int, how: Compression, most: int = MOST_PLAIN
) -> Recoded | None:
    """
    One batch of all records from ``position`` on, as the target takes it; None if none is left.

    Args:
        parts: what it is made of.
        position: the first offset that counts.
        how: it is compressed.
        most: bytes of memory that the records of one part may take, decompressed.

    Raises:
        TooLarge: those of a part that is alone would take more.
        ValueError: if the bytes are not batches, or more than one that are together too large.
    """
    try:
        section = reencode(_joined(parts, most), position)
    except NotCarried:
        return recode_bytes(parts, position, how, most)
    return None if section is None else _recoded(section, how)


def recode_bytes(
    parts: Iterable[Piece], position: int, how: Compression, most: int = MOST_PLAIN
) -> Recoded | None:
    """The same as ``recode`` without compiled code: slow."""
    batches = each_batch(parts)
    records = [r for batch in batches for r in records_of(batch, most) if r.offset >= position]
    return encode(records, how) if records else None


def _joined(parts: Sequence[Piece], most: int) -> bytes | memoryview:
    if len(parts) == 1:
        if isinstance(parts[0], Batch):
            _check_count(parts[0], most)
        return _plain(parts[0], most)
    plains, room = [], min(_MOST_PLAIN, most)
    for part in parts:
        plains.append(_plain(part, room))
        room -= len(plains[-1])
        if room < 0:
            raise ValueError(f"{len(parts)} batches have more than {_MOST_PLAIN} bytes of records")
    return b"".join(plains)


def _plain(part: Piece, most: int) -> memoryview | bytes:
    if isinstance(part, ContiguousBatches):
        return part.data
    if _is_old(part):
        raise NotCarried("the records are of an old format")
    if part.codec == NONE:
        return part.data
    return plain(part, decompress(part.codec, part.data[HEADER_SIZE:], most=most))


def _recoded(section: RecordsSection, how: Compression) -> Recoded:
    offsets: Sequence[int] = section.offsets
    first, last, count = offsets[0], offsets[-1], len(offsets)
    data = assemble(
        section.payload if how.codec == NONE else compress(how, section.payload),
        attributes=how.codec,
        count=count,
        base_timestamp=section.base_timestamp,
        max_timestamp=section.max_timestamp,
    )
    if last - first + 1 == count:
        offsets = range(first, last + 1)  # cheaper to keep and to go through
    return Recoded(data, offsets)


def halve(
    data: bytes | bytearray, offsets: Sequence[int], most: int = MOST_PLAIN
) -> tuple[Recoded, Recoded]:
    """
    Two batches in the place of one that is larger than the target accepts.

    Args:
        data: the batch, offsets from 0, at least two records.
        offsets: source offset of each of its records.
        most: bytes of memory that they may take, decompressed.

    Raises:
        ValueError: it cannot be read, or is too large for that.
    """
    (batch,) = split(memoryview(data))
    records = [
        DecodedRecord(offset, record.timestamp, record.body)
        for offset, record in zip(offsets, records_of(batch, most), strict=True)
    ]
    middle, how = len(records) // 2, Compression(batch.codec)
    return encode(records[:middle], how), encode(records[middle:], how)


def first_of(data: bytes | bytearray, offsets: Sequence[int], most: int = MOST_PLAIN) -> Recoded:
    """
    A batch of nothing but the first record of another one.

    Args:
        data: the batch.
        offsets: source offset of each of its records.
        most: bytes of memory that they may take, decompressed.

    Raises:
        ValueError: it cannot be read, or is too large for that.
    """
    (batch,) = split(memoryview(data))
    record = next(each_record(batch, most))
    alone = DecodedRecord(offsets[0], record.timestamp, record.body)
    return encode([alone], Compression(batch.codec))


def keyed_body(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[bytes, bytes]] = ()
) -> bytes:
    """The body of a record: its key, its value and its headers."""
    names_and_values = [nullable(name) + nullable(data) for name, data in headers]
    return nullable(key) + nullable(value) + varint(len(headers)) + b"".join(names_and_values)


def nullable(data: bytes | None) -> bytes:
    """A length, -1 for None, and the bytes."""
    return varint(-1) if data is None else varint(len(data)) + data


def varint(value: int) -> bytes:
    """A signed number in Protocol Buffers' zig-zag encoding, as records use it."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """
    The signed number at ``at``, and where the next byte after it is.

    Raises:
        ValueError: if the data ends inside it, or it is longer than 64 bits.
    """
    value = shift = 0
    try:
        while (byte := data[at]) > 0x7F:  # noqa: PLR2004 - seven bits a byte
            value |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if shift > 63:  # noqa: PLR2004 - longer than any 64-bit number
                raise ValueError("a number in the batch is longer than 64 bits")
    except IndexError:
        raise ValueError("the batch ends inside a number") from None
    value |= byte << shift
    return (value >> 1) ^ -(value & 1), at + 1
