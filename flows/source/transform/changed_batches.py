"""Collects changed records of a partition, and sends them as batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from flows.source.fetch.contiguous_batches import MOST_RECORDS
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.recode import Recoded, batch_of, encode
from flows.source.forward.record_body import DecodedRecord
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.clock import now_ms
from mm2.kafka.wire.compiled import RecordsSection
from mm2.kafka.wire.compression import Compression

TURN_S: Final = 0.01
"""After so long others must have their turn."""

_MOST_DELTA: Final = (1 << 63) - 1
"""Ms by which a record may be later than the first one of its batch."""

SEND_AFTER_S: Final = 1.0
"""Where records take long to change, those that are done do not wait for all that was fetched."""


class RecordCopies(NamedTuple):
    """What one record becomes: for the partition's copy, and for other partitions."""

    own: list[DecodedRecord]
    routed: list[tuple[PartitionSender, DecodedRecord]]


NOTHING: Final = RecordCopies([], [])


@dataclass(slots=True)
class CollectedRecords:
    """
    Records to send that are not encoded yet.

    Attributes:
        start: the first source offset that they cover.
        records: for the partition's copy.
        routed: for other partitions, by what sends to them.
        size: bytes of all.
        since: when the first was collected, in seconds of a clock that never goes back.
    """

    start: int
    how: Compression
    records: list[DecodedRecord] = field(default_factory=list)
    routed: dict[PartitionSender, list[DecodedRecord]] = field(default_factory=dict)
    size: int = 0
    since: float = 0.0


class RoutedCommits(Protocol):
    """Learns of batches that go elsewhere than to a partition's copy, for its transactions."""

    def appended(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """The target has one in the open transaction."""

    def routes(self, partition: MirroredPartition) -> None:
        """A partition begins to have some."""

    def went_back(self, partition: MirroredPartition) -> None:
        """Records of the partition are to be sent again."""


@dataclass(slots=True, eq=False)
class _RoutedBatches:
    """
    Has a source partition's position follow its batches in another sender (a ``BatchOwner``).

    Attributes:
        freed: called when there is room again, and the position may have moved.
        commits: None: what the target has counts at once.
    """

    partition: MirroredPartition
    sender: PartitionSender
    budget: MemoryBudget
    errors: ErrorPolicy
    freed: Callable[[MirroredPartition], None]
    commits: RoutedCommits | None

    def appended(self, batch: OutgoingBatch) -> None:
        """The target has it: the position may pass it."""
        self.budget.release(batch.size)
        if self.commits is None:
            self.partition.progress.count(batch)
        else:
            self.partition.progress.land(batch)
            self.commits.appended(self.partition, batch)
        self.partition.advance_past_skipped()
        self.freed(self.partition)

    def refused(self, batch: OutgoingBatch, code: int) -> SendState:
        """The error policy decides, as about batches of the partition's copy."""
        return self.errors.refused(self.partition, self.sender, batch, code)

    def dropped(self, batches: Sequence[OutgoingBatch]) -> None:
        """The partition goes back to the first of them."""
        self.budget.release(self.partition.dropped(batches))
        if self.commits is not None:
            self.commits.went_back(self.partition)
        self.freed(self.partition)


class ChangedBatches:
    """
    Sends what is collected, with the source offsets that it covers.

    Args:
        freed: called when there is room again, and a position may have moved.
        commits: None: what the target has counts at once.
    """

    def __init__(
        self,
        producer: Producer,
        budget: MemoryBudget,
        errors: ErrorPolicy,
        policy: MergePolicy,
        freed: Callable[[MirroredPartition], None],
        *,
        commits: RoutedCommits | None = None,
    ) -> None:
        self._producer = producer
        self._budget = budget
        self._errors = errors
        self._policy = policy
        self._freed = freed
        self._commits = commits

    def collect(
        self,
        partition: MirroredPartition,
        collected: CollectedRecords,
        offset: int,
        copies: RecordCopies,
    ) -> None:
        """Adds what a record becomes; sends first what is enough for a batch, or has waited."""
        size = sum(len(copy.body) for copy in copies.own)
        size += sum(len(copy.body) for _, copy in copies.routed)
        now = time.monotonic()
        is_full = collected.size + size > self.limit(partition)
        has_waited = now - collected.since > SEND_AFTER_S
        is_due = is_full or has_waited or len(collected.records) >= MOST_RECORDS
        if collected.size and is_due:
            self.send(partition, collected, offset)
        if not collected.size:
            collected.since = now
        collected.records += copies.own
        for sender, copy in copies.routed:
            collected.routed.setdefault(sender, []).append(copy)
        collected.size += size

    def limit(self, partition: MirroredPartition) -> int:
        """Bytes of a batch, not compressed."""
        return min(self._policy.most_bytes, partition.sender.most_bytes)

    def send(self, partition: MirroredPartition, collected: CollectedRecords, end: int) -> None:
        """Sends what is collected; every source offset before ``end`` is handed on with it."""
        if collected.records:
            partition.fetch.end_overlap()
        cover = range(collected.start, end)
        for records, covers in _batches(collected.records, cover, self.limit(partition)):
            encoded = encode(records, collected.how)
            self._queue(partition, partition.sender, encoded, covers)
        for sender, routed in collected.routed.items():
            for records, _ in _batches(routed, cover, self.limit(partition)):
                self._route(partition, sender, encode(records, collected.how))
        collected.start, collected.records, collected.size = end, [], 0
        collected.routed.clear()
        partition.fetch.hand_on(end)

    def send_sections(
        self,
        partition: MirroredPartition,
        collected: CollectedRecords,
        sections: Mapping[PartitionSender, Sequence[RecordsSection]],
        covers: range,
    ) -> None:
        """Sends what is encoded already, behind all that was collected before."""
        end = covers.stop
        self.send(partition, collected, covers.start)
        for sender, found in sections.items():
            encoded = [
                Recoded(batch_of(each, collected.how, len(each.offsets)), each.offsets)
                for each in found
            ]
            if sender is not partition.sender:
                for each in encoded:
                    self._route(partition, sender, each)
                continue
            stops = [*(each.offsets[0] for each in encoded[1:]), end]
            for each, stop in zip(encoded, stops, strict=True):
                self._queue(partition, sender, each, range(collected.start, stop))
                collected.start = stop
        collected.start = end
        partition.fetch.hand_on(end)

    def _route(
        self, partition: MirroredPartition, sender: PartitionSender, encoded: Recoded
    ) -> None:
        owner = partition.routed.owners.get(sender)
        if owner is None:
            shared = self._budget, self._errors, self._freed, self._commits
            owner = _RoutedBatches(partition, sender, *shared)
            partition.routed.owners[sender] = owner
            if self._commits is not None:
                partition.sender.keep_queue()
                self._commits.routes(partition)
        self._queue(partition, sender, encoded).owner = owner

    def _queue(
        self,
        partition: MirroredPartition,
        sender: PartitionSender,
        encoded: Recoded,
        covers: range | None = None,
    ) -> OutgoingBatch:
        partition.progress.enqueue(len(encoded.data))
        self._budget.charge(len(encoded.data))
        sent = self._producer.send(sender, encoded.data, encoded.offsets, covers)
        partition.stats.fetched(sent.oldest_ms, now_ms())
        return sent


def _batches(
    records: Sequence[DecodedRecord], cover: range, limit: int
) -> Iterator[tuple[Sequence[DecodedRecord], range]]:
    """Batches of at most ``limit`` bytes, and the part of ``cover`` that each covers."""
    start, first, size = cover.start, 0, 0
    for number, record in enumerate(records):
        size += len(record.body)
        is_full = size > limit or number - first >= MOST_RECORDS
        is_full = is_full or record.timestamp - records[first].timestamp > _MOST_DELTA
        if number > first and is_full:
            yield records[first:number], range(start, record.offset)
            start, first, size = record.offset, number, len(record.body)
    if records:
        yield records[first:], range(start, cover.stop)
