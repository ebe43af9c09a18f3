"""
Batches of copies between the record copier and the target, and what of the source they cover.

Records of one source partition go to any partitions of the target, so that what is acknowledged is
counted by source partition (``UnacknowledgedOffsets``). The producer knows copies by numbers of the
stream's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import structlog

from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.dead_letters import PRODUCED, Failure, refused_record
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.record_body import DecodedRecord
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.core.unacknowledged_offsets import BatchOffsets, UnacknowledgedOffsets
from mm2.kafka.wire.error_codes import RECORD_AT_FAULT, code_name

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class SourceCopies:
    """
    The copies of a source partition.

    Attributes:
        is_given_up: whether the stream has lost the partition: no more of it is sent.
    """

    partition: MirroredPartition
    offsets: UnacknowledgedOffsets
    is_given_up: bool = False

    def take(self, batch: BatchOffsets) -> BatchOffsets:
        """A batch of copies is missing from now on, with what is added to it later."""
        self.offsets.begin(batch)
        self.partition.progress.begin_copies()
        return batch

    def count_landed(self, batch: BatchOffsets, copies: int) -> None:
        """The next copies of a batch are there, or were left out."""
        batch.acknowledged += copies
        if batch.is_complete:
            self.partition.progress.end_copies()
        self.update()

    def update(self) -> None:
        """Counts as copied what may be committed by now."""
        if not self.is_given_up:
            self.partition.progress.reach(self.offsets.smallest - 1)


class CopiesUnderWay:
    """
    Sends batches of copies, and counts what of each source partition is missing.

    Args:
        tolerates: whether a record that cannot be copied is skipped.
        fail: ends the stream, with the reason.
        acknowledged: called when there is room again.
    """

    def __init__(
        self,
        *,
        tolerates: bool,
        producer: Producer,
        budget: MemoryBudget,
        errors: ErrorPolicy,
        fail: Callable[[str], None],
        acknowledged: Callable[[], None],
    ) -> None:
        self._tolerates = tolerates
        self._producer = producer
        self._budget = budget
        self._errors = errors
        self._fail = fail
        self._acknowledged = acknowledged
        self._advanced = asyncio.Event()
        self._sources: dict[MirroredPartition, SourceCopies] = {}
        self._senders: dict[TopicPartition, PartitionSender] = {}
        self._missing: dict[int, tuple[SourceCopies, BatchOffsets]] = {}
        self._next = 0

    def source(self, partition: MirroredPartition, position: int) -> SourceCopies:
        """The copies of a partition, of which the records from ``position`` on come next."""
        found = self._sources.get(partition)
        if found is None or position < found.offsets.end:  # the source has another log now
            found = SourceCopies(partition, UnacknowledgedOffsets(position))
            self._sources[partition] = found
        return found

    def sender(self, target: TopicPartition) -> PartitionSender:
        """The way to a partition, always the same: it knows the next sequence number."""
        sender = self._senders.get(target)
        if sender is None:
            sender = self._senders[target] = PartitionSender(target, on_ack=self._appended)
            sender.on_refused = partial(self._refused, sender)
        return sender

    def most_bytes(self, topic: TopicName, most: int) -> int:
        """``most``, or less, where the topic has refused a batch of twice as many."""
        limits = [each.most_bytes for where, each in self._senders.items() if where.topic == topic]
        return min([most, *limits])

    def send(
        self, target: PartitionSender, data: bytearray, source: SourceCopies, batch: BatchOffsets
    ) -> None:
        """Sends a batch of copies, which the source has taken."""
        numbers = range(self._next, self._next + len(batch.offsets))
        self._next = numbers.stop
        self._missing[numbers.start] = source, batch
        self._budget.charge(len(data))
        self._producer.send(target, data, numbers)

    async def failed(self, source: SourceCopies, failure: Failure, record: DecodedRecord) -> None:
        """Skips what cannot be copied, once that is recorded; or ends the stream (and this)."""
        if not self._tolerates:
            self._fail(f"{failure.source}: {failure.reason}")
            await asyncio.Event().wait()
        batch = source.take(BatchOffsets([failure.offset]))
        self._errors.letters.write(
            failure, record, partial(self._left_out, source, batch), self._fail
        )

    def forget(self, partition: MirroredPartition) -> None:
        """The stream has lost a partition: what was not sent yet is dropped."""
        source = self._sources.pop(partition, None)
        if source is None:
            return
        source.is_given_up = True
        for sender in self._senders.values():
            for batch in self._producer.withhold(sender, partial(self._is_of, source)):
                self._budget.release(batch.size)
                del self._missing[batch.offsets[0]]
        self.advanced()

    async def wait_for_copies(self, partitions: Iterable[MirroredPartition]) -> None:
        """Waits until the target has all copies of what was read of some partitions."""
        wanted = set(partitions)
        while any(each.progress.uncommitted for each in wanted):
            self._advanced.clear()
            await self._advanced.wait()

    def advanced(self) -> None:
        """Something is there that was missing."""
        self._advanced.set()
        self._acknowledged()

    def _is_of(self, source: SourceCopies, batch: OutgoingBatch) -> bool:
        return self._missing[batch.offsets[0]][0] is source

    def _take(self, batch: OutgoingBatch) -> tuple[SourceCopies, BatchOffsets]:
        """What a batch is of; the producer acknowledges the parts of one in their order."""
        source, offsets = self._missing.pop(batch.offsets[0])
        if offsets.acknowledged + len(batch.offsets) < len(offsets.offsets):
            self._missing[batch.offsets[-1] + 1] = source, offsets
        return source, offsets

    def _appended(self, batch: OutgoingBatch) -> None:
        source, offsets = self._take(batch)
        self._budget.release(batch.size)
        source.partition.progress.count_copies(len(batch.offsets), batch.size)
        source.count_landed(offsets, len(batch.offsets))
        self.advanced()

    def _refused(self, sender: PartitionSender, batch: OutgoingBatch, code: int) -> SendState:
        source, offsets = self._missing[batch.offsets[0]]
        where = source.partition.source
        if not self._tolerates:
            self._fail(
                f"{where}: the target refuses the record at offset {offsets.first}:"
                f" {code_name(code)}"
            )
            return SendState.WAIT
        if code not in RECORD_AT_FAULT:  # to skip it would be to skip all that follows
            log.warning(
                "stream.send_refused",
                topic=sender.target.topic,
                partition=sender.target.partition,
                error=code_name(code),
            )
            return SendState.RETRY

        def delivered() -> None:
            if self._producer.skip(sender, batch):
                self._budget.release(batch.size)
                self._left_out(*self._take(batch))

        failure = Failure(source=where, offset=offsets.first, stage=PRODUCED, code=code)
        self._errors.letters.write(failure, refused_record(batch), delivered, self._fail)
        return SendState.WAIT

    def _left_out(self, source: SourceCopies, batch: BatchOffsets) -> None:
        source.partition.progress.count_skipped(1)
        self._errors.count_letter(source.partition)
        source.count_landed(batch, 1)
        self.advanced()
