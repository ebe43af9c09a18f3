"""
Compression of record batches as the Kafka protocol numbers it (attributes, bits 0-2).

Levels and formats are those of Java's clients (KIP-390), so that a copy is as large as theirs.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Final

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

_USUAL_RATIO: Final = 16

_LZ4_FAST: Final = 1
_LZ4_MOST: Final = 12
"""The library's highest level; Java's takes higher numbers for the same."""


@dataclass(frozen=True, slots=True)
class Compression:
    """
    How records are to be compressed.

    Attributes:
        codec: its number.
        level: in the words of ``compression.<codec>.level``; None for Java's default.
    """

    codec: int
    level: int | None = None


UNCOMPRESSED: Final = Compression(NONE)


def codec_name(number: int) -> str:
    """
    Kafka's word for a codec number.

    Raises:
        ValueError: for a number that no Kafka knows.
    """
    if not 0 <= number < len(CODEC_NAMES):
        raise ValueError(f"unknown compression codec {number}")
    return CODEC_NAMES[number]


def decompress(number: int, payload: memoryview | bytes, *, most: int | None = None) -> bytes:
    """
    The records section of a batch, plain.

    Args:
        number: of the codec.
        payload: the section.
        most: bytes that Zstandard may make of it, which knows no bound of its own: half a gigabyte
            of zeros are 16 KB.

    Raises:
        ValueError: for a codec that no Kafka knows, or a payload that does not decompress.
    """
    name = codec_name(number)
    if number == NONE:
        return bytes(payload)
    try:
        match number:
            case 1:
                return gzip.decompress(payload)
            case 2:
                return bytes(codec.snappy_decode(payload))
            case 3:
                return bytes(cramjam.lz4.decompress(payload))
            case _ if most is None:
                return bytes(cramjam.zstd.decompress(payload))
            case _:
                return _bounded_zstd(payload, most)
    except Exception as error:
        # Each codec raises its own type; none of them is public.
        raise ValueError(f"the batch does not decompress as {name}: {error}") from error


def _bounded_zstd(payload: memoryview | bytes, most: int) -> bytes:
    usual = min(most, _USUAL_RATIO * len(payload))
    try:
        return _zstd_within(payload, usual)
    except cramjam.DecompressionError:
        return _zstd_within(payload, most)


def _zstd_within(payload: memoryview | bytes, size: int) -> bytes:
    plain = bytearray(size)
    return bytes(memoryview(plain)[: cramjam.zstd.decompress_into(payload, plain)])


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
