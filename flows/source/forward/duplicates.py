"""Passes by records of the source that the target has already."""

from __future__ import annotations

import structlog

from flows.source.fetch.aborted_transactions import AbortedTransactions
from flows.source.forward.batch import split
from flows.source.forward.overlap import Overlap
from flows.source.forward.recode import records_of
from flows.source.mirrored_partition import MirroredPartition
from mm2.kafka.wire.compression import MOST_PLAIN

log = structlog.get_logger()


def skip_already_copied(
    partition: MirroredPartition,
    records: memoryview,
    aborted: AbortedTransactions,
    most: int = MOST_PLAIN,
) -> None:
    """
    Moves a partition's position past records of a fetch answer that the target has already.

    Args:
        partition: forgets its overlap when that is over, or at the first difference; where it is
            used up the position stays, and goes on when more of it has been read.
        records: of the answer.
        aborted: the transactions of the answer that count for nothing.
        most: bytes of memory that the records of a batch may take, decompressed.

    Raises:
        ValueError: a batch cannot be read; what comes before it is passed by.
    """
    overlap, position = partition.overlap, partition.position
    if overlap is None or position is None:
        return
    for batch in split(records):
        is_void = aborted.is_void(batch)
        if batch.last_offset < position:
            continue
        if not partition.follows(batch.leader_epoch):
            return
        if batch.magic >= 2:  # noqa: PLR2004 - older formats are checked when they are read
            batch.verify()
        for record in () if is_void else records_of(batch, most):
            if record.offset >= position:
                if overlap.is_used_up:
                    return
                if not overlap.holds_next(record):
                    _end(partition, overlap)
                    return
                partition.found(record.offset, overlap.end)
        partition.position = batch.last_offset + 1
        partition.leader_epoch = batch.leader_epoch


def _end(partition: MirroredPartition, overlap: Overlap) -> None:
    partition.overlap = None
    log.info(
        "source.overlap_passed",
        topic=partition.source.topic,
        partition=partition.source.partition,
        records=overlap.passed,
        is_complete=overlap.is_over,
    )
