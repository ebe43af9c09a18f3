"""What becomes of the batches of one fetch answer: forwarded, re-encoded or passed over."""

from __future__ import annotations

import time
from typing import Final

from flows.source.aborted import AbortedTransactions
from flows.source.batch import Batch, split
from flows.source.budget import Budget
from flows.source.partition import Mirrored
from flows.source.produce import Producer
from flows.source.recode import recode
from mm2.kafka.wire.requests import FetchedPartition

_MOST_CORRUPT_READS: Final = 5
_FIRST_PAUSE_S: Final = 0.1


class Intake:
    """
    Takes fetched batches to the producer, in order.

    Args:
        producer: sends them.
        budget: counts the bytes until they are acknowledged.
        read_committed: leave out records of aborted transactions.
    """

    def __init__(self, producer: Producer, budget: Budget, *, read_committed: bool) -> None:
        self._producer = producer
        self._budget = budget
        self._read_committed = read_committed

    def take(self, partition: Mirrored, fetched: FetchedPartition) -> None:
        """
        Sends all whole batches from the partition's position on, and moves the position.

        A batch that cannot be read is asked for again; after a few times the partition stops with
        an error, because going on would lose its records.
        """
        partition.end = fetched.last_stable if self._read_committed else fetched.high_watermark
        aborted = AbortedTransactions(fetched.aborted if self._read_committed else ())
        try:
            for batch in split(fetched.records):
                is_aborted = aborted.is_aborted(batch)
                if not partition.follows(batch.leader_epoch):
                    partition.is_settled, partition.surprise = False, batch.leader_epoch
                    return
                if partition.position is not None and batch.last_offset >= partition.position:
                    partition.leader_epoch = batch.leader_epoch
                    if not (is_aborted or batch.is_control):
                        self._forward(partition, batch, partition.position)
                    partition.position = batch.last_offset + 1
                    partition.corrupt = 0
        except ValueError as error:
            partition.corrupt += 1
            pause_s = _FIRST_PAUSE_S * 2**partition.corrupt
            partition.pause_until = time.monotonic() + pause_s
            if partition.corrupt >= _MOST_CORRUPT_READS:
                partition.fail(f"unreadable at offset {partition.position}: {error}")

    def _forward(self, partition: Mirrored, batch: Batch, position: int) -> None:
        if batch.magic >= 2:  # noqa: PLR2004 - older formats are checked when they are read
            batch.verify()
        if batch.is_forwardable(position):
            offsets = range(batch.base_offset, batch.last_offset + 1)
            self._send(partition, batch.data, offsets, batch.max_timestamp)
            return
        recoded = recode(batch, position)
        if recoded is not None:
            self._send(partition, recoded.data, list(recoded.offsets), recoded.max_timestamp)

    def _send(
        self,
        partition: Mirrored,
        data: bytes | memoryview,
        offsets: range | list[int],
        max_timestamp: int,
    ) -> None:
        if not offsets:
            return
        partition.queued += len(data)
        self._budget.take(len(data))
        self._producer.send(partition.lane, data, offsets, max_timestamp)
