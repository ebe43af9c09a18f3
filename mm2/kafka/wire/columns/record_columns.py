"""
Records of batches as columns of Arrow, and columns as records of batches.

Importing this takes half a second, and some when it was never compiled for this kind of processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from mm2.core.transforms.column_schema import HEADERS_TYPE, SCHEMA, WrongColumns, as_records
from mm2.kafka.wire.columns.cells import Cells, Rows
from mm2.kafka.wire.columns.from_columns import (
    BASE_TIMESTAMP,
    FIRST,
    LAST,
    MAX_TIMESTAMP,
    START,
    STOP,
    records,
)
from mm2.kafka.wire.columns.to_columns import columns
from mm2.kafka.wire.compiled import RecordsSection
from mm2.kafka.wire.record_kernel import OFFSET, TIMESTAMP, locate

__all__ = ["SCHEMA", "WrongColumns", "decode", "encode"]

_ALL: Final = 1 << 62


def decode(
    data: bytes | memoryview, *, topic: str, partition: int, position: int = 0
) -> pa.RecordBatch:
    """
    The records from ``position`` on, in the columns of ``SCHEMA``, which see.

    Timestamps are those that consumers see: of records, or of the append.

    Args:
        data: batches of format v2 side by side, not compressed.
        topic: in the column of that name.
        partition: in the column of that name.
        position: offset of the first record that counts.

    Raises:
        ValueError: the records cannot be read, the name of a header is not UTF-8, or a column has
            more than 2 GiB.
    """
    rows = locate(data)
    if len(rows) and rows[0, OFFSET] < position:
        rows = rows[rows[:, OFFSET] >= position]
    (keys, values, contents), found = columns(data, rows)
    count = len(rows)
    names = _array(found.names, pa.string(), 0)
    names.validate(full=True)
    headers = pa.StructArray.from_arrays(
        [names, _array(found.values, pa.binary(), contents)], fields=list(HEADERS_TYPE.value_type)
    )
    times = pa.array(rows[:, TIMESTAMP], pa.int64())
    return pa.record_batch(
        [
            _array(found.key, pa.binary(), keys),
            _array(found.value, pa.binary(), values),
            pa.ListArray.from_arrays(pa.array(found.firsts), headers, type=HEADERS_TYPE),
            times.view(SCHEMA.field("timestamp").type),
            pa.repeat(pa.scalar(topic, pa.string()), count),
            pa.repeat(pa.scalar(partition, pa.int32()), count),
            pa.array(rows[:, OFFSET], pa.int64()),
        ],
        schema=SCHEMA,
    )


def encode(
    batch: pa.RecordBatch, *, most: int = _ALL, most_rows: int = _ALL
) -> list[RecordsSection]:
    """
    The records of a batch with the columns of ``SCHEMA``, in sections for batches; none of no rows.

    ``topic`` and ``partition`` are not looked at. ``offsets`` of a section are what ``offset`` has,
    whatever that is; the records themselves are numbered from 0 in each section.

    Args:
        most: bytes of a section; a larger record has one of its own.
        most_rows: records of a section.

    Raises:
        WrongColumns: see ``as_records``.
        ValueError: cells lie outside of their data.
    """
    batch = as_records(batch)
    times = _numbers(batch.column("timestamp").view(pa.int64()))
    offsets = _numbers(batch.column("offset"))
    out, sections = records(_rows(batch), times, most=most, most_rows=most_rows)
    return [
        RecordsSection(
            out[section[START] : section[STOP]].data,
            _in_a_row(offsets[section[FIRST] : section[LAST]]),
            section[BASE_TIMESTAMP],
            section[MAX_TIMESTAMP],
        )
        for section in sections.tolist()
    ]


def _in_a_row(offsets: Any) -> Sequence[int]:
    """A range if they are one, which is cheaper to keep and to go through."""
    first, last = int(offsets[0]), int(offsets[-1])
    is_range = last - first + 1 == len(offsets) and bool((offsets[1:] > offsets[:-1]).all())
    return range(first, last + 1) if is_range else offsets.data


def _array(cells: Cells, kind: pa.DataType, nulls: int) -> pa.Array:
    bits = pa.py_buffer(cells.valid) if nulls else None
    buffers = [bits, pa.py_buffer(cells.starts), pa.py_buffer(cells.data)]
    return pa.Array.from_buffers(kind, len(cells.starts) - 1, buffers, int(nulls))


def _rows(batch: pa.RecordBatch) -> Rows:
    headers = batch.column("headers")
    fields = headers.values
    return Rows(
        _cells(batch.column("key")),
        _cells(batch.column("value")),
        _numbers(headers.offsets),
        _cells(fields.field(0)),
        _cells(fields.field(1)),
    )


def _cells(column: pa.Array) -> Cells:
    column.validate()
    valid, starts, data = column.buffers()
    bits = valid if column.null_count else None
    numbers = _view(starts, np.int32)[column.offset : column.offset + len(column) + 1]
    if not len(numbers):  # Arrow leaves the buffer of no cells out.
        numbers = _view(pa.py_buffer(bytes(4)), np.int32)
    return Cells(numbers, _view(data, np.uint8), _view(bits, np.uint8), column.offset)


def _numbers(column: pa.Array) -> Any:
    """Its values, in the array's own type; read-only."""
    width = column.type.bit_width // 8
    kind = np.int64 if width == np.dtype(np.int64).itemsize else np.int32
    return _view(column.buffers()[1], kind)[column.offset : column.offset + len(column)]


def _view(buffer: pa.Buffer | None, kind: type) -> Any:
    found: Any = np.frombuffer(b"" if buffer is None else buffer, kind)
    found = np.require(found, requirements=["A"])
    found.flags.writeable = False
    return found
