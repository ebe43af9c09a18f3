"""
Records rewritten at the speed of machine code, which Numba makes of these functions.

Importing this takes half a second, and some when nobody has compiled it for this kind of processor
yet: see ``mm2.kafka.wire.compiled``. All numbers are signed and of 64 bits, as in C: sums that
leave them wrap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numba import njit, types
from numba.extending import register_jitable
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Numbers: TypeAlias = NDArray[np.int64]

PREFIX: Final = 12
"""Base offset and length, which the length itself does not count."""

HEADER: Final = 61
LENGTH_AT: Final = 8
ATTRIBUTES_AT: Final = 21
BASE_TIMESTAMP_AT: Final = 27
MAX_TIMESTAMP_AT: Final = 35
COUNT_AT: Final = 57
LOG_APPEND_TIME: Final = 8

_LEAST: Final = 4
"""Bytes of a record: its length, its unused attributes, and two numbers."""

GROWTH: Final = 17
"""Bytes by which its length and these numbers may grow."""

_MOST_OFFSET: Final = (1 << 31) - 1
"""Above that of the batch."""

_LAST_SHIFT: Final = 63
_SEVEN_BITS: Final = 0x7F
_MORE_FOLLOW: Final = 0x80
_LOW_57_BITS: Final = (1 << 57) - 1
_LOW_63_BITS: Final = (1 << 63) - 1
DAMAGED: Final = -1
"""In the place of what cannot be."""

without_allocation: Final = register_jitable(_nrt=False)
"""
Of a function that makes no array, with all that it calls: Numba then counts no references.

Counting takes more than all else where each record is looked at, even if only parts of arrays are.
"""


def machine_code(
    function: Callable[..., object], arguments: tuple[object, ...], *, nogil: bool = False
) -> Callable[..., Any]:
    """
    A function compiled for arguments of these types of Numba.

    The code is kept beside the function's file, or in the user's folder for caches.
    """
    try:
        return njit(arguments, cache=True, nogil=nogil)(function)
    except Exception:  # noqa: BLE001 - no such folder may be written to, or a file in it is damaged
        return njit(arguments, nogil=nogil)(function)


@register_jitable
def fixed(data: Bytes, at: int, size: int) -> int:
    """A big-endian number."""
    value = 0
    for index in range(at, at + size):
        value = value << 8 | data[index]
    return value


@register_jitable
def short(data: Bytes, at: int) -> int:
    """A big-endian number of four bytes, with its sign."""
    value = fixed(data, at, 4)
    return value - (value >> 31 << 32)


@register_jitable
def number(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The zig-zag number at ``at``, and where the next byte after it is."""
    value = shift = 0
    while at < end and shift <= _LAST_SHIFT:
        byte = data[at]
        at += 1
        value |= (byte & _SEVEN_BITS) << shift
        if byte <= _SEVEN_BITS and (shift < _LAST_SHIFT or byte <= 1):
            return (value >> 1 & _LOW_63_BITS) ^ -(value & 1), at
        shift += 7
    return 0, DAMAGED


@register_jitable
def _zig_zag(value: int) -> int:
    return value << 1 ^ value >> 63


@register_jitable
def size_of(value: int) -> int:
    """Bytes of a zig-zag number."""
    rest, size = _zig_zag(value), 1
    while rest & ~_SEVEN_BITS:
        rest, size = rest >> 7 & _LOW_57_BITS, size + 1
    return size


@register_jitable
def put(out: Bytes, at: int, value: int) -> int:
    """Writes a zig-zag number; returns where the next byte after it is."""
    rest = _zig_zag(value)
    while rest & ~_SEVEN_BITS:
        out[at] = rest & _SEVEN_BITS | _MORE_FOLLOW
        rest, at = rest >> 7 & _LOW_57_BITS, at + 1
    out[at] = rest
    return at + 1


@register_jitable
def counted(data: Bytes) -> int:
    """Records in these batches, by their headers."""
    at = count = 0
    while at + HEADER <= len(data):
        records, length = short(data, at + COUNT_AT), short(data, at + LENGTH_AT)
        if length < HEADER - PREFIX or not 0 <= records * _LEAST <= length:
            return DAMAGED
        at, count = at + PREFIX + length, count + records
    return count if at == len(data) else DAMAGED


@register_jitable
def read(data: Bytes, at: int, stop: int) -> tuple[int, int, int, int]:
    """Timestamp and offset of a record as they stand there, where its key begins, and its end."""
    size, at = number(data, at, stop)
    if at == DAMAGED or not 0 < size <= stop - at:
        return 0, 0, DAMAGED, DAMAGED
    end = at + size
    timestamp, at = number(data, at + 1, end)  # after its unused attributes
    if at == DAMAGED:
        return 0, 0, DAMAGED, DAMAGED
    offset, at = number(data, at, end)
    return timestamp, offset, at if 0 <= offset <= _MOST_OFFSET else DAMAGED, end


@register_jitable
def record_size(timestamp: int, offset: int, body: int) -> int:
    """Bytes of a record whose body has so many."""
    size = 1 + size_of(timestamp) + size_of(offset) + body
    return size_of(size) + size


@register_jitable
def write(out: Bytes, at: int, timestamp: int, offset: int, body: Bytes) -> int:
    """Writes a record; returns where the next byte after it is."""
    at = put(out, at, 1 + size_of(timestamp) + size_of(offset) + len(body))
    out[at] = 0
    at = put(out, put(out, at + 1, timestamp), offset)
    end = at + len(body)
    room = out[at:end]
    for index in range(len(body)):  # ten times as fast as to assign the slice
        room[index] = body[index]
    return end


@without_allocation
def _fill(out: Bytes, offsets: Numbers, data: Bytes, position: int) -> tuple[int, int, int, int]:
    """How many records and bytes there are, the first timestamp and the largest one."""
    count = to = at = first = most = 0
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
            timestamp = append_time if has_append_time else base_timestamp + delta
            first = timestamp if count == 0 else first
            has_wrapped = (base_timestamp + delta < base_timestamp) != (delta < 0)
            if body == DAMAGED or has_wrapped or (timestamp - first < 0) != (timestamp < first):
                return DAMAGED, 0, first, most
            if base + offset >= position:
                most = timestamp if count == 0 else max(most, timestamp)
                to = write(out, to, timestamp - first, count, data[body:end])
                offsets[count] = base + offset
                count += 1
        at = stop
    return count, to, first, most


def _rewrite(data: Bytes, position: int) -> tuple[int, Bytes, Numbers, int, int]:
    room = counted(data)
    out = np.empty(len(data) + GROWTH * max(room, 0), np.uint8)
    offsets = np.empty(max(room, 0), np.int64)
    if room == DAMAGED:
        return DAMAGED, out, offsets, 0, 0
    count, size, first, most = _fill(out, offsets, data, position)
    return count, out[:size], offsets[: max(count, 0)], first, most


_ARGUMENTS: Final = (types.Array(types.uint8, 1, "C", readonly=True), types.int64)

_machine_code = machine_code(_rewrite, _ARGUMENTS)


def rewrite(data: bytes | memoryview, position: int) -> tuple[int, Bytes, Numbers, int, int]:
    """
    The records from ``position`` on, with offsets from 0 and timestamps after the first one's.

    Args:
        data: batches of format v2, not compressed.
        position: offset of the first record that counts.

    Returns:
        How many there are, or -1 if they cannot be read or have impossible times; their bytes, the
        offset that each of them had, the timestamp of the first and the largest timestamp.
    """
    return _machine_code(np.frombuffer(data, np.uint8), position)  # type: ignore[no-any-return]
