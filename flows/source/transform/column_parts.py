"""
Batches changed as columns, and encoded again.

Importing this keeps freed memory, and has code compiled: see
``mm2.kafka.wire.columns.record_columns``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from flows.source.fetch.contiguous_batches import MOST_RECORDS
from flows.source.forward.recode import joined
from flows.source.forward.record_batch import Batch
from flows.source.transform.column_handle import (
    LEAST_ROWS,
    ChangedPart,
    ColumnHandle,
    ColumnPart,
)
from flows.source.transform.freed_memory import keep_freed_memory
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.columns.record_columns import decode, encode

_MOST_ROWS: Final = 32_768
_MOST_BYTES: Final = 6 << 20
"""
Of the rows that are changed at a time: what else waits has its turn in between.

With SQL each piece is a request, which takes a millisecond of CPU however few rows it has. So what
is taken together, a megabyte of small records in compressed batches, is one piece.
"""

keep_freed_memory()


async def changed_parts(
    batches: Sequence[Batch],
    cover: range,
    transform: ColumnHandle,
    target: TopicPartition,
    *,
    most: int,
    most_plain: int,
) -> AsyncIterator[ColumnPart]:
    """
    What becomes of the records of batches, from offsets in ``cover``: parts of it, in order.

    Where the transform fails the records are halved, until they are few. So are batches that cannot
    be read together, until one is left.

    Args:
        target: where the partition's copy is; the transform sees its name.
        most: bytes of a section.
        most_plain: bytes that a batch may have when it is decompressed.
    """
    try:
        rows = rows_of(batches, cover, target, most_plain)
    except ValueError as error:
        if len(batches) == 1:
            yield ColumnPart(ChangedPart(cover), str(error))
            return
        for half in _halves(batches, cover):
            parts = changed_parts(*half, transform, target, most=most, most_plain=most_plain)
            async for each in parts:
                yield each
        return
    for piece, part in _pieces(rows, cover):
        async for each in _changed(piece, part, transform, target, most):
            yield each


def rows_of(
    batches: Sequence[Batch], cover: range, target: TopicPartition, most_plain: int
) -> pa.RecordBatch:
    """
    The records of batches from the start of ``cover`` on, as read from partition ``target``.

    Raises:
        ValueError: they cannot be read, or are not those that the headers of batches announce.
    """
    data = joined(batches, most_plain)
    rows = decode(data, topic=target.topic, partition=target.partition, position=cover.start)
    offsets = rows.column("offset").to_numpy()
    is_within = not len(offsets) or (cover.start <= offsets[0] and offsets[-1] < cover.stop)
    if not (is_within and (np.diff(offsets) > 0).all()):
        raise ValueError("offsets of records are not those of their batch")
    return rows


def _pieces(rows: pa.RecordBatch, cover: range) -> Iterator[tuple[pa.RecordBatch, range]]:
    """The rows in pieces that take not too long, each with its part of ``cover``."""
    most = max(1, min(_MOST_ROWS, _MOST_BYTES * len(rows) // max(rows.nbytes, 1)))
    while len(rows) > most:
        at = rows.column("offset")[most].as_py()
        yield rows.slice(0, most), range(cover.start, at)
        rows, cover = rows.slice(most), range(at, cover.stop)
    yield rows, cover


def _halves(
    batches: Sequence[Batch], cover: range
) -> tuple[tuple[Sequence[Batch], range], tuple[Sequence[Batch], range]]:
    first, second = batches[: len(batches) // 2], batches[len(batches) // 2 :]
    at = first[-1].last_offset + 1
    return (first, range(cover.start, at)), (second, range(at, cover.stop))


async def _changed(
    rows: pa.RecordBatch, cover: range, transform: ColumnHandle, target: TopicPartition, most: int
) -> AsyncIterator[ColumnPart]:
    try:
        made = transform.change(rows)
        if isinstance(made, Awaitable):
            made = await made
        sections = {
            where: encode(part, most=most, most_rows=MOST_RECORDS)
            for where, part in _by_target(made, target)
        }
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's code
        if len(rows) < LEAST_ROWS:
            yield ColumnPart(ChangedPart(cover), repr(error))
            return
        middle = len(rows) // 2
        at = rows.column("offset")[middle].as_py()
        first, second = range(cover.start, at), range(at, cover.stop)
        for half, part in ((rows.slice(0, middle), first), (rows.slice(middle), second)):
            async for each in _changed(half, part, transform, target, most):
                yield each
        return
    left_out = max(0, len(rows) - _distinct(made.column("offset").to_numpy()))
    yield ColumnPart(ChangedPart(cover, sections, left_out))


def _distinct(offsets: npt.NDArray[np.int64]) -> int:
    """How many offsets there are, of some that do not descend."""
    return int(np.count_nonzero(np.diff(offsets))) + bool(len(offsets))


def _by_target(
    made: pa.RecordBatch, target: TopicPartition
) -> Iterator[tuple[TopicPartition, pa.RecordBatch]]:
    """The rows by where they go, if there are any; in order for each."""
    if not len(made):
        return
    topics, partitions = made.column("topic"), made.column("partition")
    is_own = pc.and_(pc.equal(topics, target.topic), pc.equal(partitions, target.partition))
    if pc.all(is_own).as_py():
        yield target, made
        return
    codes = topics.dictionary_encode()
    places = codes.indices.to_numpy().astype(np.int64) << 32 | partitions.to_numpy().view(np.uint32)
    found, which, counts = np.unique(places, return_inverse=True, return_counts=True)
    ordered, start = made.take(pa.array(np.argsort(which, kind="stable"))), 0
    for place, count in zip(found.tolist(), counts.tolist(), strict=True):
        name = TopicName(codes.dictionary[place >> 32].as_py())
        number = int(np.uint32(place & 0xFFFFFFFF).astype(np.int32))
        yield TopicPartition(name, number), ordered.slice(start, count)
        start += count
