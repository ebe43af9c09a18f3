"""
Records of the dead-letter topic: what could not be mirrored, and why, in Connect's terms.

Key, value, headers and timestamp are those of the source record. The context headers that may
follow are those of Connect's ``DeadLetterQueueReporter`` (KIP-298), so that its users' tools work
on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from flows.source.forward.recode import Recoded, encode, records_of
from flows.source.forward.record_batch import split
from flows.source.forward.record_body import (
    DecodedRecord,
    fields_of,
    keyed_body,
    nullable,
    read_nullable,
    read_varint,
    unreadable_record,
    varint,
)
from flows.source.send.outgoing_batch import OutgoingBatch
from mm2.core.model import TopicPartition
from mm2.kafka.wire.compression import MOST_PLAIN, UNCOMPRESSED
from mm2.kafka.wire.error_codes import Code, code_name

PRODUCED: Final = "KAFKA_PRODUCE"
"""Connect's name of the stage at which the target refuses a record."""

CONSUMED: Final = "KAFKA_CONSUME"
"""Connect's name of the stage at which a record cannot be read."""

TRANSFORMED: Final = "TRANSFORMATION"
"""Connect's name of the stage at which the user's code fails."""

_PREFIX: Final = "__connect.errors."
_COMMON: Final = "org.apache.kafka.common."
_EXCEPTIONS: Final[Mapping[int, str]] = {
    Code.CORRUPT_MESSAGE: f"{_COMMON}errors.CorruptRecordException",
    Code.MESSAGE_TOO_LARGE: f"{_COMMON}errors.RecordTooLargeException",
    Code.RECORD_LIST_TOO_LARGE: f"{_COMMON}errors.RecordBatchTooLargeException",
    Code.INVALID_TIMESTAMP: f"{_COMMON}errors.InvalidTimestampException",
    Code.UNSUPPORTED_FOR_MESSAGE_FORMAT: (f"{_COMMON}errors.UnsupportedForMessageFormatException"),
    Code.INVALID_RECORD: f"{_COMMON}InvalidRecordException",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """
    Why something was not mirrored.

    Attributes:
        offset: its offset in there, the first one of a batch that cannot be read.
        stage: ``PRODUCED``, ``CONSUMED`` or ``TRANSFORMED``.
    """

    source: TopicPartition
    offset: int
    stage: str
    code: int
    reason: str = field(default="")

    @property
    def message(self) -> str:
        """The error for people."""
        return self.reason or code_name(self.code)


def context_headers(failure: Failure, *, connector: str, task: int) -> list[tuple[str, bytes]]:
    """The headers that Connect adds; the last two hold the same, as there is no stack to trace."""
    texts = {
        "topic": failure.source.topic,
        "partition": str(failure.source.partition),
        "offset": str(failure.offset),
        "connector.name": connector,
        "task.id": str(task),
        "stage": failure.stage,
        "class.name": __name__,
        "exception.class.name": _EXCEPTIONS.get(failure.code, f"{_COMMON}KafkaException"),
        "exception.message": failure.message,
        "exception.stacktrace": failure.message,
    }
    return [(_PREFIX + name, text.encode()) for name, text in texts.items()]


def dead_letter(record: DecodedRecord, headers: Sequence[tuple[str, bytes]]) -> Recoded:
    """A batch of this one record, with more headers after its own."""
    body = with_headers(record.body, headers)
    return encode([DecodedRecord(record.offset, record.timestamp, body)], UNCOMPRESSED)


def with_headers(body: bytes, headers: Sequence[tuple[str, bytes]]) -> bytes:
    """
    The body of a record with more headers.

    Raises:
        ValueError: the bytes are not a record's body.
    """
    _, at = read_nullable(body, 0)
    _, at = read_nullable(body, at)
    count, following = read_varint(body, at)
    added = b"".join(nullable(name.encode()) + nullable(value) for name, value in headers)
    return body[:at] + varint(count + len(headers)) + body[following:] + added


def key_and_value(body: bytes) -> tuple[bytes | None, bytes | None]:
    """
    What a record's body begins with.

    Raises:
        ValueError: the bytes are not a record's body.
    """
    key, at = read_nullable(body, 0)
    return key, read_nullable(body, at)[0]


def readable(record: DecodedRecord) -> DecodedRecord:
    """A record whose body can be read: that of another one becomes its value."""
    try:
        fields_of(record.body)
    except ValueError:
        body = keyed_body(None, bytes(record.body))
        return DecodedRecord(record.offset, record.timestamp, body)
    return record


def refused_record(batch: OutgoingBatch, most: int = MOST_PLAIN) -> DecodedRecord:
    """The record of a refused batch; what cannot be read is one, whose value is its bytes."""
    try:
        (entry,) = split(memoryview(batch.data))
        (record,) = records_of(entry, most)
        fields_of(record.body)  # whether its body is one
    except ValueError:
        return unreadable_record(batch.offsets[0], batch.data)
    return record
