"""
Where the records of batches lie, and digests of their fields, found by code that Numba compiles.

Importing this takes half a second, and some when nobody has compiled it for this kind of processor
yet, as ``mm2.kafka.wire.kernel``. Digests are SipHash-1-3: whoever does not know the key can make
no two records that have the same one.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numba import types
from numba.extending import register_jitable
from numpy.typing import NDArray

from mm2.kafka.wire.kernel import (
    ATTRIBUTES_AT,
    BASE_TIMESTAMP_AT,
    COUNT_AT,
    DAMAGED,
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
    short,
    without_allocation,
)

Digests: TypeAlias = NDArray[np.uint64]

OFFSET: Final = 0
TIMESTAMP: Final = 1
KEY_AT: Final = 2
KEY_SIZE: Final = 3
VALUE_AT: Final = 4
VALUE_SIZE: Final = 5
HEADERS_AT: Final = 6
END: Final = 7
HAS_APPEND_TIME: Final = 8
COLUMNS: Final = 9
"""Of a row of ``locate``. A size is -1 for None; headers go from their count to the end."""

_FIELDS: Final = 3
_NO_HEADERS: Final = 1
"""Bytes of the headers of a record that has none: their number."""

_WORD: Final = 8
_V0: Final = np.uint64(0x736F6D6570736575)
_V1: Final = np.uint64(0x646F72616E646F6D)
_V2: Final = np.uint64(0x6C7967656E657261)
_V3: Final = np.uint64(0x7465646279746573)
_LAST: Final = np.uint64(0xFF)
_8: Final = np.uint64(8)
_13: Final = np.uint64(13)
_16: Final = np.uint64(16)
_17: Final = np.uint64(17)
_21: Final = np.uint64(21)
_24: Final = np.uint64(24)
_32: Final = np.uint64(32)
_40: Final = np.uint64(40)
_43: Final = np.uint64(43)
_47: Final = np.uint64(47)
_48: Final = np.uint64(48)
_51: Final = np.uint64(51)
_56: Final = np.uint64(56)


@register_jitable
def _field(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """Where a key or a value begins, its size, and where the next byte after it is."""
    size, start = number(data, at, end)
    if start == DAMAGED or size < -1 or size > end - start:
        return DAMAGED, DAMAGED, DAMAGED
    return start, size, start + max(size, 0)


@register_jitable
def _locate_record(data: Bytes, body: int, end: int, row: Numbers) -> bool:
    """Notes where the fields of a record lie; False if they cannot."""
    key_at, key_size, at = _field(data, body, end)
    if at == DAMAGED:
        return False
    value_at, value_size, at = _field(data, at, end)
    if at == DAMAGED or at >= end:
        return False
    row[KEY_AT], row[KEY_SIZE] = key_at, key_size
    row[VALUE_AT], row[VALUE_SIZE] = value_at, value_size
    row[HEADERS_AT], row[END] = at, end
    return True


@without_allocation
def _locate_all(rows: Numbers, data: Bytes) -> int:
    """How many records there are, or -1 if they cannot be read."""
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
            has_wrapped = (base_timestamp + delta < base_timestamp) != (delta < 0)
            is_located = body != DAMAGED and _locate_record(data, body, end, rows[count])
            if has_wrapped or not is_located:
                return DAMAGED
            rows[count, OFFSET] = base + offset
            rows[count, TIMESTAMP] = append_time if has_append_time else base_timestamp + delta
            rows[count, HAS_APPEND_TIME] = has_append_time
            count, at = count + 1, end
        at = stop
    return count


def _locate(data: Bytes) -> tuple[int, Numbers]:
    room = counted(data)
    rows = np.empty((max(room, 0), COLUMNS), np.int64)
    return DAMAGED if room == DAMAGED else _locate_all(rows, data), rows


@register_jitable
def _round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v0 = v0 + v1
    v1 = (v1 << _13 | v1 >> _51) ^ v0
    v0 = v0 << _32 | v0 >> _32
    v2 = v2 + v3
    v3 = (v3 << _16 | v3 >> _48) ^ v2
    v0 = v0 + v3
    v3 = (v3 << _21 | v3 >> _43) ^ v0
    v2 = v2 + v1
    v1 = (v1 << _17 | v1 >> _47) ^ v2
    v2 = v2 << _32 | v2 >> _32
    return v0, v1, v2, v3


@register_jitable
def _word(data: Bytes, at: int) -> np.uint64:
    """A little-endian number of eight bytes, written so that it becomes one instruction."""
    return (
        np.uint64(data[at])
        | np.uint64(data[at + 1]) << _8
        | np.uint64(data[at + 2]) << _16
        | np.uint64(data[at + 3]) << _24
        | np.uint64(data[at + 4]) << _32
        | np.uint64(data[at + 5]) << _40
        | np.uint64(data[at + 6]) << _48
        | np.uint64(data[at + 7]) << _56
    )


@register_jitable
def _rest(data: Bytes, at: int, size: int) -> np.uint64:
    """A little-endian number of fewer bytes."""
    word = np.uint64(0)
    for index in range(size):
        word |= np.uint64(data[at + index]) << (np.uint64(index) * _8)
    return word


@register_jitable
def _sip(data: Bytes, at: int, size: int, k0: np.uint64, k1: np.uint64) -> np.uint64:
    v0, v1, v2, v3 = k0 ^ _V0, k1 ^ _V1, k0 ^ _V2, k1 ^ _V3
    end = at + size
    while at + _WORD <= end:
        word = _word(data, at)
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
        at += _WORD
    word = _rest(data, at, end - at) | np.uint64(size) << _56
    v3 ^= word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v2 = v0 ^ word, v2 ^ _LAST
    for _ in range(3):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@without_allocation
def _digest_all(found: Digests, data: Bytes, rows: Numbers, k0: int, k1: int) -> None:
    first, second = np.uint64(k0), np.uint64(k1)
    for index in range(len(rows)):
        row = rows[index]
        headers = row[END] - row[HEADERS_AT]
        # Each field has a key of its own, so that no field can stand in for another.
        if row[KEY_SIZE] >= 0:
            found[index, 0] = _sip(data, row[KEY_AT], row[KEY_SIZE], first, second)
        if row[VALUE_SIZE] >= 0:
            found[index, 1] = _sip(data, row[VALUE_AT], row[VALUE_SIZE], ~first, second)
        if headers > _NO_HEADERS:
            found[index, 2] = _sip(data, row[HEADERS_AT], headers, first, ~second)


def _digest(data: Bytes, rows: Numbers, k0: int, k1: int) -> Digests:
    found = np.zeros((len(rows), _FIELDS), np.uint64)
    _digest_all(found, data, rows, k0, k1)
    return found


_DATA: Final = types.Array(types.uint8, 1, "C", readonly=True)
_ROWS: Final = types.Array(types.int64, 2, "C")

_machine_locate = machine_code(_locate, (_DATA,), nogil=True)
_machine_digest = machine_code(_digest, (_DATA, _ROWS, types.uint64, types.uint64), nogil=True)


def locate(data: bytes | memoryview) -> Numbers:
    """
    Where the fields of each record are: a row of ``COLUMNS`` numbers for each.

    Args:
        data: batches of format v2, not compressed.

    Raises:
        ValueError: the records cannot be read.
    """
    count, rows = _machine_locate(np.frombuffer(data, np.uint8))
    if count < 0:
        raise ValueError("the records of a batch cannot be read")
    return rows  # type: ignore[no-any-return]


def digest(data: bytes | memoryview, rows: Numbers, key: tuple[int, int]) -> Digests:
    """
    Digests of key, value and headers of each record; 0 for none.

    Args:
        key: two numbers of 64 bits, not negative.
    """
    return _machine_digest(np.frombuffer(data, np.uint8), rows, *key)  # type: ignore[no-any-return]
