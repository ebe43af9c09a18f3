"""Partitions in trouble for long, or for good, leave memory and producer to the others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from flows.source.fetch.fetch_state import FetchState
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.record_batch import HEADER_SIZE
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, write_batch
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.virtual_time import run

_PARTITIONS = 6


class _Bench:
    """Partitions of whose log as much is fetched as there is room for; the target is in trouble."""

    def __init__(self, counts: Sequence[int]) -> None:
        self.counts = counts
        self.trouble = Trouble.NOT_ENOUGH_REPLICAS
        self.budget = MemoryBudget(1 << 20)
        targets = [TopicPartition(TopicName("A.t"), n) for n in range(_PARTITIONS)]
        self.cluster = FakeCluster([(each, 0) for each in targets], lambda: self.trouble)
        self.producer = Producer(
            flow="A->B", client=cast("WireClient", self.cluster), identity=ProducerIdentity(5, 1)
        )
        self.partitions = [self._mirrored(each) for each in targets]

    def _mirrored(self, target: TopicPartition) -> MirroredPartition:
        source = TopicPartition(TopicName("t"), target.partition)
        mirrored = MirroredPartition(
            source, PartitionSender(target, merges=True), fetch=FetchState(position=0)
        )

        def acknowledged(batch: OutgoingBatch) -> None:
            self.budget.release(batch.size)
            mirrored.landed(batch)
            mirrored.acknowledge(batch, 0)

        def dropped(batches: Sequence[OutgoingBatch]) -> None:
            self.budget.release(mirrored.dropped(batches))

        mirrored.sender.on_ack, mirrored.sender.on_dropped = acknowledged, dropped
        return mirrored

    def fetch(self) -> None:
        """All batches from each position on."""
        for mirrored in self.partitions:
            first = 0
            for count in self.counts:
                position = mirrored.fetch.position or 0
                if first >= position or first + count > position:
                    self._take(mirrored, max(first, position), first + count)
                first += count

    def _take(self, mirrored: MirroredPartition, first: int, end: int) -> None:
        data = write_batch([Plain(offset=n, value=b"%d" % n) for n in range(first, end)])
        mirrored.progress.enqueue(len(data))
        self.budget.charge(len(data))
        self.producer.send(mirrored.sender, data, range(first, end))
        mirrored.fetch.move_to(end)

    async def copy(self, trouble: Trouble, *, stuck_s: float) -> tuple[int, list[int | None]]:
        """The bytes in use and the positions while the target is in trouble; then all of it."""
        self.trouble = trouble
        running = asyncio.create_task(self.producer.run(), name="producer")
        self.fetch()
        await asyncio.sleep(stuck_s)
        used, positions = self.budget.used, [m.fetch.position for m in self.partitions]
        self.trouble = Trouble.NONE
        await self.producer.flush(m.sender for m in self.partitions)
        self.fetch()
        await self.producer.flush(m.sender for m in self.partitions)
        running.cancel()
        return used, positions


@pytest.mark.parametrize("counts", [[3], [3, 2, 2], [1], [1, 1]])
def test_however_many_partitions_are_stuck_they_leave_the_memory_to_the_others(
    counts: list[int],
) -> None:
    bench = _Bench(counts)
    used, positions = run(bench.copy(Trouble.NOT_ENOUGH_REPLICAS, stuck_s=60))
    assert used == 0
    assert positions == [1] * _PARTITIONS
    everything = [b"%d" % n for n in range(sum(counts))]
    for mirrored in bench.partitions:
        log = bench.cluster.logs[mirrored.sender.target].records
        assert [record.value for record in log] == everything
        assert (mirrored.progress.queued, mirrored.progress.mirrored) == (0, sum(counts) - 1)
    assert bench.budget.used == 0


def test_what_the_target_may_have_is_kept_while_it_is_stuck() -> None:
    bench = _Bench([3])
    used, positions = run(bench.copy(Trouble.LOST_REQUEST, stuck_s=60))
    assert used > 0
    assert positions == [3] * _PARTITIONS
    for mirrored in bench.partitions:
        assert len(bench.cluster.logs[mirrored.sender.target].records) == 3


async def _refuse_what_cannot_be_read() -> tuple[list[int], list[int]]:
    """The codes of what was refused, and the records that the other partition's log has."""
    bench, refusals = _Bench([1]), list[int]()
    sender, other = bench.partitions[0].sender, bench.partitions[1].sender

    def refused(batch: OutgoingBatch, code: int) -> SendState:
        assert batch.offsets == range(2)
        refusals.append(code)
        return SendState.STOP

    sender.on_refused = refused
    data = bytearray(write_batch([Plain(offset=0), Plain(offset=1)]))
    data[HEADER_SIZE:] = b"\x7f" * (len(data) - HEADER_SIZE)
    bench.trouble = Trouble.CORRUPT
    running = asyncio.create_task(bench.producer.run(), name="producer")
    bench.producer.send(sender, bytes(data), range(2))
    await bench.producer.flush([sender])
    bench.trouble = Trouble.NONE
    bench.producer.send(other, write_batch([Plain(offset=7)]), range(7, 8))
    await bench.producer.flush([other], within_s=60)
    assert not running.done()
    running.cancel()
    return refusals, [len(log.records) for log in bench.cluster.logs.values()]


def test_a_refused_batch_that_cannot_be_read_stops_its_partition_and_no_other() -> None:
    refusals, counts = run(_refuse_what_cannot_be_read())
    assert refusals == [Code.CORRUPT_MESSAGE]
    assert counts == [0, 1, *[0] * (_PARTITIONS - 2)]
