"""Rows of records as message handlers see them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from mm2.core.handled_records import Headers, SourceRecord, source_record_of
from mm2.core.model import TopicPartition


def source_records(rows: pa.RecordBatch, target: TopicPartition) -> Iterator[SourceRecord]:
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
