"""
Records as columns, by code that Numba compiles.

Importing this takes some time, as ``mm2.kafka.wire.kernel``.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types
from numba.extending import register_jitable

from mm2.kafka.wire.columns.cells import READ_ONLY, Cells, Rows, copy_bytes, edge
from mm2.kafka.wire.kernel import (
    DAMAGED,
    Bytes,
    Numbers,
    machine_code,
    number,
    without_allocation,
)
from mm2.kafka.wire.record_kernel import END, HEADERS_AT, KEY_AT, KEY_SIZE, VALUE_AT, VALUE_SIZE

_LARGEST: Final = (1 << 31) - 1
"""Where a cell may begin or end."""


@register_jitable
def _next_header(data: Bytes, at: int, end: int) -> tuple[int, int, int, int, int]:
    """Where the name and the value of a header begin, their sizes, and where both end."""
    name_size, name = number(data, at, end)
    if name == DAMAGED or name_size < 0 or name_size > end - name:
        return 0, 0, 0, 0, DAMAGED
    size, value = number(data, name + name_size, end)
    if value == DAMAGED or size < -1 or size > end - value:
        return 0, 0, 0, 0, DAMAGED
    return name, name_size, value, size, value + max(size, 0)


@without_allocation
def _measure(data: Bytes, rows: Numbers) -> tuple[int, int, int, int, int]:
    """Bytes of keys and values; how many headers there are; bytes of their names and values."""
    keys = values = headers = names = contents = 0
    for index in range(len(rows)):
        row = rows[index]
        keys += max(row[KEY_SIZE], 0)
        values += max(row[VALUE_SIZE], 0)
        end = row[END]
        count, at = number(data, row[HEADERS_AT], end)
        if at == DAMAGED or not 0 <= count <= end - at:
            return 0, 0, DAMAGED, 0, 0
        headers += count
        for _ in range(count):
            _, name_size, _, size, at = _next_header(data, at, end)
            if at == DAMAGED:
                return 0, 0, DAMAGED, 0, 0
            names += name_size
            contents += max(size, 0)
    return keys, values, headers, names, contents


@register_jitable
def _column(count: int, size: int) -> Cells:
    return Cells(
        np.zeros(count + 1, np.int32),
        np.empty(size, np.uint8),
        np.zeros((count + 7) >> 3, np.uint8),
        0,
    )


@register_jitable
def _add(cells: Cells, index: int, data: Bytes, at: int, size: int) -> int:
    """Adds a cell; 1 if it is null, which a size of -1 says."""
    to = edge(cells.starts, index)
    if size < 0:
        cells.starts[index + 1] = to
        return 1
    copy_bytes(cells.data, to, data, at, size)
    cells.starts[index + 1] = to + size
    cells.valid[index >> 3] |= np.uint8(1 << (index & 7))
    return 0


@without_allocation
def _fill(found: Rows, nulls: Numbers, data: Bytes, rows: Numbers) -> None:
    header = 0
    for index in range(len(rows)):
        row = rows[index]
        nulls[0] += _add(found.key, index, data, row[KEY_AT], row[KEY_SIZE])
        nulls[1] += _add(found.value, index, data, row[VALUE_AT], row[VALUE_SIZE])
        mine, at = number(data, row[HEADERS_AT], row[END])
        for _ in range(mine):
            name, name_size, value, size, at = _next_header(data, at, row[END])
            _add(found.names, header, data, name, name_size)
            nulls[2] += _add(found.values, header, data, value, size)
            header += 1
        found.firsts[index + 1] = header


def _columns(data: Bytes, rows: Numbers) -> tuple[int, Numbers, Rows]:
    keys, values, headers, names, contents = _measure(data, rows)
    is_too_large = max(keys, values, headers, names, contents) > _LARGEST
    count = 0 if headers == DAMAGED or is_too_large else len(rows)
    if count < len(rows):
        keys = values = headers = names = contents = 0
    nulls = np.zeros(3, np.int64)
    found = Rows(
        _column(count, keys),
        _column(count, values),
        np.zeros(count + 1, np.int32),
        _column(headers, names),
        _column(headers, contents),
    )
    _fill(found, nulls, data, rows[:count])
    return count - len(rows), nulls, found


_ARGUMENTS: Final = (READ_ONLY, types.Array(types.int64, 2, "C"))

_machine_code = machine_code(_columns, _ARGUMENTS, nogil=True)


def columns(data: bytes | memoryview, rows: Numbers) -> tuple[Numbers, Rows]:
    """
    The fields of located records as columns, and how many keys, values and header values are null.

    Args:
        data: batches of format v2, not compressed.
        rows: of ``record_kernel.locate``.

    Raises:
        ValueError: their headers cannot be read, or are more than fits a column.
    """
    missing, nulls, found = _machine_code(np.frombuffer(data, np.uint8), rows)
    if missing:
        raise ValueError("the headers of a batch cannot be read, or a column is too large")
    return nulls, found
