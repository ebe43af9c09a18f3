"""Where an unreadable batch ends: by lengths and neighbours, not by its contents."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final

from flows.source.forward.record_batch import MAGIC, CorruptBatch, read

_PREFIX: Final = Struct(">qi")
_LAST_DELTA: Final = Struct(">i")
_LAST_DELTA_AT: Final = 23
_MAGIC_AT: Final = 16


@dataclass(frozen=True, slots=True)
class Damaged:
    """
    One batch that cannot be read.

    Attributes:
        data: its bytes, as far as they were fetched.
        offsets: those that it takes in the source log.
    """

    data: bytes
    offsets: range


def damaged_batch(records: memoryview, position: int, end: int) -> Damaged | None:
    """
    Finds the batch at ``position`` in a fetch answer; None if its end cannot be determined.

    The offset of the next batch is the best evidence, unless there is none at its length. Where
    none came along, its own header counts only if its checksum confirms it, and what is wrong is
    something else, or if it ends where the source does. Otherwise more must be fetched.

    ``position`` is the first offset that has not been read; the source ends before ``end``.
    """
    at, found = 0, None
    while at + _MAGIC_AT < len(records):
        base, length = _PREFIX.unpack_from(records, at)
        if found is not None and base > position:
            is_batch = base <= end and records[at + _MAGIC_AT] <= MAGIC
            return Damaged(found, range(position, base)) if is_batch else None
        if length <= 0:
            return None
        following = at + _PREFIX.size + length
        found, at = bytes(records[at:following]), following
    return None if found is None else _by_its_header(found, position, end)


def _by_its_header(data: bytes, position: int, end: int) -> Damaged | None:
    if len(data) < _LAST_DELTA_AT + _LAST_DELTA.size:
        return None
    (base, _length) = _PREFIX.unpack_from(data)
    is_batch = data[_MAGIC_AT] == MAGIC
    last = base + _LAST_DELTA.unpack_from(data, _LAST_DELTA_AT)[0] if is_batch else base
    is_known = position <= last < end and (last + 1 == end or _is_intact(data))
    return Damaged(data, range(position, last + 1)) if is_known else None


def _is_intact(data: bytes) -> bool:
    try:
        batch = read(memoryview(data), 0)
        if batch is None or batch.magic < MAGIC:
            return False
        batch.verify()
    except CorruptBatch:
        return False
    return True
