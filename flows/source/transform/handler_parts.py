"""
Records of batches given to a message handler, and what it returns encoded as batches.

Importing this has code compiled: see ``mm2.kafka.wire.record_columns``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from flows.source.fetch.contiguous_batches import MOST_RECORDS
from flows.source.forward.record_batch import Batch
from flows.source.transform.changed_batches import SEND_AFTER_S, TURN_S
from flows.source.transform.column_parts import rows_of
from flows.source.transform.handler_batches import HandledPart
from flows.source.transform.message_handler import Handle
from mm2.core.handled_records import Headers, SourceRecord, TargetRecord, source_record_of
from mm2.core.model import TopicName, TopicPartition
from mm2.core.transforms.column_schema import HEADERS_TYPE, SCHEMA
from mm2.kafka.wire.compiled import RecordsSection
from mm2.kafka.wire.record_columns import encode

_PART_BYTES: Final = 4 << 20
"""What is enough to be sent: bytes of values that were made, and for each record some more."""

_RECORD_BYTES: Final = 1 << 10
_BYTES: Final = frozenset({bytes, type(None)})
_PAIRS: Final = frozenset({tuple})
"""Lists may be the handler's, which uses them again for the next record."""

_NUMBERS: Final = frozenset({int, type(None)})
_RECORDS: Final = frozenset({SourceRecord, TargetRecord})


class _NotEncodable(ValueError):
    """Records have fields of other types than they should: one by one, each has its own error."""


@dataclass(slots=True)
class _MadeRecords:
    """What was made for one partition, each with the record that it was made of."""

    records: list[SourceRecord | TargetRecord] = field(default_factory=list)
    sources: list[SourceRecord] = field(default_factory=list)


async def handled_parts(
    handle: Handle,
    batches: Sequence[Batch],
    cover: range,
    target: TopicPartition,
    *,
    most: int,
    most_plain: int,
) -> AsyncIterator[HandledPart]:
    """
    What becomes of the records of batches, from offsets in ``cover``: parts of it, in order.

    Each record is given to the handler once, in order, as it is read from partition ``target``.

    Args:
        most: bytes of a section.
        most_plain: bytes that a batch may have when it is decompressed.
    """
    try:
        rows = rows_of(batches, cover, target, most_plain)
    except ValueError:
        yield HandledPart(cover)
        return
    parts = _Parts(handle, target, cover.start, most)
    began = turn = time.monotonic()
    for record in _records(rows, target):
        is_made = parts.add(record)
        now = time.monotonic()
        if is_made and parts.room > 0 and now - began < SEND_AFTER_S:
            if now - turn > TURN_S:
                await asyncio.sleep(0)
                turn = time.monotonic()
            continue
        if is_made:
            yield parts.take(record.offset + 1)
        else:
            for part in parts.take_with_odd(record.offset):
                yield part
        began = turn = time.monotonic()
    if parts.start < cover.stop:
        yield parts.take(cover.stop)


class _Parts:
    """
    Gives records to a handler, and keeps what it makes of them.

    Args:
        start: the first source offset that is covered.
        most: bytes of a section.

    Attributes:
        start: the first source offset of what was not taken yet.
        room: bytes until what was made is enough to be sent.
    """

    def __init__(self, handle: Handle, target: TopicPartition, start: int, most: int) -> None:
        self._handle = handle
        self._target = target
        self.start = start
        self._most = most
        self._own = _MadeRecords()
        self._routed: dict[TopicPartition, _MadeRecords] = {}
        self.room = _PART_BYTES
        self._answers: list[tuple[int, object]] = []
        self._odd: object = None

    def add(self, record: SourceRecord) -> bool:
        """Has a record handled; whether the answer is a list of records."""
        try:
            answer: Any = self._handle(record)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's code
            self._odd = error
            return False
        if type(answer) is not list or not all(map(_is_record, answer)):
            self._odd = answer
            return False
        # The list itself may be the handler's, which uses it again.
        self._answers.append((record.offset, tuple(answer)))
        topic, partition = self._target
        for each in answer:
            number = partition if each.partition is None else each.partition
            if each.topic == topic and number == partition:
                made = self._own
            else:
                where = TopicPartition(TopicName(each.topic), number)
                made = self._routed.setdefault(where, _MadeRecords())
            made.records.append(each)
            made.sources.append(record)
            self.room -= _RECORD_BYTES if each.value is None else len(each.value) + _RECORD_BYTES
        return True

    def take(self, stop: int) -> HandledPart:
        """What was made of the records before ``stop``, encoded if it can be."""
        covers, self.start, self.room = range(self.start, stop), stop, _PART_BYTES
        answers, self._answers = self._answers, []
        found = {self._target: self._own, **self._routed}
        self._own, self._routed = _MadeRecords(), {}
        try:
            sections = {
                where: _encoded(made, where, self._most)
                for where, made in found.items()
                if made.records
            }
        except (ValueError, TypeError, ArithmeticError):
            return HandledPart(covers, None, answers)
        return HandledPart(covers, sections, answers)

    def take_with_odd(self, offset: int) -> Iterator[HandledPart]:
        """What was made of the records before one, and that one: it needs more than batches do."""
        part, odd = self.take(offset), (offset, self._odd)
        self.start = offset + 1
        if part.sections is None:
            covers = range(part.covers.start, offset + 1)
            yield HandledPart(covers, None, [*part.answers, odd])
            return
        if part.covers:
            yield part
        yield HandledPart(range(offset, offset + 1), None, [odd])


def _is_record(made: Any) -> bool:
    """Whether a handler may return it, as far as where it goes and its room are concerned."""
    return (
        type(made) in _RECORDS
        and type(made.topic) is str
        and type(made.partition) in _NUMBERS
        and type(made.value) in _BYTES
        and type(made.headers) is tuple
        and _PAIRS.issuperset(map(type, made.headers))
    )


def _records(rows: pa.RecordBatch, target: TopicPartition) -> Iterator[SourceRecord]:
    """The rows as handlers see them."""
    topic, partition = target
    columns = (
        rows.column("offset").to_numpy().tolist(),
        rows.column("timestamp").view(pa.int64()).to_numpy().tolist(),
        _cells(rows.column("key")),
        _cells(rows.column("value")),
        _headers(rows.column("headers")),
    )
    for offset, timestamp, key, value, headers in zip(*columns, strict=True):
        yield source_record_of(topic, partition, offset, timestamp, key, value, headers)


def _cells(column: pa.Array) -> list[bytes | None]:
    """Its values; four times as fast as ``to_pylist``."""
    _, starts, data = column.buffers()
    at = column.offset
    bounds = np.frombuffer(starts, np.int32)[at : at + len(column) + 1].tolist()
    content = b"" if data is None else data.to_pybytes()
    found: list[bytes | None] = [content[first:last] for first, last in pairwise(bounds)]
    if column.null_count:
        for number in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
            found[number] = None
    return found


def _headers(column: pa.Array) -> Iterator[Headers]:
    """Of each row."""
    items = column.flatten()
    if not len(items):
        return iter([()] * len(column))
    each = list(zip(items.field(0).to_pylist(), _cells(items.field(1)), strict=True))
    bounds = column.offsets.to_numpy().tolist()
    return (tuple(each[first:last]) for first, last in pairwise(bounds))


def _encoded(made: _MadeRecords, where: TopicPartition, most: int) -> Sequence[RecordsSection]:
    """
    Sections of a batch.

    Raises:
        _NotEncodable: a field has another type than it should.
        ValueError: a timestamp is none, or the name of a header cannot be encoded.
    """
    records = made.records
    keys, values = [each.key for each in records], [each.value for each in records]
    times = [
        source.timestamp if each.timestamp is None else each.timestamp
        for each, source in zip(records, made.sources, strict=True)
    ]
    flat = list(chain.from_iterable(each.headers for each in records))
    names, contents = zip(*flat, strict=True) if flat else ((), ())
    _check(_BYTES, keys, contents)
    _check({int}, times)
    _check({str}, names)
    firsts = np.zeros(len(records) + 1, np.int32)
    np.cumsum([len(each.headers) for each in records], out=firsts[1:])
    headers = pa.StructArray.from_arrays(
        [pa.array(names, pa.string()), pa.array(contents, pa.binary())],
        fields=list(HEADERS_TYPE.value_type),
    )
    count = len(records)
    columns = [
        pa.array(keys, pa.binary()),
        pa.array(values, pa.binary()),
        pa.ListArray.from_arrays(pa.array(firsts), headers, type=HEADERS_TYPE),
        pa.array(times, pa.int64()).view(SCHEMA.field("timestamp").type),
        pa.repeat(pa.scalar(where.topic, pa.string()), count),
        pa.repeat(pa.scalar(where.partition, pa.int32()), count),
        pa.array([each.offset for each in made.sources], pa.int64()),
    ]
    batch = pa.record_batch(columns, schema=SCHEMA)
    return encode(batch, most=most, most_rows=MOST_RECORDS)


def _check(types: Collection[object], *columns: Iterable[object]) -> None:
    for column in columns:
        if not set(map(type, column)).issubset(types):
            raise _NotEncodable
