"""
Compression of record batches as the Kafka protocol numbers it (attributes, bits 0-2).

Levels and formats are those of Java's clients (KIP-390), so that a copy is as large as theirs.
"""

from __future__ import annotations

import gzip
import mmap
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from typing import Any, Final

import cramjam
from aiokafka import codec

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4
CODEC_NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""Kafka's words, by number."""

DEFAULT_LEVELS: Final = {GZIP: 6, LZ4: 9, ZSTD: 3}
"""
What Java's producer uses. A level of 9 means LZ4's fast compressor there, any other the slow one
that compresses better (``Lz4BlockOutputStream``).
"""

MOST_PLAIN: Final = 256 << 20
"""
Bytes that come out of one batch at most, unless the user wants it otherwise.

That is 256 times what a broker takes by default as a batch, and more than a batch of ten megabytes
becomes that is compressed as well as logs are.
"""

_FULL: Final = "failed to write whole buffer"
"""What the library says when more would come out."""

_USUAL: Final = 16 << 20
"""Bytes that come out of nearly all batches at most."""

_MOST_MEMBERS: Final = 1_000
"""Of one gzip stream, which Java writes in one."""

_GZIP_WINDOW: Final = 31
_XERIAL: Final = b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"
_BLOCK_SIZE: Final = Struct(">i")

_Into = Callable[[Any, Any], int]
"""Decompresses into a buffer; returns how many bytes."""

_LZ4_FAST: Final = 1
_LZ4_MOST: Final = 12
"""The library's highest level; Java's takes higher numbers for the same."""


@dataclass(frozen=True, slots=True)
class Compression:
    """
    How records are to be compressed.

    Attributes:
        level: in the words of ``compression.<codec>.level``; None for Java's default.
    """

    codec: int
    level: int | None = None


UNCOMPRESSED: Final = Compression(NONE)


def compression_of(name: str | None, level: int | None) -> Compression | None:
    """Kafka's word for a codec, and a level of it; None for no word."""
    return None if name is None else Compression(CODEC_NAMES.index(name), level)


class TooLarge(ValueError):
    """
    A batch becomes larger than it may when it is decompressed.

    Args:
        what: it has, if not simply more bytes.
    """

    def __init__(self, most: int, what: str = "") -> None:
        what = what or f"more than {most} bytes when it is decompressed"
        super().__init__(f"the batch has {what} (decompressed.batch.max.bytes)")


class _Full(Exception):
    """More would come out than there is room."""


def codec_name(number: int) -> str:
    """
    Kafka's word for a codec number.

    Raises:
        ValueError: for a number that no Kafka knows.
    """
    if not 0 <= number < len(CODEC_NAMES):
        raise ValueError(f"unknown compression codec {number}")
    return CODEC_NAMES[number]


def decompress(number: int, payload: memoryview | bytes, *, most: int = MOST_PLAIN) -> bytes:
    """
    The records section of a batch, plain.

    No more is allocated than may come out: half a gigabyte of zeros are 16 KB of Zstandard.

    Raises:
        TooLarge: more would come out.
        ValueError: for a codec that no Kafka knows, or a payload that does not decompress.
    """
    name = codec_name(number)
    if number == NONE:
        return bytes(payload)
    try:
        match number:
            case 1:
                return _gunzip(payload, most)
            case 2:
                return _snappy(payload, most)
            case 3:
                return _within(cramjam.lz4.decompress_into, payload, most)
            case _:
                return _within(cramjam.zstd.decompress_into, payload, most)
    except TooLarge:
        raise
    except Exception as error:
        # Each codec raises its own type; none of them is public.
        raise ValueError(f"the batch does not decompress as {name}: {error}") from error


def _gunzip(payload: memoryview | bytes, most: int) -> bytes:
    plain, rest = b"", bytes(payload)
    for _ in range(_MOST_MEMBERS):
        member = zlib.decompressobj(wbits=_GZIP_WINDOW)
        plain += member.decompress(rest, most - len(plain) + 1)
        if len(plain) > most:
            raise TooLarge(most)
        if not member.eof:
            raise ValueError("the data end too soon")
        if not (rest := member.unused_data.lstrip(b"\0")):
            return plain
    raise ValueError(f"it has more than {_MOST_MEMBERS} parts")


def _snappy(payload: memoryview | bytes, most: int) -> bytes:
    """Each block says first how long it becomes, and is held to that."""
    blocks = _xerial_blocks(payload) if payload[:16] == _XERIAL else [payload]
    if sum(map(cramjam.snappy.decompress_raw_len, blocks)) > most:
        raise TooLarge(most)
    return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks)


def _xerial_blocks(payload: memoryview | bytes) -> list[memoryview]:
    """What Java's library writes: a header, then blocks with their lengths."""
    data, blocks, at = memoryview(payload), [], len(_XERIAL)
    while at < len(data):
        (size,) = _BLOCK_SIZE.unpack_from(data, at)
        at += _BLOCK_SIZE.size
        if not 0 < size <= len(data) - at:
            raise ValueError("the data end inside a block")
        blocks.append(data[at : at + size])
        at += size
    return blocks


def _room(size: int) -> mmap.mmap:
    """Of which only what is written takes memory; private, so that a fork does not share it."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class _Kept(threading.local):
    """Room that is used again, as memory that was never written to is slow to write."""

    def __init__(self) -> None:
        self.room = _room(_USUAL)


_kept = _Kept()


def _within(into: _Into, payload: memoryview | bytes, most: int) -> bytes:
    with suppress(_Full):
        return _take(into, payload, _kept.room, most)
    with suppress(_Full):
        if most > _USUAL:
            with _room(most) as room:
                return _take(into, payload, room, most)
    raise TooLarge(most)


def _take(into: _Into, payload: memoryview | bytes, room: mmap.mmap, most: int) -> bytes:
    with memoryview(room) as whole, whole[:most] as view:
        try:
            size = into(payload, view)
        except cramjam.DecompressionError as error:
            raise _Full if str(error) == _FULL else error from None
        return bytes(view[:size])


def compress(how: Compression, payload: bytes | bytearray | memoryview) -> bytes:
    """
    The records section of a batch, compressed.

    Raises:
        ValueError: for a codec that no Kafka knows.
    """
    codec_name(how.codec)
    level = DEFAULT_LEVELS.get(how.codec, 0) if how.level is None else how.level
    match how.codec:
        case 1:
            return gzip.compress(payload, level, mtime=0)
        case 2:
            return bytes(codec.snappy_encode(payload))
        case 3:
            return _lz4(payload, level)
        case 4:
            return bytes(cramjam.zstd.compress(payload, level=level))
        case _:
            return bytes(payload)


def _lz4(payload: bytes | bytearray | memoryview, level: int) -> bytes:
    is_fast = level == DEFAULT_LEVELS[LZ4]
    compressor = cramjam.lz4.Compressor(
        level=_LZ4_FAST if is_fast else min(level, _LZ4_MOST),
        content_checksum=False,
        block_linked=False,  # Kafka's brokers read independent blocks only (KIP-57)
    )
    compressor.compress(bytes(payload))
    return bytes(compressor.finish())
