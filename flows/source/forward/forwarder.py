"""What becomes of the batches of one fetch answer: forwarded, re-encoded or passed over."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Final

from flows.source.fetch.aborted_transactions import AbortedTransactions
from flows.source.fetch.contiguous_batches import Piece, each_batch, slices
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.duplicates import skip_already_copied
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.merge_batches import MergePolicy, plan_merges
from flows.source.forward.recode import recode
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from mm2.core.positions.log_identity import UNKNOWN_EPOCH
from mm2.kafka.wire.compression import Compression, TooLarge
from mm2.kafka.wire.requests.fetch import FetchedPartition

_MOST_CORRUPT_READS: Final = 5
_FIRST_PAUSE_S: Final = 0.1


class BatchForwarder:
    """
    Takes fetched batches to the producer, in order.

    Args:
        producer: sends them.
        budget: counts the bytes until they are acknowledged.
        tolerance: decides about batches that cannot be read.
        read_committed: leave out records of aborted transactions.
        policy: what is merged, and how it is compressed.
    """

    def __init__(
        self,
        producer: Producer,
        budget: MemoryBudget,
        tolerance: ErrorPolicy,
        *,
        read_committed: bool,
        policy: MergePolicy | None = None,
    ) -> None:
        self._producer = producer
        self._tolerance = tolerance
        self._budget = budget
        self._read_committed = read_committed
        self._policy = policy or MergePolicy()

    def forward(self, partition: MirroredPartition, fetched: FetchedPartition) -> None:
        """
        Sends all whole batches from the partition's position on, and moves the position.

        A batch that cannot be read is asked for again; after a few times the tolerance decides. Of
        one that is too large when it is decompressed it decides at once.
        """
        if partition.pause_until == inf:  # until a dead letter is written
            return
        partition.end = fetched.last_stable if self._read_committed else fetched.high_watermark
        if partition.position is None:
            return
        aborted = AbortedTransactions(fetched.aborted if self._read_committed else ())
        if partition.overlap is not None:
            self._pass_by(partition, fetched)
        if not partition.waits_for_tail:
            self._forward(partition, partition.position, fetched, aborted)
        partition.advance_past_skipped()

    def _forward(
        self,
        partition: MirroredPartition,
        start: int,
        fetched: FetchedPartition,
        aborted: AbortedTransactions,
    ) -> None:
        limit = min(self._policy.most_bytes, partition.lane.most_bytes)
        found = _continuing(
            partition,
            slices(fetched.records, transactional=not aborted.are_known, limit=limit),
        )
        try:
            for group in plan_merges(found, start, self._policy, aborted=aborted, limit=limit):
                self._pass_on(partition, group.pieces, group.compression)
                partition.position, partition.leader_epoch = group.end, group.leader_epoch
                partition.corrupt = 0
        except ValueError as error:
            # One that is too large will be so again, and nothing of it is damaged.
            partition.corrupt += _MOST_CORRUPT_READS if isinstance(error, TooLarge) else 1
            pause_s = _FIRST_PAUSE_S * 2**partition.corrupt
            partition.pause_until = time.monotonic() + pause_s
            if partition.corrupt >= _MOST_CORRUPT_READS:
                self._tolerance.unreadable(partition, fetched.records, str(error))

    def _pass_by(self, partition: MirroredPartition, fetched: FetchedPartition) -> None:
        """Leaves out what the target has already; damage is met again on the usual way."""
        aborted = AbortedTransactions(fetched.aborted if self._read_committed else ())
        with suppress(ValueError):
            skip_already_copied(partition, fetched.records, aborted, self._policy.most_plain)

    def _pass_on(
        self, partition: MirroredPartition, pieces: Sequence[Piece], how: Compression
    ) -> None:
        """Sends the records of some pieces, as one batch if possible."""
        position = partition.position or 0
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
                if batch.last_offset < (partition.position or 0):
                    continue
                self._pass_on(partition, [batch], self._policy.of(batch))
                partition.position = batch.last_offset + 1
            return
        if recoded is not None:
            self._send(partition, recoded.data, recoded.offsets)

    def _send(
        self,
        partition: MirroredPartition,
        data: bytearray | memoryview,
        offsets: Sequence[int],
    ) -> None:
        partition.overlap = None  # from here on the remote partition ends with what we send
        partition.queued += len(data)
        self._budget.charge(len(data))
        self._producer.send(partition.lane, data, offsets)


def _continuing(partition: MirroredPartition, found: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces up to one that may be of another log than what was taken before."""
    newest = UNKNOWN_EPOCH
    for piece in found:
        if not partition.follows(piece.leader_epoch) or UNKNOWN_EPOCH < piece.leader_epoch < newest:
            partition.is_settled, partition.surprise = False, piece.leader_epoch
            return
        newest = piece.leader_epoch
        yield piece
