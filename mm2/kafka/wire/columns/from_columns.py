"""
Columns as records for batches, by code that Numba compiles.

Importing this takes some time, as ``mm2.kafka.wire.kernel``.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types
from numba.extending import register_jitable

from mm2.kafka.wire.columns.cells import READ_ONLY, Cells, Rows, Starts, copy_bytes, edge
from mm2.kafka.wire.kernel import (
    DAMAGED,
    Bytes,
    Numbers,
    machine_code,
    put,
    record_size,
    size_of,
    without_allocation,
)

START: Final = 0
STOP: Final = 1
"""Of its bytes."""

FIRST: Final = 2
LAST: Final = 3
"""Of its rows; behind the last one."""

BASE_TIMESTAMP: Final = 4
MAX_TIMESTAMP: Final = 5
SECTION_COLUMNS: Final = 6


@register_jitable
def _size(cells: Cells, index: int) -> int:
    """Bytes of a cell, -1 for null."""
    bit = cells.bit + index
    if len(cells.valid) and not cells.valid[bit >> 3] >> (bit & 7) & 1:
        return -1
    return edge(cells.starts, index + 1) - edge(cells.starts, index)


@register_jitable
def _put_cell(out: Bytes, at: int, cells: Cells, index: int) -> int:
    size = _size(cells, index)
    at = put(out, at, size)
    if size < 0:
        return at
    copy_bytes(out, at, cells.data, cells.starts[index], size)
    return at + size


@register_jitable
def _cell_size(cells: Cells, index: int) -> int:
    size = _size(cells, index)
    return size_of(size) + max(size, 0)


@without_allocation
def _last_of(starts: Starts) -> int:
    """The last of these numbers if none is less than the one before, else -1."""
    before = 0
    for start in starts:
        if start < before:
            return DAMAGED
        before = start
    return before


@without_allocation
def _is_sound(cells: Cells) -> bool:
    """Whether all cells lie within the data."""
    return 0 <= _last_of(cells.starts) <= len(cells.data)


@without_allocation
def _have_headers(rows: Rows) -> bool:
    """Whether the headers of all records are there."""
    return 0 <= _last_of(rows.firsts) < min(len(rows.names.starts), len(rows.values.starts))


@register_jitable
def _body_size(rows: Rows, index: int) -> int:
    first, last = edge(rows.firsts, index), edge(rows.firsts, index + 1)
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
            first, last = edge(rows.firsts, index), edge(rows.firsts, index + 1)
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


_STARTS: Final = types.Array(types.int32, 1, "C", readonly=True)
_TIMES: Final = types.Array(types.int64, 1, "C", readonly=True)
_CELLS: Final = types.NamedTuple((_STARTS, READ_ONLY, READ_ONLY, types.int64), Cells)  # type: ignore[no-untyped-call]
_ROWS: Final = types.NamedTuple((_CELLS, _CELLS, _STARTS, _CELLS, _CELLS), Rows)  # type: ignore[no-untyped-call]
_ARGUMENTS: Final = (_ROWS, _TIMES, types.int64, types.int64)

_machine_code = machine_code(_records, _ARGUMENTS, nogil=True)


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
    count, out, sections = _machine_code(rows, times, most, most_rows)
    if count == DAMAGED:
        raise ValueError("a column has cells outside of its data")
    return out, sections
