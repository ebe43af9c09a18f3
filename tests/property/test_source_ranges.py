"""No source offset counts as copied before the target has all records that were made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.recode import encode, first_of, halve, records_of
from flows.source.forward.record_batch import split
from flows.source.forward.record_body import DecodedRecord, keyed_body
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.queued_batches import merge_queued
from flows.source.send.send_queue import PartitionSender
from flows.source.send.send_recovery import after
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.run_tracker import RunTracker
from mm2.kafka.wire.compression import UNCOMPRESSED

WHERE = TopicPartition(TopicName("t"), 0)

copies_of_each = st.lists(st.integers(0, 4), min_size=1, max_size=12)
"""How many records each source offset becomes."""


def made_of(copies: Sequence[int], first: int = 0) -> list[DecodedRecord]:
    return [
        DecodedRecord(offset, 1, keyed_body(b"%d" % offset, b"%d" % number))
        for offset, count in enumerate(copies, first)
        for number in range(count)
    ]


def batch_of(copies: Sequence[int], first: int, sequence: int = 0) -> OutgoingBatch:
    encoded = encode(made_of(copies, first), UNCOMPRESSED)
    covers = range(first, first + len(copies))
    return OutgoingBatch(encoded.data, sequence, encoded.offsets, 1, 100, covers=covers)


@dataclass
class CopiedPartition:
    """One partition whose target takes, refuses and loses what the test says."""

    copies: list[int]
    log: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sender = PartitionSender(WHERE, merges=True)
        self.partition = MirroredPartition(WHERE, self.sender, runs=RunTracker())
        self.partition.begin_at(0, 0)

    @property
    def position(self) -> int:
        return self.partition.fetch.position or 0

    def fetch(self, count: int) -> None:
        some = self.copies[self.position : self.position + count]
        if sum(some):
            batch = batch_of(some, self.position, self.sender.sequence)
            self.sender.sequence = after(self.sender.sequence, batch)
            self.sender.queue.append(batch)
            self.partition.progress.enqueue(batch.size)
        self.partition.fetch.advance(self.position + len(some), 0)
        self.partition.advance_past_skipped()

    def take(self) -> None:
        batch = self.sender.queue.popleft()
        batch.answer, batch.base_offset = 0, len(self.log)
        (read,) = split(memoryview(batch.data))
        self.log += [record.body for record in records_of(read)]
        self.sender.ends_inside = batch.is_partial
        self.partition.landed(batch)
        self.partition.acknowledge(batch, 0)

    def halve(self) -> None:
        batch = self.sender.queue.popleft()
        if len(batch.offsets) == 1:
            self.sender.queue.appendleft(batch)
            return
        halves = halve(batch.data, batch.offsets)
        middle = len(halves[0].offsets)
        parts = [
            batch.part(0, middle, halves[0].data, size=0),
            batch.part(middle, len(batch.offsets), halves[1].data, size=batch.size),
        ]
        self.sender.queue.extendleft(reversed(parts))

    def go_back(self, batches: Sequence[OutgoingBatch]) -> None:
        self.partition.dropped(batches)

    def trim(self) -> None:
        self.sender.on_dropped = self.go_back
        self.sender.trim()
        if (batch := self.sender.spare) is not None:
            first = first_of(batch.data, batch.offsets)
            self.sender.shorten(batch.part(0, len(first.offsets), first.data, size=0))
        self.sender.on_dropped = None

    def drop(self) -> None:
        self.sender.on_dropped = self.go_back
        self.sender.drop_unacked()
        self.sender.on_dropped = None

    def merge(self) -> None:
        if (one := merge_queued(self.sender, MergePolicy())) is not None:
            self.sender.queue.appendleft(one)

    def step(self, what: str) -> None:
        if what == "fetch":
            self.fetch(3)
        elif self.sender.queue:
            getattr(self, what)()

    def missing_before(self, position: int) -> Counter[bytes]:
        wanted = Counter(record.body for record in made_of(self.copies[:position]))
        return wanted - Counter(self.log)


steps = st.lists(st.sampled_from(["fetch", "take", "halve", "trim", "drop", "merge"]), max_size=60)


@settings(max_examples=300, deadline=None)
@given(copies_of_each, steps)
def test_what_is_before_the_position_is_on_the_target(copies: list[int], what: list[str]) -> None:
    copied = CopiedPartition(copies)
    for each in what:
        copied.step(each)
        assert not copied.missing_before(copied.partition.progress.mirrored + 1)
    while copied.position < len(copies) or copied.sender.queue:
        copied.step("take" if copied.sender.queue else "fetch")
    assert copied.partition.progress.mirrored == len(copies) - 1
    assert not copied.missing_before(len(copies))


@settings(max_examples=300, deadline=None)
@given(copies_of_each, steps)
def test_only_what_was_dropped_inside_a_source_record_is_sent_twice(
    copies: list[int], what: list[str]
) -> None:
    copied = CopiedPartition(copies)
    for each in what:
        if each == "drop" and copied.sender.ends_inside:
            continue  # exactly once, the transaction would be aborted
        copied.step(each)
    while copied.position < len(copies) or copied.sender.queue:
        copied.step("take" if copied.sender.queue else "fetch")
    assert copied.log == [record.body for record in made_of(copies)]


@settings(max_examples=300, deadline=None)
@given(copies_of_each, steps)
def test_runs_lead_to_the_first_copy_of_each_source_offset(
    copies: list[int], what: list[str]
) -> None:
    copied = CopiedPartition(copies)
    tracker = copied.partition.runs
    assert tracker is not None
    for each in [*what, *["fetch", "take"] * len(copies)]:
        copied.step(each)
    blocks = tracker.take()
    runs = [run for block in blocks for run in block.runs]
    latest = {
        run.upstream + number: run.downstream + number
        for run in runs
        for number in range(run.records)
    }
    for offset, downstream in latest.items():
        assert copied.log[downstream] == keyed_body(b"%d" % offset, b"0")
    for before, later in pairwise(blocks):
        assert before.end <= later.start or later.is_fresh


@given(copies_of_each)
def test_a_batch_is_halved_between_source_offsets_where_that_can_be(copies: list[int]) -> None:
    records = made_of(copies)
    if len(records) < 2:
        return
    encoded = encode(records, UNCOMPRESSED)
    first, second = halve(encoded.data, encoded.offsets)
    assert [*first.offsets, *second.offsets] == list(encoded.offsets)
    if first.offsets[-1] == second.offsets[0]:
        assert len(set(encoded.offsets)) == 1


def test_a_remote_end_is_behind_the_last_complete_source_offset() -> None:
    whole = batch_of([1, 3], first=4)
    part = whole.part(0, 2, bytearray(), size=0)
    rest = whole.part(2, 4, bytearray(), size=0)
    part.base_offset, rest.base_offset = 100, 102
    assert (part.end, part.next_offset, part.is_partial) == (5, 101, True)
    assert (rest.start, rest.end, rest.next_offset, rest.continues) == (5, 6, 104, True)


def test_a_gap_and_a_repeat_are_not_taken_for_a_range() -> None:
    encoded = encode(made_of([2, 0, 1], first=5), UNCOMPRESSED)
    assert list(encoded.offsets) == [5, 5, 7]


@pytest.mark.parametrize("is_last", [True, False])
def test_a_sender_is_certain_only_between_source_records(is_last: bool) -> None:
    sender = PartitionSender(WHERE)
    batch = batch_of([2], first=5)
    part = (
        batch.part(1, 2, bytearray(), size=0) if is_last else batch.part(0, 1, bytearray(), size=0)
    )
    sender.flying.append(part)
    assert sender.is_inside is not is_last
    sender.flying.clear()
    sender.ends_inside = part.is_partial
    assert sender.is_certain is is_last
