"""
Which batches a ``read_committed`` reader must not see.

A fetch response lists, for its range, the aborted transactions as (producer id, first offset). A
producer's data batches from that offset on are void until its abort marker (KIP-98).
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop

from flows.source.forward.record_batch import Batch
from mm2.kafka.wire.requests.fetch import FetchedPartition


class AbortedTransactions:
    """
    Recognises aborted batches; it must be given all batches of a response, in order.

    Args:
        aborted: (producer id, first offset) pairs of the response.
    """

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        self._upcoming = [(first, producer) for producer, first in aborted]
        heapify(self._upcoming)
        self._open: set[int] = set()

    @property
    def are_known(self) -> bool:
        """Whether there are any."""
        return bool(self._upcoming or self._open)

    def is_void(self, batch: Batch) -> bool:
        """Whether no consumer sees the batch: a marker, or records of an aborted transaction."""
        while self._upcoming and self._upcoming[0][0] <= batch.last_offset:
            self._open.add(heappop(self._upcoming)[1])
        if batch.is_control:
            # A commit marker may not follow inside an aborted range, so any marker ends it.
            self._open.discard(batch.producer_id)
            return True
        return batch.is_transactional and batch.producer_id in self._open


def aborted_in(fetched: FetchedPartition, *, read_committed: bool) -> AbortedTransactions:
    """The aborted transactions of a response, if its records are to be read without them."""
    return AbortedTransactions(fetched.aborted if read_committed else ())


def readable_end(fetched: FetchedPartition, *, read_committed: bool) -> int:
    """Where what is to be read of the partition ends; open transactions hold it up."""
    return fetched.last_stable if read_committed else fetched.high_watermark
