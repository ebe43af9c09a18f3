"""
Record batches written and read by hand, bit by bit, to check the data plane's own codec against.

Client libraries refuse some of what brokers keep (header keys that are not UTF-8, offset gaps,
delete horizons), so tests that need such batches build them here.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from aiokafka import codec
from aiokafka.record.util import decode_varint, encode_varint
from crc32c import crc32c

CODECS = range(5)
HEADER = struct.Struct(">qiibIhiqqqhii")

Headers = tuple[tuple[bytes, bytes | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    """One record as a batch holds it."""

    offset: int = 0
    timestamp: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()

    @property
    def content(self) -> tuple[object, ...]:
        """All that a mirror must keep."""
        return (self.timestamp, self.key, self.value, self.headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of a batch, field by field as the format documentation lists them."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    checksum: int
    attributes: int
    last_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    epoch: int
    sequence: int
    count: int


def write_batch(
    records: Sequence[Plain],
    *,
    codec_number: int = 0,
    attributes: int = 0,
    base_offset: int | None = None,
    last_offset: int | None = None,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    leader_epoch: int = 3,
) -> bytes:
    """
    A batch of these records with whatever else its header shall say.

    Args:
        records: in order; may be none if the offsets and timestamps are given.
        codec_number: how the records are compressed.
        attributes: other bits of the attributes.
        base_offset: of the batch; the first record's if not given.
        last_offset: of the batch; the last record's if not given.
        base_timestamp: what timestamp deltas are added to; the first record's if not given.
        max_timestamp: the largest of the records' if not given.
        producer: id, epoch and sequence.
        leader_epoch: of the partition's leader.
    """
    base = records[0].offset if base_offset is None else base_offset
    last = records[-1].offset if last_offset is None else last_offset
    first = records[0].timestamp if base_timestamp is None else base_timestamp
    latest = max(r.timestamp for r in records) if max_timestamp is None else max_timestamp
    payload = b"".join(_record(record, base, first) for record in records)
    payload = _compressed(codec_number, payload)
    fields = (attributes | codec_number, last - base, first, latest, *producer, len(records))
    signed = struct.pack(">hiqqqhii", *fields) + payload
    head = struct.pack(">ibI", leader_epoch, 2, crc32c(signed))
    return struct.pack(">qi", base, len(head) + len(signed)) + head + signed


def read_header(data: bytes | bytearray | memoryview) -> Header:
    """The header of a batch."""
    return Header(**dict(zip(Header.__slots__, HEADER.unpack_from(data), strict=True)))


def read_batch(data: bytes | bytearray | memoryview) -> list[Plain]:
    """The records of a batch with create time; checks its length and its checksum."""
    data = bytes(data)
    header = read_header(data)
    assert header.length == len(data) - 12
    assert header.checksum == crc32c(data[21:])
    payload = bytearray(_plain(header.attributes & 7, data[HEADER.size :]))
    records, at = [], 0
    for _ in range(header.count):
        record, at = _parsed(payload, at, header)
        records.append(record)
    assert at == len(payload)
    return records


def with_checksum(data: bytes | bytearray | memoryview) -> bytes:
    """A batch as it is sent: before that it has no checksum."""
    data = bytes(data)
    return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]


def write_legacy(
    messages: Sequence[tuple[int, int, bytes | None, bytes | None]],
    *,
    magic: int,
    codec_number: int = 0,
) -> bytes:
    """A message set of format 0 or 1; a compressed one is a single wrapping message."""
    if not codec_number:
        return b"".join(
            _message(magic, 0, offset=offset, timestamp=timestamp, key=key, value=value)
            for offset, timestamp, key, value in messages
        )
    # Format 1 counts inner offsets from 0; format 0 keeps the absolute ones.
    inner = b"".join(
        _message(
            magic, 0, offset=number if magic else offset, timestamp=timestamp, key=key, value=value
        )
        for number, (offset, timestamp, key, value) in enumerate(messages)
    )
    latest = max(timestamp for _, timestamp, _, _ in messages)
    wrapped = _compressed(codec_number, inner)
    return _message(
        magic, codec_number, offset=messages[-1][0], timestamp=latest, key=None, value=wrapped
    )


def _message(
    magic: int,
    bits: int,
    *,
    offset: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
) -> bytes:
    signed = struct.pack(">bb", magic, bits)
    signed += struct.pack(">q", timestamp) if magic else b""
    for part in (key, value):
        signed += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return struct.pack(">qiI", offset, len(signed) + 4, zlib.crc32(signed)) + signed


def _record(record: Plain, base_offset: int, base_timestamp: int) -> bytes:
    out = bytearray(b"\0")
    encode_varint(record.timestamp - base_timestamp, out.append)
    encode_varint(record.offset - base_offset, out.append)
    out += _sized(record.key) + _sized(record.value)
    encode_varint(len(record.headers), out.append)
    for key, value in record.headers:
        out += _sized(key) + _sized(value)
    size = bytearray()
    encode_varint(len(out), size.append)
    return bytes(size + out)


def _sized(data: bytes | None) -> bytes:
    out = bytearray()
    encode_varint(-1 if data is None else len(data), out.append)
    return bytes(out) + (data or b"")


def _parsed(payload: bytearray, at: int, header: Header) -> tuple[Plain, int]:
    def number() -> int:
        nonlocal at
        value, at = decode_varint(payload, at)
        return int(value)

    def sized() -> bytes | None:
        nonlocal at
        size = number()
        if size < 0:
            return None
        at += size
        return bytes(payload[at - size : at])

    length = number()
    end = at + length
    assert payload[at] == 0
    at += 1
    timestamp = header.base_timestamp + number()
    offset = header.base_offset + number()
    key, value = sized(), sized()
    headers = tuple((sized() or b"", sized()) for _ in range(number()))
    assert at == end
    record = Plain(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers)
    return record, at


def _compressed(number: int, payload: bytes) -> bytes:
    match number:
        case 0:
            return payload
        case 1:
            return gzip.compress(payload)
        case 2:
            return bytes(codec.snappy_encode(payload))
        case 3:
            return bytes(codec.lz4_encode(payload))
        case _:
            return bytes(codec.zstd_encode(payload))


def _plain(number: int, payload: bytes) -> bytes:
    match number:
        case 0:
            return payload
        case 1:
            return gzip.decompress(payload)
        case 2:
            return bytes(codec.snappy_decode(payload))
        case 3:
            return bytes(codec.lz4_decode(payload))
        case _:
            return bytes(codec.zstd_decode(payload))
