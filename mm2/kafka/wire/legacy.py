"""Messages of the formats before Kafka 0.11 (magic 0 and 1), which old segments may still hold."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final

from aiokafka.record.legacy_records import LegacyRecordBatch

_CHECKSUM: Final = Struct(">I")
_CHECKSUM_AT: Final = 12
_MAGIC_AT: Final = 16


def read_legacy(data: memoryview) -> Iterator[tuple[int, int, bytes | None, bytes | None]]:
    """
    Offset, timestamp in ms (-1: none), key and value of each message in a message set.

    Raises:
        ValueError: if the bytes are not a message set, or its checksum does not match.
    """
    # Before aiokafka reads anything: it trusts the lengths inside.
    if _CHECKSUM.unpack_from(data, _CHECKSUM_AT) != (zlib.crc32(data[_MAGIC_AT:]),):
        raise ValueError("the message set does not match its checksum")
    try:
        for message in LegacyRecordBatch(bytes(data), data[_MAGIC_AT]):
            timestamp = -1 if message.timestamp is None else message.timestamp
            yield message.offset, timestamp, message.key, message.value
    except Exception as error:
        # Each codec raises its own type; none of them is public.
        raise ValueError(f"the message set cannot be read: {error}") from error
