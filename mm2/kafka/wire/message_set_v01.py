"""Messages of the formats before Kafka 0.11 (magic 0 and 1), which old segments may still hold."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final

from aiokafka.record.legacy_records import LegacyRecordBatch

from mm2.kafka.wire.compression import MOST_PLAIN, decompress

_CHECKSUM: Final = Struct(">I")
_CHECKSUM_AT: Final = 12
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 17
_KEY_AT: Final = (18, 26)
"""By format."""

_CODEC_BITS: Final = 0b111
_SIZE: Final = Struct(">i")
_TIMES_IN_PYTHON: Final = 8
"""What many small messages take, of their own bytes."""


def read_legacy(
    data: memoryview, most: int = MOST_PLAIN
) -> Iterator[tuple[int, int, bytes | None, bytes | None]]:
    """
    Offset, timestamp in ms (-1: none), key and value of each message in a message set.

    Args:
        most: bytes of memory that its messages may take, decompressed.

    Raises:
        TooLarge: they would take more.
        ValueError: if the bytes are not a message set, or its checksum does not match.
    """
    # Before aiokafka reads anything: it trusts the lengths inside.
    if _CHECKSUM.unpack_from(data, _CHECKSUM_AT) != (zlib.crc32(data[_MAGIC_AT:]),):
        raise ValueError("the message set does not match its checksum")
    check_size(data, most // _TIMES_IN_PYTHON)
    try:
        for message in LegacyRecordBatch(bytes(data), data[_MAGIC_AT]):
            timestamp = -1 if message.timestamp is None else message.timestamp
            yield message.offset, timestamp, message.key, message.value
    except Exception as error:
        # Each codec raises its own type; none of them is public.
        raise ValueError(f"the message set cannot be read: {error}") from error


def check_size(data: memoryview, most: int) -> None:
    """
    Has a compressed set, which is the value of a message, not become larger than it may.

    aiokafka's reader knows no bound.

    Args:
        most: bytes that may come out.

    Raises:
        TooLarge: more would come out.
        ValueError: it does not decompress.
        struct.error: the bytes are no message.
    """
    if not (codec := data[_ATTRIBUTES_AT] & _CODEC_BITS):
        return
    at = _KEY_AT[data[_MAGIC_AT]]
    for _ in ("key", "value"):
        (size,) = _SIZE.unpack_from(data, at)
        start, at = at + _SIZE.size, at + _SIZE.size + max(size, 0)
    decompress(codec, data[start:at], most=most)
