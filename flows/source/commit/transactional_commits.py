"""
Mirrors exactly once: records and positions in one transaction after the other.

The order of a transaction (KIP-98, KIP-618, KIP-656):

1. the partitions of waiting batches, and those of their positions, are added to it;
2. the batches are sent, and further partitions are added as their batches come;
3. at its boundary no more are sent, unless copies of a record are missing; answers are awaited;
4. positions are written, as records and as offsets of the mirror's group;
5. it is committed; only then do its records count, and are offset syncs published.

What goes wrong in between ends the task, which aborts. The next one begins where the last
committed transaction ended, by the positions on the target. Only where the target takes some
records of a source record and refuses others, or records that go to several partitions must be sent
again, the task goes on unless there are dead letters: all is aborted and copied again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

import structlog

from flows.source.commit.position_commits import Settled
from flows.source.commit.positions_topic import PositionsTopic, position_of
from flows.source.commit.transaction_intake import TransactionIntake
from flows.source.commit.transaction_partitions import (
    LandedBatches,
    MovedPositions,
    TransactionPartitions,
    TransactionStuck,
    now_s,
    resolve,
)
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.clock import now_ms
from mm2.core.latency import LatencySeries
from mm2.core.model import TopicPartition
from mm2.errors import Mm2Error
from mm2.kafka.wire.transactional_producer import TransactionalProducer, TransactionLost
from mm2.protocol.bundle_spec import ExactlyOnceSpec
from mm2.protocol.command_records import LiveSettings
from mm2.stop_deadlines import ABORT_S, TRANSACTION_S

log = structlog.get_logger()

_CHECK_EVERY_S: Final = 1.0
_SOON_S: Final = 0.001
"""Timers may fire a little early; without a minimum the loop would spin."""


class ExactlyOnceCommitter:
    """
    Commits batches and positions together; ``on_settled`` gets each batch after that.

    Attributes:
        times: how long commits took, in ms.
    """

    def __init__(
        self,
        spec: ExactlyOnceSpec,
        *,
        flow: str,
        gate: TransactionGate,
        producer: Producer,
        coordinators: TransactionalProducer,
        topic: PositionsTopic,
        partitions: Mapping[TopicPartition, MirroredPartition],
        on_settled: Settled,
    ) -> None:
        self._spec = spec
        self._flow = flow
        self._gate = gate
        self._producer = producer
        self._topic = topic
        self._partitions = partitions
        self._on_settled = on_settled
        self._open = TransactionPartitions(spec, gate, coordinators)
        self._intake = TransactionIntake(
            gate=gate,
            producer=producer,
            transaction=self._open,
            topic=topic,
            partitions=partitions,
        )
        self._landed = LandedBatches()
        self._moved = MovedPositions(partitions, refresh_s=spec.refresh_s)
        self._waiting: list[asyncio.Future[None]] = []
        self._checked = now_s()
        self.times = LatencySeries()

    def appended(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """Takes note of a batch that the target has in the open transaction."""
        self._landed.add(partition, batch)
        is_full = self._landed.size >= self._spec.boundary.most_bytes
        if is_full or batch.owner is not None or partition.sender.is_idle:
            self._gate.has_work.set()

    def routes(self, partition: MirroredPartition) -> None:
        """From now on records of the partition may go elsewhere than to its copy."""
        self._intake.routing.add(partition)

    def went_back(self, partition: MirroredPartition) -> None:
        """Aborts, if the transaction may have copies of what is to be sent again."""
        if partition.routed.owners:
            self._gate.spoil(f"records of {partition.source} must be sent again")

    def keep_pace(self, settings: LiveSettings) -> None:
        """Goes on with another longest time until a transaction ends, from the next one on."""
        if settings.transaction_s is not None:
            boundary = replace(self._spec.boundary, most_s=settings.transaction_s)
            self._spec = replace(self._spec, boundary=boundary)

    async def commit(self, partitions: Iterable[MirroredPartition]) -> int:
        """
        Ends the open transaction; returns how many positions the target has then.

        Raises:
            TransactionStuck: it takes too long; whether it is committed is not known.
        """
        partitions = list(partitions)
        self._moved.add(partitions)
        if self._moved.partitions or not self._landed.is_empty:
            committed = asyncio.get_running_loop().create_future()
            self._waiting.append(committed)
            self._gate.has_work.set()
            try:
                async with asyncio.timeout(TRANSACTION_S):
                    await committed
            except TimeoutError as error:
                # The caller may be about to revoke partitions.
                raise TransactionStuck(self._flow, self._gate.unanswered()) from error
        return sum(not partition.progress.has_moved for partition in partitions)

    async def abort(self, sender: PartitionSender) -> None:
        """Aborts what an earlier transaction has left open where the end was cut off."""
        await self._open.abort_later(sender)

    async def run(self) -> None:
        """
        Makes one transaction after the other, until cancelled; aborts the one that is open then.

        Raises:
            Fenced: a newer producer has our transactional id.
            TransactionStuck: the transaction cannot be ended in time.
            TransactionLost: the coordinator does not know it.
            NotAuthorized: we may not use transactions, or the group.
            FlowError: the target refuses to store positions for good.
        """
        try:
            while True:
                await self._one()
        except TimeoutError as error:
            took = f"a transaction did not end in {self._open.limit_s:g} s"
            raise TransactionStuck(self._flow, f"{took}: {self._gate.unanswered()}") from error
        finally:
            await self._abort()

    async def _one(self) -> None:
        async with asyncio.timeout(None) as limit:
            await self._open.abort_those_left_open(limit)
            while not self._is_over():
                await self._wait_for_work()
                if self._gate.waiting:
                    await self._intake.take_in(limit)
            await self._end(limit)

    def _is_over(self) -> bool:
        if self._waiting or self._moved.partitions or self._open.to_abort or self._gate.spoiled:
            return True
        if self._open.began_s is None:
            return False
        return self._spec.boundary.is_reached(
            age_s=now_s() - self._open.began_s,
            size=self._landed.size,
            is_drained=not self._landed.is_empty and self._gate.is_idle,
        )

    async def _wait_for_work(self) -> None:
        due_s = self._checked + _CHECK_EVERY_S - now_s()
        if self._open.began_s is not None:
            due_s = min(due_s, self._open.began_s + self._spec.boundary.most_s - now_s())
        with suppress(TimeoutError):
            async with asyncio.timeout(max(due_s, _SOON_S)):
                await self._gate.has_work.wait()
        self._gate.has_work.clear()
        if now_s() >= self._checked + _CHECK_EVERY_S:
            self._check()

    def _check(self) -> None:
        """Finds partitions that moved without a batch, and those due for a refresh."""
        self._checked = now_s()
        self._moved.add(self._partitions.values())
        self._moved.add_those_due()
        if self._gate.unblock():
            self._producer.wake()

    async def _end(self, limit: asyncio.Timeout) -> None:
        """Commits what has landed and what has moved, and completes the waiting commits."""
        self._gate.last = ()
        began_s = now_s()
        waiting, self._waiting = self._waiting, []
        await self._intake.complete_records(limit)
        await self._producer.wait_until(lambda: self._gate.is_certain)
        if self._gate.spoiled:
            self._waiting = waiting + self._waiting
            await self._roll_back()
            return
        if self._intake.has_letters:
            self._moved.add(self._partitions.values())
        offsets = self._moved.offsets() | self._landed.offsets()
        if offsets:
            await self._write(offsets, limit)
        await self._open.end(commit=True)
        took_ms = round(1000 * (now_s() - began_s))
        self.times.record(took_ms, round(1000 * now_s()))
        log.debug("positions.committed", partitions=len(offsets), took_ms=took_ms)
        self._settle(offsets)
        resolve(waiting)

    async def _roll_back(self) -> None:
        """
        Aborts; what has landed is copied again.

        Raises:
            TransactionLost: there are dead letters, whose records were passed.
        """
        # The transaction may have records of partitions that were given up since.
        partitions = {*self._partitions.values(), *self._landed.partitions, *self._intake.routing}
        if self._intake.has_letters or any(each.progress.letters for each in partitions):
            raise TransactionLost(self._flow, self._gate.spoiled)
        await self._open.end(commit=False)
        landed, self._landed = self._landed, LandedBatches()
        log.info("source.transaction_aborted", batches=landed.count, reason=self._gate.spoiled)
        landed.undo(self._producer.start_over, self._intake.routing)
        self._gate.spoiled = ""
        self._intake.reset()

    async def _write(
        self, offsets: Mapping[MirroredPartition, int], limit: asyncio.Timeout
    ) -> None:
        """Positions, in both places."""
        senders = self._topic.by_sender(
            position_of(partition, offset, self._landed.last(partition))
            for partition, offset in offsets.items()
        )
        await self._open.add(senders, limit)
        for each in senders.keys() - self._gate.members:
            raise TransactionLost(self._flow, f"{each.target} cannot be written: {each.last_error}")
        await self._open.add_group()
        self._gate.last = senders
        self._topic.write(senders)
        group_offsets = {each.sender.target: offset + 1 for each, offset in offsets.items()}
        async with asyncio.TaskGroup() as group:
            group.create_task(self._producer.flush(senders), name="positions")
            group.create_task(self._open.commit_offsets(group_offsets), name="group-offsets")
        self._topic.check(self._flow)

    def _settle(self, offsets: Mapping[MirroredPartition, int]) -> None:
        landed, self._landed = self._landed, LandedBatches()
        landed.settle_routed(now_ms())
        for partition in landed.partitions:
            for batch in landed.batches.get(partition, ()):
                self._on_settled(partition, batch)
            partition.progress.reach(max(partition.progress.mirrored, offsets[partition]))
            if partition.routed.owners:
                partition.advance_past_skipped()
        for partition, offset in offsets.items():
            partition.progress.commit(offset)
            self._moved.partitions.pop(partition, None)
        self._intake.reset()

    async def _abort(self) -> None:
        """
        Leaves nothing open for readers to wait for, if the target can be asked.

        Not while something is under way: brokers before KIP-890 take what comes after the abort,
        and it would count with the next task's transaction. That task's new epoch aborts instead,
        and fences what is late.
        """
        self._gate.end_cut()
        is_open = self._open.began_s is not None
        if not is_open or self._open.is_sending_offsets or not self._gate.is_certain:
            return
        with suppress(Mm2Error, TimeoutError):
            async with asyncio.timeout(ABORT_S):
                await self._open.end(commit=False)
                log.info("source.transaction_aborted", batches=self._landed.count)
