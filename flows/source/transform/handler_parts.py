"""
Records of batches given to a message handler, and what it returns encoded as batches.

Importing this has code compiled: see ``mm2.kafka.wire.columns.record_columns``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from flows.source.fetch.contiguous_batches import MOST_RECORDS
from flows.source.forward.record_batch import Batch
from flows.source.transform.changed_batches import SEND_AFTER_S, TURN_S
from flows.source.transform.column_handle import Sections
from flows.source.transform.column_parts import rows_of
from flows.source.transform.handler_batches import HandledPart
from flows.source.transform.handler_rows import source_records
from flows.source.transform.message_handler import Handle
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.model import TopicName, TopicPartition
from mm2.core.transforms.column_schema import HEADERS_TYPE, SCHEMA
from mm2.kafka.wire.columns.record_columns import encode
from mm2.kafka.wire.compiled import RecordsSection

_PART_BYTES: Final = 4 << 20
"""What is enough to be sent: bytes of values that were made, and for each record some more."""

_RECORD_BYTES: Final = 1 << 10
_BYTES: Final = frozenset({bytes, type(None)})
_RECORDS: Final = frozenset({SourceRecord, TargetRecord})


class _NotEncodable(ValueError):
    """Records have fields of other types than they should: one by one, each has its own error."""


class _MadeRecords(NamedTuple):
    """What was made for one partition, each with the record that it was made of."""

    records: list[SourceRecord | TargetRecord]
    sources: list[SourceRecord]


class _Answers:
    """
    What a handler has returned for some records: lists of records.

    Attributes:
        sources: the records, in order.
        counts: how many records were returned for each.
        made: all that were returned, in order.
    """

    __slots__ = ("counts", "made", "sources")

    def __init__(self) -> None:
        self.sources: list[SourceRecord] = []
        self.counts: list[int] = []
        self.made: list[SourceRecord | TargetRecord] = []

    @property
    def empty(self) -> int:
        """For how many records none was returned."""
        return self.counts.count(0)

    def by_offset(self) -> dict[int, object]:
        """What was returned for each record."""
        made, answered = iter(self.made), zip(self.sources, self.counts, strict=True)
        return {source.offset: list(islice(made, count)) for source, count in answered}

    def by_target(self, own: TopicPartition) -> Mapping[TopicPartition, _MadeRecords]:
        """By where they go; ``own`` is the partition of those that name none."""
        sources = self.sources
        if not {1}.issuperset(self.counts):
            sources = list(chain.from_iterable(map(repeat, sources, self.counts)))
        topics = {each.topic for each in self.made}
        partitions = {each.partition for each in self.made}
        _check({str}, topics)
        _check({int, type(None)}, partitions)
        if topics == {own.topic} and partitions <= {own.partition, None}:
            return {own: _MadeRecords(self.made, sources)}
        found: dict[TopicPartition, _MadeRecords] = {}
        for each, source in zip(self.made, sources, strict=True):
            partition = own.partition if each.partition is None else each.partition
            where = TopicPartition(TopicName(each.topic), partition)
            made = found.setdefault(where, _MadeRecords([], []))
            made.records.append(each)
            made.sources.append(source)
        return found


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
    parts = _Parts(handle, source_records(rows, target), target, cover, most)
    while parts.rest:
        if parts.handle():
            await asyncio.sleep(0)
            continue
        for part in parts.take():
            yield part


class _Parts:
    """
    Gives records to a handler, and keeps what it makes of them.

    Args:
        records: in order; what is read of them is given to the handler.
        target: the partition that they are copied to.
        cover: the source offsets that they are of.
        most: bytes of a section.

    Attributes:
        rest: the source offsets of what was not taken yet.
    """

    def __init__(
        self,
        handle: Handle,
        records: Iterator[SourceRecord],
        target: TopicPartition,
        cover: range,
        most: int,
    ) -> None:
        self._handle = handle
        self._records = records
        self._target = target
        self.rest = cover
        self._most = most
        self._clear()

    def _clear(self) -> None:
        self._answers = _Answers()
        self._odd: tuple[int, object] | None = None
        self._stop = self.rest.stop
        self._room = _PART_BYTES
        self._send_at = 0.0

    def handle(self) -> bool:
        """Has records handled until others should have a turn; false if what was made is to go."""
        handle, answers, room = self._handle, self._answers, self._room
        now = time.monotonic()
        if not answers.sources:
            self._send_at = now + SEND_AFTER_S
        turn_ends, send_at = now + TURN_S, self._send_at
        for record in self._records:
            try:
                answer: Any = handle(record)
            except BaseException as error:  # noqa: BLE001 - the user's code, which is not awaited
                answer = error
            if type(answer) is not list or (used := _room_for(answer)) is None:
                self._stop, self._odd = record.offset, (record.offset, answer)
                return False
            answers.sources.append(record)
            answers.counts.append(len(answer))
            # The list itself may be the handler's, which uses it again.
            answers.made += answer
            room -= used
            now = time.monotonic()
            if room <= 0 or now >= send_at:
                self._stop = record.offset + 1
                return False
            if now > turn_ends:
                self._room = room
                return True
        return False

    def take(self) -> Iterator[HandledPart]:
        """What was made until now, and after it the record that needs more than batches do."""
        answers, odd, stop, last = self._answers, self._odd, self._stop, self.rest.stop
        covers, self.rest = range(self.rest.start, stop), range(stop + bool(odd), last)
        self._clear()
        sections = self._sections(answers)
        if odd is None:
            is_odd = sections is None
            yield HandledPart(covers, sections, answers.by_offset, is_odd, answers.empty)
            return
        if sections is not None:
            if covers:
                yield HandledPart(covers, sections, answers.by_offset, left_out=answers.empty)
            covers, answers = range(stop, stop), _Answers()
        yield HandledPart(
            range(covers.start, stop + 1),
            None,
            lambda: {**answers.by_offset(), odd[0]: odd[1]},
            is_odd=sections is None or not isinstance(odd[1], BaseException),
        )

    def _sections(self, answers: _Answers) -> Sections | None:
        """What was made, encoded; None if it cannot be."""
        try:
            return {
                where: _encoded(made, where, self._most)
                for where, made in answers.by_target(self._target).items()
            }
        except (ValueError, TypeError, ArithmeticError):
            return None


def _room_for(answer: list[Any]) -> int | None:
    """The bytes that a list of records takes; None if it has others, or what may be changed."""
    found = 0
    for made in answer:
        if type(made) not in _RECORDS or type(made.headers) is not tuple:
            return None
        for pair in made.headers:
            if type(pair) is not tuple:
                return None
        value = made.value
        if type(value) is bytes:
            found += len(value) + _RECORD_BYTES
        elif value is None:
            found += _RECORD_BYTES
        else:
            return None
    return found


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
