"""
Record batches of format v2 by hand: to write what no client writes, and to read all of a log.

Client libraries refuse header keys that are not UTF-8, and hide batches and codecs. This codec
stands alone, so that a mistake in the code that is shown cannot hide in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct

from aiokafka import codec as compression
from crc32c import crc32c

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""In the order of their numbers."""

Header = tuple[bytes, bytes | None]

_PREFIX = Struct(">qiib")
_CHECKSUM = Struct(">I")
_REST = Struct(">hiqqqhii")
_REST_AT = _PREFIX.size + _CHECKSUM.size
_HEADER_SIZE = _REST_AT + _REST.size
_LENGTH = slice(8, 12)
_APPEND_TIME, _CONTROL = 1 << 3, 1 << 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecord:
    """
    One record, in bytes.

    Attributes:
        headers: keys and values in their order; keys may be any bytes, and may repeat.
        codec: of the batch that it lies in.
        append_time: the broker set the timestamp.
        offset: in its log; -1 while it is not written.
    """

    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[Header, ...] = ()
    timestamp_ms: int = 0
    codec: str = "none"
    append_time: bool = False
    offset: int = -1


def encode(records: Sequence[RawRecord], codec: str, level: int | None = None) -> bytes:
    """
    One batch of these records, without a producer.

    Args:
        level: of the codec's library; None for that of Python's clients.
    """
    base = records[0].timestamp_ms
    plain = b"".join(_record(record, n, base) for n, record in enumerate(records))
    levels = [] if level is None else [level]
    payload = plain if codec == "none" else getattr(compression, f"{codec}_encode")(plain, *levels)
    last = max(record.timestamp_ms for record in records)
    rest = _REST.pack(
        CODECS.index(codec), len(records) - 1, base, last, -1, -1, -1, len(records)
    ) + bytes(payload)
    length = _HEADER_SIZE - _LENGTH.stop + len(payload)
    return _PREFIX.pack(0, length, -1, 2) + _CHECKSUM.pack(crc32c(rest)) + rest


def decode(data: bytes | memoryview) -> Iterator[RawRecord]:
    """The records of all whole batches in the answer to a fetch; transaction markers left out."""
    view = memoryview(data)
    while len(view) >= _HEADER_SIZE:
        size = _LENGTH.stop + int.from_bytes(view[_LENGTH], "big")
        if size > len(view):
            return
        yield from _batch(view[:size])
        view = view[size:]


def _batch(batch: memoryview) -> Iterator[RawRecord]:
    first, _, _, magic = _PREFIX.unpack_from(batch)
    (checksum,) = _CHECKSUM.unpack_from(batch, _PREFIX.size)
    if magic != 2 or checksum != crc32c(batch[_REST_AT:]):
        raise ValueError(f"the batch at {first} is damaged, or of format {magic}")
    attributes, _, base, last, _, _, _, count = _REST.unpack_from(batch, _REST_AT)
    if attributes & _CONTROL:
        return
    codec = CODECS[attributes & 7]
    payload = bytes(batch[_HEADER_SIZE:])
    if codec != "none":
        payload = bytes(getattr(compression, f"{codec}_decode")(payload))
    cursor = _BatchReader(payload)
    for _ in range(count):
        yield cursor.record(first, base, codec, last if attributes & _APPEND_TIME else None)


def _record(record: RawRecord, offset: int, base: int) -> bytes:
    body = b"\0" + _varint(record.timestamp_ms - base) + _varint(offset)
    body += _blob(record.key) + _blob(record.value) + _varint(len(record.headers))
    body += b"".join(_blob(key) + _blob(value) for key, value in record.headers)
    return _varint(len(body)) + body


def _blob(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(number: int) -> bytes:
    rest = (number << 1) ^ (number >> 63)
    parts = bytearray()
    while rest >= 0x80:
        parts.append(rest & 0x7F | 0x80)
        rest >>= 7
    parts.append(rest)
    return bytes(parts)


class _BatchReader:
    """Reads records one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def record(self, first: int, base: int, codec: str, append_time: int | None) -> RawRecord:
        end = self._varint() + self._at
        self._at += 1  # attributes; none are defined
        timestamp = base + self._varint()
        found = RawRecord(
            offset=first + self._varint(),
            timestamp_ms=timestamp if append_time is None else append_time,
            append_time=append_time is not None,
            key=self._blob(),
            value=self._blob(),
            headers=tuple(self._header() for _ in range(self._varint())),
            codec=codec,
        )
        if self._at != end:
            raise ValueError(f"the record at {found.offset} is not as long as it says")
        return found

    def _header(self) -> Header:
        key = self._blob()
        if key is None:
            raise ValueError("a header without a key")
        return key, self._blob()

    def _blob(self) -> bytes | None:
        size = self._varint()
        if size < 0:
            return None
        self._at += size
        return self._data[self._at - size : self._at]

    def _varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
            shift += 7
