"""
Records divided among partitions by their keys, by code that Numba compiles.

Importing this takes some time, as ``mm2.kafka.wire.kernel``. The hash is Java's murmur2, so that a
key leads where Java's producer would send it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types
from numba.extending import register_jitable

from mm2.kafka.wire.kernel import (
    ATTRIBUTES_AT,
    BASE_TIMESTAMP_AT,
    COUNT_AT,
    DAMAGED,
    GROWTH,
    HEADER,
    LENGTH_AT,
    LOG_APPEND_TIME,
    MAX_TIMESTAMP_AT,
    PREFIX,
    Bytes,
    Numbers,
    counted,
    fixed,
    machine_code,
    number,
    read,
    record_size,
    short,
    without_allocation,
    write,
)

PARTITION: Final = 0
START: Final = 1
STOP: Final = 2
"""Of its bytes."""

FIRST: Final = 3
LAST: Final = 4
"""Of its offsets; behind the last one."""

BASE_TIMESTAMP: Final = 5
MAX_TIMESTAMP: Final = 6
SECTION_COLUMNS: Final = 7

_SECTION: Final = 0
_BODY: Final = 1
_END: Final = 2
_TIMESTAMP: Final = 3
_OFFSET: Final = 4
_RECORD_COLUMNS: Final = 5

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_32_BITS: Final = 0xFFFFFFFF
_31_BITS: Final = 0x7FFFFFFF
_WORD: Final = 4


@register_jitable
def _murmur2(data: Bytes, at: int, size: int) -> int:
    """As ``mm2.core.murmur2``; a product of numbers of 32 and 31 bits fits."""
    state = _SEED ^ size
    whole = at + (size & ~3)
    while at < whole:
        word = data[at] | data[at + 1] << 8 | data[at + 2] << 16 | data[at + 3] << 24
        word = word * _MULTIPLIER & _32_BITS
        word = (word ^ word >> 24) * _MULTIPLIER & _32_BITS
        state = (state * _MULTIPLIER & _32_BITS) ^ word
        at += _WORD
    if size & 3:
        rest = 0
        for index in range(size & 3):
            rest |= data[at + index] << 8 * index
        state = (state ^ rest) * _MULTIPLIER & _32_BITS
    state = (state ^ state >> 13) * _MULTIPLIER & _32_BITS
    return state ^ state >> 15


@register_jitable
def _partition(data: Bytes, body: int, end: int, partitions: int, keyless: int) -> int:
    """The partition of a record, by the key with which its body begins."""
    size, at = number(data, body, end)
    if at == DAMAGED or size < -1 or size > end - at:
        return DAMAGED
    if size < 0:
        return keyless
    return (_murmur2(data, at, size) & _31_BITS) % partitions


@register_jitable
def _place(sections: Numbers, open_: Numbers, used: int, row: Numbers, most: int) -> int:
    """
    Adds a record to the section of its partition, or to a new one; how many there are now.

    The row has the partition in the place of the section.
    """
    partition = row[_SECTION]
    body, timestamp = row[_END] - row[_BODY], row[_TIMESTAMP]
    index = open_[partition]
    if index >= 0:
        section = sections[index]
        delta, count = timestamp - section[BASE_TIMESTAMP], section[LAST]
        if (delta < 0) != (timestamp < section[BASE_TIMESTAMP]):
            return DAMAGED  # it has wrapped
        size = record_size(delta, count, body)
        if section[STOP] + size <= most:
            section[STOP] += size
            section[LAST] += 1
            section[MAX_TIMESTAMP] = max(section[MAX_TIMESTAMP], timestamp)
            row[_SECTION] = index
            return used
    section = sections[used]
    section[PARTITION], section[STOP], section[LAST] = partition, record_size(0, 0, body), 1
    section[BASE_TIMESTAMP] = section[MAX_TIMESTAMP] = timestamp
    open_[partition] = row[_SECTION] = used
    return used + 1


@without_allocation
def _lay_out(sections: Numbers) -> int:
    """One empty section behind the other, where sizes and counts were; returns bytes of all."""
    at = first = 0
    for index in range(len(sections)):
        section = sections[index]
        size, count = section[STOP], section[LAST]
        section[START] = section[STOP] = at
        section[FIRST] = section[LAST] = first
        at, first = at + size, first + count
    return at


@without_allocation
def _fill(out: Bytes, offsets: Numbers, sections: Numbers, data: Bytes, rows: Numbers) -> None:
    """Writes each record at the end of its section."""
    for index in range(len(rows)):
        row = rows[index]
        section = sections[row[_SECTION]]
        at, place = section[STOP], section[LAST]
        delta, body = row[_TIMESTAMP] - section[BASE_TIMESTAMP], data[row[_BODY] : row[_END]]
        section[STOP] = write(out, at, delta, place - section[FIRST], body)
        offsets[place] = row[_OFFSET]
        section[LAST] = place + 1


@without_allocation
def _locate(rows: Numbers, data: Bytes, position: int) -> int:
    """How many records there are from ``position`` on, or -1 if they cannot be read."""
    count = at = 0
    while at < len(data):
        base = fixed(data, at, 8)
        stop = at + PREFIX + short(data, at + LENGTH_AT)
        has_append_time = fixed(data, at + ATTRIBUTES_AT, 2) & LOG_APPEND_TIME
        base_timestamp = fixed(data, at + BASE_TIMESTAMP_AT, 8)
        append_time = fixed(data, at + MAX_TIMESTAMP_AT, 8)
        records = short(data, at + COUNT_AT)
        at += HEADER
        for _ in range(records):
            delta, offset, body, end = read(data, at, stop)
            at = end
            has_wrapped = (base_timestamp + delta < base_timestamp) != (delta < 0)
            if body == DAMAGED or has_wrapped:
                return DAMAGED
            if base + offset >= position:
                row = rows[count]
                row[_BODY], row[_END], row[_OFFSET] = body, end, base + offset
                row[_TIMESTAMP] = append_time if has_append_time else base_timestamp + delta
                count += 1
        at = stop
    return count


@without_allocation
def _choose(rows: Numbers, data: Bytes, partitions: int, keyless: int) -> bool:
    """Notes the partition of each record in the place of the section; False if one has none."""
    for index in range(len(rows)):
        row = rows[index]
        row[_SECTION] = _partition(data, row[_BODY], row[_END], partitions, keyless)
        if row[_SECTION] == DAMAGED:
            return False
    return True


@without_allocation
def _place_all(sections: Numbers, open_: Numbers, rows: Numbers, most: int) -> int:
    """How many sections the records make, or -1 if they have impossible times."""
    used = 0
    for index in range(len(rows)):
        used = _place(sections, open_, used, rows[index], most)
        if used == DAMAGED:
            return DAMAGED
    return used


def _divide(
    data: Bytes, position: int, partitions: int, keyless: int, most: int
) -> tuple[int, Bytes, Numbers, Numbers]:
    room = max(counted(data), DAMAGED)
    rows = np.empty((max(room, 0), _RECORD_COLUMNS), np.int64)
    size = len(data) + GROWTH * max(room, 0)
    sections = np.zeros((partitions + 2 * (size // most) + 2, SECTION_COLUMNS), np.int64)
    open_ = np.full(partitions, DAMAGED, np.int64)
    count = DAMAGED if room == DAMAGED else _locate(rows, data, position)
    rows, used = rows[: max(count, 0)], DAMAGED
    if count != DAMAGED and _choose(rows, data, partitions, keyless):
        used = _place_all(sections, open_, rows, most)
    if used == DAMAGED:
        return DAMAGED, np.empty(0, np.uint8), np.empty(0, np.int64), sections
    sections = sections[:used]
    out = np.empty(_lay_out(sections), np.uint8)
    offsets = np.empty(count, np.int64)
    _fill(out, offsets, sections, data, rows)
    return used, out, offsets, sections


_ARGUMENTS: Final = (
    types.Array(types.uint8, 1, "C", readonly=True),
    types.int64,
    types.int64,
    types.int64,
    types.int64,
)

_machine_code = machine_code(_divide, _ARGUMENTS)


def divide(
    data: bytes | memoryview, position: int, *, partitions: int, keyless: int, most: int
) -> tuple[int, Bytes, Numbers, Numbers]:
    """
    The records from ``position`` on as sections for batches, each of one partition.

    Args:
        data: batches of format v2, not compressed.
        partitions: how many there are.
        keyless: the partition of records without a key.
        most: bytes of a section; a larger record has one of its own.

    Returns:
        How many sections there are, or -1 if records cannot be read or have impossible times; their
        bytes; the offsets that their records had; and a row of ``SECTION_COLUMNS`` for each.
    """
    array = np.frombuffer(data, np.uint8)
    return _machine_code(array, position, partitions, keyless, most)  # type: ignore[no-any-return]
