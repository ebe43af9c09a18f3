"""
Records as bytes: their bodies, and the numbers that they are made of.

Keys, values and headers are never decoded, and may hold whatever bytes they like (a header key that
is not UTF-8, for example, which client libraries refuse).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

NO_TIMESTAMP: Final = -1


@dataclass(frozen=True, slots=True)
class DecodedRecord:
    """
    One record: offset and timestamp, and the remainder as bytes.

    Attributes:
        offset: in the source log.
        timestamp: in ms; ``NO_TIMESTAMP`` is none.
        body: encoded key, value and headers, from the key's length on.
    """

    offset: int
    timestamp: int
    body: bytes


def keyed_body(
    key: bytes | None, value: bytes | None, headers: Sequence[tuple[bytes, bytes | None]] = ()
) -> bytes:
    """The body of a record: its key, its value and its headers."""
    names_and_values = [nullable(name) + nullable(data) for name, data in headers]
    return nullable(key) + nullable(value) + varint(len(headers)) + b"".join(names_and_values)


def unreadable_record(offset: int, data: bytes | bytearray | memoryview) -> DecodedRecord:
    """What stands for a batch that cannot be read: a record whose value is the batch."""
    return DecodedRecord(offset, NO_TIMESTAMP, keyed_body(None, bytes(data)))


def nullable(data: bytes | None) -> bytes:
    """A length, -1 for None, and the bytes."""
    return varint(-1) if data is None else varint(len(data)) + data


def varint(value: int) -> bytes:
    """A signed number in Protocol Buffers' zig-zag encoding, as records use it."""
    if 0 <= value < len(_SHORT):
        return _SHORT[value]
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


_SHORT: tuple[bytes, ...] = ()
_SHORT = tuple(map(varint, range(2_048)))
"""Of numbers that most records have, such as their sizes."""


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


def key_of(body: bytes) -> bytes | None:
    """
    The key of a record's body.

    Raises:
        ValueError: the bytes are not a record's body.
    """
    return read_nullable(body, 0)[0]


def fields_of(
    body: bytes,
) -> tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]:
    """
    Key, value and headers of a record's body.

    Raises:
        ValueError: the bytes are not a record's body.
    """
    key, at = read_nullable(body, 0)
    value, at = read_nullable(body, at)
    count, at = read_varint(body, at)
    if count > len(body) - at:
        raise ValueError(f"a record of {len(body)} bytes announces {count} headers")
    headers = []
    for _ in range(count):
        name, at = read_nullable(body, at)
        data, at = read_nullable(body, at)
        headers.append(((name or b"").decode("utf-8", "surrogateescape"), data))
    return key, value, tuple(headers)


def read_nullable(body: bytes, at: int) -> tuple[bytes | None, int]:
    """
    The bytes behind a length, None where that is negative, and where what follows them is.

    Raises:
        ValueError: the body ends before they do.
    """
    size, start = read_varint(body, at)
    if start + size > len(body):
        raise ValueError(f"a field of {size} bytes is longer than its record")
    return (None, start) if size < 0 else (body[start : start + size], start + size)
