"""
Contiguous batches: uncompressed batches side by side in a fetch response.

Some producers send every record in a batch of its own, and then there are so many that to read
each as a ``Batch`` would take longer than to re-encode it. What contiguous batches share is read
once. Larger batches gain as well: their memory is rewritten as a whole, and what becomes of it
costs a quarter of what four batches do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Final, NamedTuple, TypeAlias

from crc32c import crc32c

from flows.source.forward.record_batch import (
    CODEC_BITS,
    CONTROL,
    CRC_FROM,
    MAGIC,
    PREFIX_SIZE,
    SHORTEST,
    TRANSACTIONAL,
    Batch,
    read,
    split,
)
from mm2.kafka.wire.compiled import is_compiled

_MOST_BYTES: Final = 256 << 10
"""Larger batches go as they are: what each costs hardly counts any more."""

_MOST_BYTES_IN_PYTHON: Final = 4 << 10
"""While nothing is compiled, to rewrite a larger one takes longer than to send it."""

MOST_RECORDS: Final = 16_384
"""Of batches that become one: more would hold up all that the task does, if one is refused."""

_HEAD: Final = Struct(">qiibIhi30xi")


class ContiguousBatches(NamedTuple):
    """At least two batches in a row, each with a checksum that is right."""

    data: memoryview
    records: int
    last_offset: int
    leader_epoch: int


Piece: TypeAlias = Batch | ContiguousBatches


def each_batch(pieces: Iterable[Piece]) -> list[Batch]:
    """The batches one by one."""
    return [
        batch
        for piece in pieces
        for batch in (split(piece.data) if isinstance(piece, ContiguousBatches) else [piece])
    ]


def slices(data: memoryview, *, transactional: bool, limit: int) -> Iterator[Piece]:
    """
    Yields the whole batches of a fetch response in order, contiguous ones together.

    ``transactional``: contiguous batches may be of transactions. ``limit``: their bytes.

    Raises:
        CorruptBatch: see ``split``.
    """
    unfit = CODEC_BITS | CONTROL | (0 if transactional else TRANSACTIONAL)
    most_bytes = _MOST_BYTES if is_compiled() else _MOST_BYTES_IN_PYTHON
    at = start = number = records = last = leader = 0
    end = len(data)
    head, size = _HEAD.unpack_from, _HEAD.size
    while True:
        if end - at >= size:
            base, length, epoch, magic, crc, attributes, delta, count = head(data, at)
            following = at + PREFIX_SIZE + length
            if (
                SHORTEST <= length <= most_bytes
                and records + count <= MOST_RECORDS
                and not attributes & unfit
                and magic == MAGIC
                and following <= end
                and following - start <= limit
                and (epoch == leader or not number)
                and crc32c(data[at + CRC_FROM : following]) == crc
            ):
                number, last, leader, at = number + 1, base + delta, epoch, following
                records += count
                continue
        if number:
            yield from _joined(data[start:at], number, records, last, leader)
        elif (batch := read(data, at)) is not None:
            yield batch
            at += len(batch.data)
        else:
            return
        start, number, records = at, 0, 0


def _joined(
    data: memoryview, number: int, records: int, last_offset: int, epoch: int
) -> Iterator[Piece]:
    if number > 1:
        yield ContiguousBatches(data, records, last_offset, epoch)
    else:
        yield from split(data)
