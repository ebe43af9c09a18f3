"""A position passes no record of which a copy is missing, in its copy or elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from hypothesis import given, settings
from hypothesis import strategies as st

from flows.source.fetch.fetch_state import FetchState
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.recode import halve, records_of
from flows.source.forward.record_batch import split
from flows.source.forward.record_body import DecodedRecord, keyed_body
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.transform.changed_batches import ChangedBatches, CollectedRecords, RecordCopies
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.compression import UNCOMPRESSED
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient
from tests.support.fake_broker import FakeCluster, Trouble

SOURCE, OWN, MORE, JOINT = (TopicPartition(TopicName(n), 0) for n in ("t", "A.t", "more", "joint"))

copies_of_each = st.lists(
    st.lists(st.sampled_from([OWN, MORE, JOINT]), max_size=4), min_size=1, max_size=10
)
"""Where the copies of each source offset go."""


class SpreadPartition:
    """A partition whose copies go to three senders, which take and drop what the test says."""

    def __init__(self, copies: Sequence[Sequence[TopicPartition]]) -> None:
        self.copies = copies
        self.logs: dict[TopicPartition, list[bytes]] = {OWN: [], MORE: [], JOINT: []}
        self.senders = {where: PartitionSender(where) for where in self.logs}
        own = self.senders[OWN]
        own.on_ack, own.on_dropped = self._acknowledged, self._dropped
        self.partition = MirroredPartition(SOURCE, own, fetch=FetchState(position=0))
        cluster = FakeCluster([(OWN, 0)], lambda: Trouble.NONE)
        producer = Producer(
            flow="A->B", client=cast("WireClient", cluster), identity=ProducerIdentity(5, 1)
        )
        self.batches = ChangedBatches(
            producer,
            MemoryBudget(1 << 20),
            cast("ErrorPolicy", None),
            MergePolicy(most_bytes=20),
            lambda _: None,
        )

    def _acknowledged(self, batch: OutgoingBatch) -> None:
        self.partition.landed(batch)
        self.partition.acknowledge(batch, 0)

    def _dropped(self, batches: Sequence[OutgoingBatch]) -> None:
        self.partition.dropped(batches)

    def hand_on(self, count: int) -> None:
        start = self.partition.fetch.position or 0
        end = min(start + count, len(self.copies))
        collected = CollectedRecords(start, UNCOMPRESSED)
        for offset in range(start, end):
            made = [
                (where, DecodedRecord(offset, 1, keyed_body(b"%d" % offset, b"%d" % number)))
                for number, where in enumerate(self.copies[offset])
            ]
            own = [copy for where, copy in made if where == OWN]
            routed = [(self.senders[where], copy) for where, copy in made if where != OWN]
            self.batches.collect(self.partition, collected, offset, RecordCopies(own, routed))
        self.partition.fetch.advance(end, 0)
        self.batches.send(self.partition, collected, end)
        self.partition.fetch.hand_on(None)
        self.partition.advance_past_skipped()

    def take(self, where: TopicPartition) -> None:
        if not self.senders[where].queue:
            return
        batch = self.senders[where].queue.popleft()
        batch.answer, batch.base_offset = 0, len(self.logs[where])
        (read,) = split(memoryview(batch.data))
        self.logs[where] += [record.body for record in records_of(read)]
        self.senders[where].appended(batch)

    def halve(self, where: TopicPartition) -> None:
        queue = self.senders[where].queue
        if not queue or len(queue[0].offsets) == 1:
            return
        batch = queue.popleft()
        first, second = halve(batch.data, batch.offsets)
        middle, end = len(first.offsets), len(batch.offsets)
        queue.appendleft(batch.part(middle, end, second.data, size=batch.size))
        queue.appendleft(batch.part(0, middle, first.data, size=0))

    def missing(self) -> Counter[tuple[TopicPartition, bytes]]:
        """RecordCopies of what is before the position that no log has."""
        wanted = Counter(
            (where, keyed_body(b"%d" % offset, b"%d" % number))
            for offset in range(self.partition.progress.mirrored + 1)
            for number, where in enumerate(self.copies[offset])
        )
        return wanted - Counter((where, body) for where, log in self.logs.items() for body in log)


steps = st.lists(
    st.tuples(
        st.sampled_from(["hand_on", "take", "take", "halve", "drop"]),
        st.sampled_from([OWN, MORE, JOINT]),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(copies_of_each, steps)
def test_what_is_before_the_position_has_all_its_copies(
    copies: list[list[TopicPartition]], what: list[tuple[str, TopicPartition]]
) -> None:
    spread = SpreadPartition(copies)
    for name, where in what:
        if name == "hand_on":
            spread.hand_on(3)
        elif name == "drop":
            spread.senders[where].drop_unacked()
        else:
            getattr(spread, name)(where)
        assert not spread.missing()
    while spread.partition.fetch.position != len(copies) or not spread.partition.is_idle:
        spread.hand_on(3)
        for where in spread.logs:
            spread.take(where)
    assert spread.partition.progress.mirrored == len(copies) - 1
    assert not spread.missing()
