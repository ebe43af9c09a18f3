"""
Which batches of a fetch answer are made into one.

Requests and their answers cost the same for a batch of one record as for one of a thousand, and a
broker takes one batch of a partition in a request. So neighbours that are small, or that must be
re-encoded anyway, become one batch. Nothing is ever waited for: a batch that comes alone goes
alone, and the more a flow falls behind, the more there is to be merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeGuard

from flows.source.fetch.aborted_transactions import AbortedTransactions
from flows.source.fetch.contiguous_batches import MOST_RECORDS, ContiguousBatches, Piece
from flows.source.forward.record_batch import Batch, CorruptBatch
from mm2.kafka.wire.compression import GZIP, MOST_PLAIN, NONE, UNCOMPRESSED, Compression

MOST_BYTES: Final = 896 << 10
"""
Of batches that are made into one: a little less than brokers take by default (1,048,588), and than
many are set to (1,000,000).
"""

_MERGED_COUNT: Final = 1_024
_MERGED_BYTES: Final = 16 << 10
"""
Larger batches go as they are. Below that a batch costs the brokers and us more to send than to
re-encode, which takes a twentieth of a microsecond a record and a few nanoseconds a byte; but for
gzip.
"""

_GZIP_COUNT: Final = 8
_GZIP_BYTES: Final = 4 << 10

_MOST_COMPRESSED: Final = 128 << 10
"""Bytes of compressed batches that become one: unpacked they are many times as large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePolicy:
    """
    How batches are compressed and merged.

    Attributes:
        compression: as configured; None keeps each batch's codec.
        most_bytes: of batches that become one, before they are re-encoded.
        most_plain: bytes that one batch may have when it is decompressed.
    """

    compression: Compression | None = None
    most_bytes: int = MOST_BYTES
    most_plain: int = MOST_PLAIN

    def of(self, piece: Piece) -> Compression:
        """How the records of a piece are to be compressed."""
        if self.compression is not None:
            return self.compression
        return UNCOMPRESSED if isinstance(piece, ContiguousBatches) else Compression(piece.codec)

    def is_forwardable(self, piece: Piece, position: int) -> TypeGuard[Batch]:
        """Whether this is a batch that may go as it is."""
        compression = self.compression
        return (
            isinstance(piece, Batch)
            and piece.is_forwardable(position)
            and (compression is None or compression.codec == piece.codec)
        )

    def kind(self, piece: Piece, position: int) -> Compression | None:
        """What pieces must have in common to become one; None for what is left alone."""
        if _is_large(piece) and self.is_forwardable(piece, position):
            return None
        return self.of(piece)


def _count(piece: Piece) -> int:
    return piece.records if isinstance(piece, ContiguousBatches) else piece.count


def _most_bytes(piece: Piece, limit: int) -> int:
    is_plain = isinstance(piece, ContiguousBatches) or piece.codec == NONE
    return limit if is_plain else min(limit, _MOST_COMPRESSED)


def _is_large(piece: Piece) -> bool:
    if isinstance(piece, ContiguousBatches):
        return False
    if piece.codec == GZIP:
        return piece.count > _GZIP_COUNT or len(piece.data) > _GZIP_BYTES
    return piece.count > _MERGED_COUNT or len(piece.data) > _MERGED_BYTES


class BatchGroup(NamedTuple):
    """
    Batches that become one.

    Attributes:
        pieces: in order; empty if the offsets up to ``end`` are only skipped.
        end: the offset to go on from.
        leader_epoch: of the last batch before that.
    """

    pieces: list[Piece]
    compression: Compression
    end: int
    leader_epoch: int


def plan_merges(
    pieces: Iterable[Piece],
    position: int,
    policy: MergePolicy,
    *,
    aborted: AbortedTransactions,
    limit: int,
) -> Iterator[BatchGroup]:
    """
    Groups the pieces from ``position`` on by what becomes one batch.

    Batches of one codec go together, and uncompressed ones with them: producers leave a tiny batch
    uncompressed when that is smaller.

    ``position`` is the first offset that counts; ``limit`` the bytes of a group of several pieces.

    Raises:
        CorruptBatch: after all groups before the batch that is damaged.
    """
    group: list[Piece] = []
    size = records = 0
    most = limit
    end, epoch, common, trouble = position, -1, None, None
    try:
        for piece in pieces:
            # A compacted log keeps empty batches, for their producers' sequence numbers.
            is_void = isinstance(piece, Batch) and (aborted.is_void(piece) or piece.count == 0)
            if piece.last_offset < position:
                continue
            if isinstance(piece, Batch):
                piece.verify()
            if not is_void:
                kind = policy.kind(piece, position)
                both = common_codec(common, kind)
                size, records = size + len(piece.data), records + _count(piece)
                most = min(most, _most_bytes(piece, limit))
                if group and (both is None or size > most or records > MOST_RECORDS):
                    yield BatchGroup(group, common or policy.of(group[0]), end, epoch)
                    group, both = [], kind
                    size, records = len(piece.data), _count(piece)
                    most = _most_bytes(piece, limit)
                group.append(piece)
                common = both if len(group) > 1 else kind
            end, epoch = piece.last_offset + 1, piece.leader_epoch
    except CorruptBatch as error:
        trouble = error
    if end > position:
        yield BatchGroup(group, common or UNCOMPRESSED, end, epoch)
    if trouble is not None:
        raise trouble


def common_codec(one: Compression | None, other: Compression | None) -> Compression | None:
    """How batches of two kinds are compressed when they become one; None if they may not."""
    if one is None or other is None:
        return None
    if one == UNCOMPRESSED:
        return other
    return one if other in (one, UNCOMPRESSED) else None
