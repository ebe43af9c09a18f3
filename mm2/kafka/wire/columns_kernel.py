"""
Records as columns and back, by code that Numba compiles.

Importing this takes some time, as ``mm2.kafka.wire.kernel``. Columns are laid out as Arrow has
them: the bytes of all cells side by side, where each begins, and a bit for each that is not null.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numba import njit, types
from numba.extending import register_jitable
from numpy.typing import NDArray

from mm2.kafka.wire.kernel import (
    DAMAGED,
    Bytes,
    Numbers,
    number,
    put,
    record_size,
    size_of,
    without_allocation,
)
from mm2.kafka.wire.record_kernel import END, HEADERS_AT, KEY_AT, KEY_SIZE, VALUE_AT, VALUE_SIZE

Starts: TypeAlias = NDArray[np.int32]

_LARGEST: Final = (1 << 31) - 1
"""Where a cell may begin or end."""

START: Final = 0
STOP: Final = 1
"""Of its bytes."""

FIRST: Final = 2
LAST: Final = 3
"""Of its rows; behind the last one."""

BASE_TIMESTAMP: Final = 4
MAX_TIMESTAMP: Final = 5
SECTION_COLUMNS: Final = 6


class Cells(NamedTuple):
    """
    A column of bytes.

    Attributes:
        starts: where each cell begins, and where the last one ends.
        data: of all cells.
        valid: a bit for each cell, 0 for null, the lowest bits first; empty if none is null.
        bit: the number of the first cell's.
    """

    starts: Starts
    data: Bytes
    valid: Bytes
    bit: int


class Rows(NamedTuple):
    """
    Records as columns.

    Attributes:
        firsts: the number of each record's first header, and of what follows the last one's.
    """

    key: Cells
    value: Cells
    firsts: Starts
    names: Cells
    values: Cells


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
def _copy(out: Bytes, to: int, data: Bytes, at: int, size: int) -> None:
    room, bytes_ = out[to : to + size], data[at : at + size]
    for index in range(size):
        room[index] = bytes_[index]


@register_jitable
def _add(cells: Cells, index: int, data: Bytes, at: int, size: int) -> int:
    """Adds a cell; 1 if it is null, which a size of -1 says."""
    to = _at(cells.starts, index)
    if size < 0:
        cells.starts[index + 1] = to
        return 1
    _copy(cells.data, to, data, at, size)
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


@register_jitable
def _at(starts: Starts, index: int) -> int:
    """A number of 64 bits, as all others."""
    return np.int64(starts[index])  # type: ignore[return-value]  # that is Numba's int


@register_jitable
def _size(cells: Cells, index: int) -> int:
    """Bytes of a cell, -1 for null."""
    bit = cells.bit + index
    if len(cells.valid) and not cells.valid[bit >> 3] >> (bit & 7) & 1:
        return -1
    return _at(cells.starts, index + 1) - _at(cells.starts, index)


@register_jitable
def _put_cell(out: Bytes, at: int, cells: Cells, index: int) -> int:
    size = _size(cells, index)
    at = put(out, at, size)
    if size < 0:
        return at
    _copy(out, at, cells.data, cells.starts[index], size)
    return at + size


@register_jitable
def _cell_size(cells: Cells, index: int) -> int:
    size = _size(cells, index)
    return size_of(size) + max(size, 0)


@without_allocation
def _is_sound(cells: Cells) -> bool:
    """Whether all cells lie within the data."""
    before = 0
    for start in cells.starts:
        if start < before:
            return False
        before = start
    return before <= len(cells.data)


@without_allocation
def _have_headers(rows: Rows) -> bool:
    """Whether the headers of all records are there."""
    before = 0
    for first in rows.firsts:
        if first < before:
            return False
        before = first
    return before < min(len(rows.names.starts), len(rows.values.starts))


@register_jitable
def _body_size(rows: Rows, index: int) -> int:
    first, last = _at(rows.firsts, index), _at(rows.firsts, index + 1)
    size = _cell_size(rows.key, index) + _cell_size(rows.value, index) + size_of(last - first)
    for header in range(first, last):
        size += _cell_size(rows.names, header) + _cell_size(rows.values, header)
    return size


@without_allocation
def _size_all(bodies: Numbers, rows: Rows) -> None:
    for index in range(len(bodies)):
        bodies[index] = _body_size(rows, index)


@without_allocation
def _divide(sections: Numbers, bodies: Numbers, times: Numbers, most: int, most_rows: int) -> int:
    """How many sections there are, one behind the other."""
    used = at = 0
    for index in range(len(times)):
        time = times[index]
        is_new = True
        if used:
            section = sections[used - 1]
            count, delta = index - section[FIRST], time - section[BASE_TIMESTAMP]
            size = record_size(delta, count, bodies[index])
            has_wrapped = (delta < 0) != (time < section[BASE_TIMESTAMP])
            is_new = has_wrapped or count >= most_rows or at + size - section[START] > most
        if is_new:
            section = sections[used]
            section[START], section[FIRST] = at, index
            section[BASE_TIMESTAMP] = section[MAX_TIMESTAMP] = time
            size = record_size(0, 0, bodies[index])
            used += 1
        at += size
        section[STOP], section[LAST] = at, index + 1
        section[MAX_TIMESTAMP] = max(section[MAX_TIMESTAMP], time)
    return used


@without_allocation
def _write(out: Bytes, sections: Numbers, bodies: Numbers, rows: Rows, times: Numbers) -> None:
    at = 0
    for section in sections:
        for index in range(section[FIRST], section[LAST]):
            delta, place = times[index] - section[BASE_TIMESTAMP], index - section[FIRST]
            at = put(out, at, 1 + size_of(delta) + size_of(place) + bodies[index])
            out[at] = 0
            at = put(out, put(out, at + 1, delta), place)
            at = _put_cell(out, _put_cell(out, at, rows.key, index), rows.value, index)
            first, last = _at(rows.firsts, index), _at(rows.firsts, index + 1)
            at = put(out, at, last - first)
            for header in range(first, last):
                at = _put_cell(out, at, rows.names, header)
                at = _put_cell(out, at, rows.values, header)


def _records(rows: Rows, times: Numbers, most: int, most_rows: int) -> tuple[int, Bytes, Numbers]:
    if not (
        _is_sound(rows.key)
        and _is_sound(rows.value)
        and _is_sound(rows.names)
        and _is_sound(rows.values)
        and _have_headers(rows)
    ):
        return DAMAGED, np.empty(0, np.uint8), np.empty((0, SECTION_COLUMNS), np.int64)
    bodies = np.empty(len(times), np.int64)
    sections = np.empty((len(times), SECTION_COLUMNS), np.int64)
    _size_all(bodies, rows)
    sections = sections[: _divide(sections, bodies, times, most, most_rows)]
    out = np.empty(sections[-1, STOP] if len(sections) else 0, np.uint8)
    _write(out, sections, bodies, rows, times)
    return len(sections), out, sections


_DATA: Final = types.Array(types.uint8, 1, "C", readonly=True)
_STARTS: Final = types.Array(types.int32, 1, "C", readonly=True)
_TIMES: Final = types.Array(types.int64, 1, "C", readonly=True)
_LOCATED: Final = types.Array(types.int64, 2, "C")
_CELLS: Final = types.NamedTuple((_STARTS, _DATA, _DATA, types.int64), Cells)  # type: ignore[no-untyped-call]
_ROWS: Final = types.NamedTuple((_CELLS, _CELLS, _STARTS, _CELLS, _CELLS), Rows)  # type: ignore[no-untyped-call]


def _compiled() -> tuple[object, object]:
    """Machine code, kept beside this file or in the user's folder for caches."""
    back = (_ROWS, _TIMES, types.int64, types.int64)
    there = (_DATA, _LOCATED)
    try:
        kept = njit(there, cache=True, nogil=True), njit(back, cache=True, nogil=True)
        return kept[0](_columns), kept[1](_records)
    except Exception:  # noqa: BLE001 - no such folder may be written to, or a file in it is damaged
        return njit(there, nogil=True)(_columns), njit(back, nogil=True)(_records)


_machine_columns, _machine_records = _compiled()


def columns(data: bytes | memoryview, rows: Numbers) -> tuple[Numbers, Rows]:
    """
    The fields of located records as columns, and how many keys, values and header values are null.

    Args:
        data: batches of format v2, not compressed.
        rows: of ``record_kernel.locate``.

    Raises:
        ValueError: their headers cannot be read, or are more than fits a column.
    """
    missing, nulls, found = _machine_columns(np.frombuffer(data, np.uint8), rows)  # type: ignore[operator]
    if missing:
        raise ValueError("the headers of a batch cannot be read, or a column is too large")
    return nulls, found


def records(rows: Rows, times: Numbers, *, most: int, most_rows: int) -> tuple[Bytes, Numbers]:
    """
    The bytes of records in sections for batches, and a row of ``SECTION_COLUMNS`` for each section.

    Args:
        times: timestamps in ms.
        most: bytes of a section; a larger record has one of its own.
        most_rows: records of a section.

    Raises:
        ValueError: cells lie outside of their data.
    """
    count, out, sections = _machine_records(rows, times, most, most_rows)  # type: ignore[operator]
    if count == DAMAGED:
        raise ValueError("a column has cells outside of its data")
    return out, sections
