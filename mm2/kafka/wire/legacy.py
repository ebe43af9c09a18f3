"""Messages of the formats before Kafka 0.11 (magic 0 and 1), which old segments may still hold."""

from __future__ import annotations

from collections.abc import Iterator

from aiokafka.errors import CorruptRecordException, KafkaError
from aiokafka.record.legacy_records import LegacyRecordBatch


def read_legacy(data: memoryview) -> Iterator[tuple[int, int, bytes | None, bytes | None]]:
    """
    Offset, timestamp in ms (-1: none), key and value of each message in a message set.

    Raises:
        ValueError: if the bytes are not a message set, or its checksum does not match.
    """
    try:
        messages = LegacyRecordBatch(bytes(data), data[16])
        if not messages.validate_crc():
            raise ValueError("the message set does not match its checksum")
        for message in messages:
            timestamp = -1 if message.timestamp is None else message.timestamp
            yield message.offset, timestamp, message.key, message.value
    except (CorruptRecordException, KafkaError) as error:
        raise ValueError(f"the message set cannot be read: {error}") from error
