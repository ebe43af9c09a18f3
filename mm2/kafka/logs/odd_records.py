"""
Has aiokafka's consumers read what is allowed in a log, and what they fail at for good.

That is: a control batch that the cleaner has emptied and kept (KAFKA-7467), as compacted topics
have that are written to in transactions; and header keys that are not UTF-8, which whoever may
write to a topic can put there. So can they put there a small batch that fills the memory when it is
decompressed: it is refused instead, or passed over by those who read what mm2 and Connect have
written. Neither they nor Java's MirrorMaker write batches of nearly that size.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from struct import Struct, error
from typing import Any, Final

import structlog
from aiokafka.consumer import fetcher
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import decode_varint
from aiokafka.structs import TopicPartition

from mm2.kafka.wire.compression import NONE, TooLarge, decompress
from mm2.kafka.wire.message_set_v01 import check_size

log = structlog.get_logger()

_LENGTH: Final = Struct(">qi")
_HEADER: Final = Struct(">qiibIhiqqqhii")
_CODEC: Final = 0b111
_LOG_APPEND_TIME: Final = 1 << 3
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 22
"""Their lower byte."""

_MOST_PLAIN: Final = 64 << 20
"""Bytes that come out of one batch at most; a consumer fetches 50 MB at once by default."""

_PASSES_OVER: Final = ContextVar("passes_over_too_large", default=False)
_MOST_TOLD: Final = 1_000
"""Batches that are remembered so as not to be told again."""


@contextmanager
def too_large_passed_over() -> Iterator[None]:
    """Whoever takes records from a consumer within gets none of batches that are too large."""
    token = _PASSES_OVER.set(True)
    try:
        yield
    finally:
        _PASSES_OVER.reset(token)


@dataclass(frozen=True, slots=True)
class OddRecord:
    """A record with the attributes of aiokafka's."""

    offset: int
    timestamp: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    checksum: None = None


_ABORT_MARKER: Final = OddRecord(0, 0, 0, b"\0\0\0\0", None, ())


class TolerantRecords:
    """
    The batches of a fetch, in place of aiokafka's class of the same methods.

    Attributes:
        where: what was fetched.
    """

    where: TopicPartition | None = None

    def __init__(self, data: bytes) -> None:
        self._known = MemoryRecords(data)
        self._data = memoryview(data)
        self._at = 0

    def size_in_bytes(self) -> int:
        """Of all that was sent."""
        return len(self._data)

    def has_next(self) -> bool:
        """Whether there is another whole batch."""
        return bool(self._known.has_next())

    def next_batch(self) -> TolerantBatch:
        """
        The next whole batch.

        Raises:
            CorruptRecordException: the bytes are no batch.
        """
        known, begin = self._known.next_batch(), self._at
        _, length = _LENGTH.unpack_from(self._data, begin)
        self._at = begin + _LENGTH.size + length
        return TolerantBatch(known, self._data[begin : self._at], self.where)


class TolerantBatch:
    """
    A batch of aiokafka's, whose records can be read in any case.

    aiokafka asks with ``next`` what marker a control batch holds, and reads records with ``iter``.
    """

    def __init__(self, known: Any, data: memoryview, where: TopicPartition | None) -> None:
        self._known = known
        self._data = data
        self._where = where

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known, name)

    def __next__(self) -> OddRecord:
        # Transactions of a producer do not overlap: any marker of it ends the one that is open.
        return _ABORT_MARKER

    def __iter__(self) -> Iterator[Any]:
        """
        The records; none where a batch that is too large when decompressed is passed over.

        Raises:
            CorruptRecordException: they cannot be read, or are too large.
        """
        try:
            count, data = 0, _plain(self._data)
        except TooLarge:
            self._pass_over()
            return
        known = self._known if data is self._data else DefaultRecordBatch(data)
        try:
            for record in known:
                yield record
                count += 1
        except UnicodeDecodeError:
            # Of the formats that aiokafka reads, only the newest has headers.
            yield from islice(_records(data), count, None)

    def _pass_over(self) -> None:
        offset, _ = _LENGTH.unpack_from(self._data)
        if self._where is None or not _PASSES_OVER.get():
            message = f"the batch at offset {offset} has more than {_MOST_PLAIN} bytes"
            raise CorruptRecordException(f"{message} when it is decompressed") from None
        _log_ignored(self._where.topic, self._where.partition, offset, len(self._data))


class TolerantPartition(fetcher.PartitionRecords):
    """The records of a partition that a consumer hands out."""

    def __init__(self, where: TopicPartition, records: TolerantRecords, *how: object) -> None:
        records.where = self.where = where
        super().__init__(where, records, *how)

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except CorruptRecordException as cause:
            where = f"{self.where.topic}-{self.where.partition}"
            raise CorruptRecordException(
                f"{where} cannot be read at offset {self.next_fetch_offset}: {cause}"
            ) from cause


@lru_cache(_MOST_TOLD)
def _log_ignored(topic: str, partition: int, offset: int, size: int) -> None:
    """Once, however often the topic is read."""
    log.error(
        "kafka.batch_ignored",
        topic=topic,
        partition=partition,
        offset=offset,
        size=size,
        most_decompressed=_MOST_PLAIN,
    )


def read_odd_records() -> None:
    """Has all of aiokafka's consumers in this process do so; there is no way to ask one."""
    fetcher.MemoryRecords = TolerantRecords
    fetcher.PartitionRecords = TolerantPartition


def _plain(data: memoryview) -> memoryview:
    """The batch without compression; of an old format as it is, if it is not too large."""
    try:
        if data[_MAGIC_AT] < 2:  # noqa: PLR2004 - formats before record batches
            check_size(data, _MOST_PLAIN)
            return data
        if (codec := data[_ATTRIBUTES_AT] & _CODEC) == NONE:
            return data
        plain = bytearray(data[: _HEADER.size])
        plain += decompress(codec, data[_HEADER.size :], most=_MOST_PLAIN)
    except TooLarge:
        raise
    except (ValueError, IndexError, error) as cause:
        base, _ = _LENGTH.unpack_from(data)
        raise CorruptRecordException(f"the batch at offset {base} cannot be read") from cause
    plain[_ATTRIBUTES_AT] &= ~_CODEC
    return memoryview(plain)


def _records(data: memoryview) -> Iterator[OddRecord]:
    base, _, _, _, _, attributes, _, first_ms, max_ms, _, _, _, count = _HEADER.unpack_from(data)
    payload = bytes(data[_HEADER.size :])
    append_ms = max_ms if attributes & _LOG_APPEND_TIME else None
    at = 0
    try:
        for _ in range(count):
            size, at = decode_varint(payload, at)
            yield _record(payload[at : at + size], base, first_ms, append_ms)
            at += size
    except (ValueError, IndexError) as cause:
        raise CorruptRecordException(f"the batch at offset {base} cannot be read") from cause


def _record(data: bytes, base: int, first_ms: int, append_ms: int | None) -> OddRecord:
    delta_ms, at = decode_varint(data, 1)  # after attributes that nobody uses
    delta, at = decode_varint(data, at)
    key, at = _nullable(data, at)
    value, at = _nullable(data, at)
    count, at = decode_varint(data, at)
    headers = []
    for _ in range(count):
        name, at = _nullable(data, at)
        content, at = _nullable(data, at)
        headers.append(((name or b"").decode(errors="replace"), content))
    is_append_time = append_ms is not None
    timestamp = append_ms if append_ms is not None else first_ms + delta_ms
    return OddRecord(base + delta, timestamp, int(is_append_time), key, value, tuple(headers))


def _nullable(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = decode_varint(data, at)
    if size < 0:
        return None, at
    if at + size > len(data):
        raise ValueError("a record ends early")
    return data[at : at + size], at + size
