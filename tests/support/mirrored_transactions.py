"""
Tasks that mirror exactly once, to a cluster in memory: killed at any moment, and started again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from typing import cast

from flows.source.commit.positions_topic import PositionsTopic
from flows.source.commit.transactional_commits import ExactlyOnceCommitter
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.record_body import DecodedRecord, keyed_body
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from flows.source.transform.changed_batches import ChangedBatches, CollectedRecords, RecordCopies
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.positions.exactly_once import Boundary
from mm2.core.positions.stored_positions import newest_records
from mm2.errors import FlowError, root_cause
from mm2.kafka.logs.records import Record
from mm2.kafka.wire.compression import UNCOMPRESSED
from mm2.kafka.wire.transactional_producer import TransactionalProducer
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import ExactlyOnceSpec
from tests.support.batches import Plain, write_batch
from tests.support.fake_broker import Trouble
from tests.support.fake_coordinator import TransactionalCluster

_A = ClusterAlias("A")
_POSITIONS = TopicName("positions")
JOINT = TopicPartition(TopicName("joint"), 1)
"""Where records go that are routed, of all partitions."""

_LATE_S = 0.5
"""By then all that a task has sent has arrived."""

_FAILS_EACH, _FAILS = 8, 5
"""Of so many offsets, the one whose record a transform fails for."""


class Spread(Enum):
    """Where records go: to their partition's copy, to the joint topic, or to both."""

    THIRDS = "a third each"
    ALTERNATING = "one after the other"
    ELSEWHERE = "all to the joint topic"

    def is_routed(self, offset: int) -> bool:
        """Whether a copy of a record goes to the joint topic."""
        match self:
            case Spread.THIRDS:
                return offset % 3 > 0
            case Spread.ALTERNATING:
                return offset // 3 % 2 > 0
            case Spread.ELSEWHERE:
                return True

    def is_copied(self, offset: int) -> bool:
        """Whether a record goes to its partition's copy."""
        return not self.is_routed(offset) or (self is Spread.THIRDS and offset % 3 == 1)


class _Task:
    """One task, from the positions that it finds to its end."""

    def __init__(
        self,
        cluster: TransactionalCluster,
        logs: Sequence[int],
        most_s: float,
        spoils: Sequence[float] = (),
        *,
        spread: Spread | None = None,
    ) -> None:
        self._cluster = cluster
        self._where = spread
        self._joint = PartitionSender(JOINT, merges=True)
        self._logs = logs
        self._spoils = spoils
        self.settled: list[OutgoingBatch] = []
        self.partitions: dict[TopicPartition, MirroredPartition] = {}
        client, identity = cast("WireClient", cluster), cluster.new_task()
        self._gate = gate = TransactionGate("id")
        self._producer = Producer(flow="A->B", client=client, identity=identity, gate=gate)
        boundary = Boundary(most_s=most_s, most_bytes=1_000, ends_when_drained=True)
        self.transactions = ExactlyOnceCommitter(
            ExactlyOnceSpec(group=GroupId("g"), boundary=boundary),
            flow="A->B",
            gate=gate,
            producer=self._producer,
            coordinators=TransactionalProducer(
                client, flow="A->B", transactional_id="id", identity=identity, group=GroupId("g")
            ),
            topic=PositionsTopic(
                self._producer, source=_A, topic=_POSITIONS, partitions=lambda: 2, now_ms=lambda: 0
            ),
            partitions=self.partitions,
            on_settled=self._settle,
        )
        self._batches = ChangedBatches(
            self._producer,
            MemoryBudget(1 << 20),
            cast("ErrorPolicy", None),
            MergePolicy(most_bytes=40),
            lambda _: None,
            commits=self.transactions,
        )
        found = stored_positions(cluster)
        for number in range(len(logs)):
            self._take_on(number, found)

    def _take_on(self, number: int, found: dict[TopicPartition, int]) -> None:
        source = TopicPartition(TopicName("s"), number)
        mirrored = MirroredPartition(
            source, PartitionSender(TopicPartition(TopicName("t"), number))
        )
        mirrored.fetch.move_to(0)
        if source in found:
            mirrored.fetch.move_to(found[source] + 1)
            mirrored.progress.restore(found[source])

        def appended(batch: OutgoingBatch) -> None:
            mirrored.landed(batch)
            self.transactions.appended(mirrored, batch)

        def dropped(batches: Sequence[OutgoingBatch]) -> None:
            mirrored.dropped(batches)
            self.transactions.went_back(mirrored)

        mirrored.sender.on_ack, mirrored.sender.on_dropped = appended, dropped
        self.partitions[source] = mirrored

    def _settle(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        partition.acknowledge(batch, 0)
        self.settled.append(batch)

    async def run(self, within_s: float | None) -> bool:
        """Copies everything; False if it was killed, or gave up, before that."""
        try:
            async with asyncio.timeout(within_s), asyncio.TaskGroup() as group:
                working = [
                    group.create_task(self._producer.run(), name="producer"),
                    group.create_task(self.transactions.run(), name="transactions"),
                    group.create_task(self._spoil(), name="spoil"),
                    *(group.create_task(self._fetch(m), name="fetch") for m in self._mirrored()),
                ]
                while not self._is_done():  # noqa: ASYNC110 - it looks as any observer would
                    await asyncio.sleep(0.05)
                for task in working:
                    task.cancel()
        except TimeoutError:
            return False
        except ExceptionGroup as errors:
            if not isinstance(root_cause(errors), FlowError):
                raise
            return False
        return True

    async def _spoil(self) -> None:
        """As if the target took some records of a source record, and refused others."""
        for delay in self._spoils:
            await asyncio.sleep(delay)
            self._gate.spoil("it takes some records, and refuses others")

    def _mirrored(self) -> list[MirroredPartition]:
        return list(self.partitions.values())

    def _is_done(self) -> bool:
        ends = zip(self._mirrored(), self._logs, strict=True)
        return all(
            mirrored.progress.mirrored == end - 1 and not mirrored.progress.has_moved
            for mirrored, end in ends
        )

    async def _fetch(self, mirrored: MirroredPartition) -> None:
        """Reads on, batch by batch, again what was dropped; passes over what is not copied."""
        end = self._logs[mirrored.source.partition]
        while True:
            at = mirrored.fetch.position or 0
            count = min(1 + at % 3, end - at, (_FAILS - at) % _FAILS_EACH or 1)
            if count and _fails(at):
                await self._pass_over(mirrored, at)
            elif count:
                offsets = list(filter(is_record, range(at, at + count)))
                records = [Plain(offset=n, value=b"%d" % at) for n, at in enumerate(offsets)]
                if self._where is not None:
                    self._spread(mirrored, range(at, at + count))
                elif records:
                    self._producer.send(mirrored.sender, write_batch(records), offsets)
                mirrored.fetch.move_to(at + count)
                mirrored.advance_past_skipped()
            await asyncio.sleep(0.01 + 0.02 * (at % 2))

    def _spread(self, mirrored: MirroredPartition, offsets: range) -> None:
        """As the stage of transforms does, with routers."""
        collected, source = CollectedRecords(offsets.start, UNCOMPRESSED), mirrored.source.partition
        for offset in filter(is_record, offsets):
            assert self._where is not None
            own = [_copy(offset, b"%d" % offset)] if self._where.is_copied(offset) else []
            joint = [_copy(offset, b"%d %d" % (source, offset))]
            joint = joint if self._where.is_routed(offset) else []
            copies = RecordCopies(own, [(self._joint, copy) for copy in joint])
            self._batches.collect(mirrored, collected, offset, copies)
        self._batches.send(mirrored, collected, offsets.stop)
        mirrored.fetch.hand_on(None)

    async def _pass_over(self, mirrored: MirroredPartition, at: int) -> None:
        """As the error policy does where records that fail are only logged."""
        resets = mirrored.fetch.resets
        await self._producer.wait_until(lambda: mirrored.is_sent or mirrored.fetch.resets != resets)
        if mirrored.fetch.resets == resets:
            mirrored.progress.pass_over(at)
            mirrored.fetch.move_to(at + 1)
            mirrored.advance_past_skipped()


def is_record(offset: int) -> bool:
    """The others are markers of the source's own transactions, or fail."""
    return offset % 4 not in {0, 3} and not _fails(offset)


def _copy(offset: int, value: bytes) -> DecodedRecord:
    return DecodedRecord(offset, 1, keyed_body(b"", value))


def _fails(offset: int) -> bool:
    """Whether a transform fails for the record, which ``errors.tolerance`` lets pass."""
    return offset % _FAILS_EACH == _FAILS


def stored_positions(cluster: TransactionalCluster) -> dict[TopicPartition, int]:
    """What the positions topic has, for those who read committed records."""
    records = [
        Record(
            topic=_POSITIONS,
            partition=number,
            offset=at,
            timestamp_ms=at,
            key=record.key,
            value=record.value,
        )
        for number in range(2)
        for at, record in enumerate(cluster.committed(TopicPartition(_POSITIONS, number)))
    ]
    offsets = newest_records(records, _A).offsets
    return {where: offset for where, offset in offsets.items() if offset is not None}


async def mirror(
    logs: Sequence[int],
    troubles: Sequence[Trouble],
    kills: Sequence[tuple[float, bool]],
    most_s: float,
    spoils: Sequence[float],
    *,
    verifies: bool,
    spread: Spread | None = None,
) -> TransactionalCluster:
    """
    Copies logs of the source by one task after the other, until all is copied.

    Args:
        logs: where each partition's log ends.
        troubles: what happens to each request.
        kills: after how many seconds each task is killed, and whether its successor fences it
            before it can clean up after itself.
        most_s: how long a transaction may be open.
        spoils: seconds between reasons to abort.
        verifies: as for ``TransactionalCluster``.
        spread: where records go; None: to their partition's copy.
    """
    remotes = [TopicPartition(TopicName("t"), number) for number in range(len(logs))]
    internal = [TopicPartition(_POSITIONS, number) for number in range(2)]
    upcoming = iter(troubles)
    cluster = TransactionalCluster(
        [(where, where.partition % 2) for where in (*remotes, *internal, JOINT)],
        lambda: next(upcoming, Trouble.NONE),
        verifies=verifies,
    )
    for within_s, is_sudden in kills:
        task = _Task(cluster, logs, most_s, spoils, spread=spread)
        killed = asyncio.create_task(task.run(None), name="task")
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(killed), within_s)
        if is_sudden:  # its successor fences it before it can clean up after itself
            cluster.new_task()
        killed.cancel()
        await asyncio.gather(killed, return_exceptions=True)
        await asyncio.sleep(0 if is_sudden else _LATE_S)
    async with asyncio.timeout(600):
        while not await _Task(cluster, logs, most_s, spoils, spread=spread).run(None):
            pass
    return cluster
