"""What becomes of the batches of one fetch answer: forwarded, re-encoded or passed over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final, TypeVar

import structlog

from flows.source.fetch.aborted_transactions import (
    AbortedTransactions,
    aborted_in,
    readable_end,
)
from flows.source.fetch.contiguous_batches import Piece, each_batch, slices
from flows.source.fetch.fetch_state import FetchState
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.merge_batches import MergePolicy, plan_merges
from flows.source.forward.overlap import Overlap
from flows.source.forward.recode import recode, records_of
from flows.source.forward.record_batch import MAGIC, split
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from mm2.clock import now_ms
from mm2.core.positions.log_identity import UNKNOWN_EPOCH
from mm2.kafka.wire.compression import MOST_PLAIN, Compression, TooLarge
from mm2.kafka.wire.requests.fetch import FetchedPartition

log = structlog.get_logger()

P = TypeVar("P", bound=Piece)

_MOST_CORRUPT_READS: Final = 5
_FIRST_PAUSE_S: Final = 0.1


class BatchForwarder:
    """Takes fetched batches to the producer, in order."""

    def __init__(
        self,
        producer: Producer,
        budget: MemoryBudget,
        error_policy: ErrorPolicy,
        *,
        read_committed: bool,
        policy: MergePolicy | None = None,
    ) -> None:
        self._producer = producer
        self._error_policy = error_policy
        self._budget = budget
        self._read_committed = read_committed
        self._policy = policy or MergePolicy()

    def forward(self, partition: MirroredPartition, fetched: FetchedPartition) -> None:
        """
        Sends all whole batches from the partition's position on, and moves the position.

        A batch that cannot be read is asked for again; after a few times the error policy decides.
        Of one that is too large when it is decompressed it decides at once.
        """
        fetch = partition.fetch
        if fetch.is_held:  # until a dead letter is written
            return
        end = readable_end(fetched, read_committed=self._read_committed)
        fetch.set_bounds(fetched.log_start, end)
        partition.stats.saw_end(end)
        if fetch.position is None:
            return
        aborted = aborted_in(fetched, read_committed=self._read_committed)
        if fetch.overlap is not None:
            self._skip_copied(partition, fetched)
        if not fetch.waits_for_overlap:
            self._forward(partition, fetch.position, fetched, aborted)
        partition.advance_past_skipped()

    def _forward(
        self,
        partition: MirroredPartition,
        start: int,
        fetched: FetchedPartition,
        aborted: AbortedTransactions,
    ) -> None:
        limit = min(self._policy.most_bytes, partition.sender.most_bytes)
        found = continuing(
            partition,
            slices(fetched.records, transactional=not aborted.are_known, limit=limit),
        )
        try:
            for group in plan_merges(found, start, self._policy, aborted=aborted, limit=limit):
                self._pass_on(partition, group.pieces, group.compression)
                partition.fetch.advance(group.end, group.leader_epoch)
        except ValueError as error:
            if read_failed(partition.fetch, error):
                self._error_policy.unreadable(partition, fetched.records, str(error))

    def _skip_copied(self, partition: MirroredPartition, fetched: FetchedPartition) -> None:
        """Leaves out what the target has already; damage is met again on the usual way."""
        aborted = aborted_in(fetched, read_committed=self._read_committed)
        with suppress(ValueError):
            skip_already_copied(partition, fetched.records, aborted, self._policy.most_plain)

    def _pass_on(
        self, partition: MirroredPartition, pieces: Sequence[Piece], how: Compression
    ) -> None:
        """Sends the records of some pieces, as one batch if possible."""
        position = partition.fetch.position or 0
        if not pieces:
            return
        first = pieces[0]
        if len(pieces) == 1 and self._policy.is_forwardable(first, position):
            offsets = range(first.base_offset, first.last_offset + 1)
            self._send(partition, first.data, offsets)
            return
        try:
            recoded = recode(pieces, position, how, self._policy.most_plain)
        except ValueError:
            batches = each_batch(pieces)
            if len(batches) == 1:
                raise
            for batch in batches:  # what is wrong with one of them must not stop the others
                if batch.last_offset < (partition.fetch.position or 0):
                    continue
                self._pass_on(partition, [batch], self._policy.of(batch))
                partition.fetch.move_to(batch.last_offset + 1)
            return
        if recoded is not None:
            self._send(partition, recoded.data, recoded.offsets)

    def _send(
        self,
        partition: MirroredPartition,
        data: bytearray | memoryview,
        offsets: Sequence[int],
    ) -> None:
        partition.fetch.end_overlap()  # from here on the remote partition ends with what we send
        partition.progress.enqueue(len(data))
        self._budget.charge(len(data))
        sent = self._producer.send(partition.sender, data, offsets)
        partition.stats.fetched(sent.oldest_ms, now_ms())


def read_failed(fetch: FetchState, error: ValueError) -> bool:
    """
    Counts a batch that cannot be read, and has it asked for again later; whether that is enough.

    One that is too large will be so again, and nothing of it is damaged.
    """
    count = _MOST_CORRUPT_READS if isinstance(error, TooLarge) else 1
    failed_reads = fetch.count_failed_reads(count)
    fetch.pause(_FIRST_PAUSE_S * 2 ** min(failed_reads, _MOST_CORRUPT_READS))
    return failed_reads >= _MOST_CORRUPT_READS


def continuing(partition: MirroredPartition, found: Iterable[P]) -> Iterator[P]:
    """The pieces up to one that may be of another log than what was taken before."""
    newest = UNKNOWN_EPOCH
    for piece in found:
        if not partition.follows(piece.leader_epoch) or UNKNOWN_EPOCH < piece.leader_epoch < newest:
            partition.validation.reject(piece.leader_epoch)
            return
        newest = piece.leader_epoch
        yield piece


def skip_already_copied(
    partition: MirroredPartition,
    records: memoryview,
    aborted: AbortedTransactions,
    most: int = MOST_PLAIN,
) -> None:
    """
    Moves a partition's position past records of a fetch answer that the target has already.

    The overlap is dropped at its end or at the first difference. Where it is used up the position
    stays until more of it has been read. ``most`` limits the bytes of one decompressed batch.

    Raises:
        ValueError: a batch cannot be read; what comes before it is skipped.
    """
    overlap, position = partition.fetch.overlap, partition.fetch.position
    if overlap is None or position is None:
        return
    for batch in split(records):
        is_void = aborted.is_void(batch)
        if batch.last_offset < position:
            continue
        if not partition.follows(batch.leader_epoch):
            return
        if batch.magic >= MAGIC:  # older formats are checked when they are read
            batch.verify()
        for record in () if is_void else records_of(batch, most):
            if record.offset >= position:
                if overlap.is_used_up:
                    return
                if not overlap.holds_next(record):
                    end_overlap(partition, overlap)
                    return
                partition.found(record.offset, overlap.end)
        partition.fetch.advance(batch.last_offset + 1, batch.leader_epoch)


def end_overlap(partition: MirroredPartition, overlap: Overlap) -> None:
    """Compares no more of a partition with what the target has."""
    partition.fetch.end_overlap()
    log.info(
        "source.duplicates_skipped",
        topic=partition.source.topic,
        partition=partition.source.partition,
        records=overlap.passed,
        is_complete=overlap.is_over,
    )
