"""
Mirrors exactly once: records and positions in one transaction after the other.

The order of a transaction (KIP-98, KIP-618, KIP-656):

1. the partitions of waiting batches, and those of their positions, are added to it;
2. the batches are sent, and further partitions are added as their batches come;
3. at its boundary no more are sent, and what is under way is waited for;
4. positions are written, as records and as offsets of the mirror's group;
5. it is committed; only then do its records count, and are offset syncs published.

What goes wrong in between ends the task, which aborts. The next one begins where the last
committed transaction ended, because that is what the target says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

import structlog

from flows.source.commit.position_commits import (
    Position,
    PositionsTopic,
    Settled,
    has_moved,
    position_of,
)
from flows.source.commit.transaction_partitions import TransactionPartitions, now_s
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import OutgoingBatch, PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import TopicPartition
from mm2.errors import FlowError, Mm2Error
from mm2.kafka.wire.transactional_producer import TransactionalProducer, TransactionLost
from mm2.protocol.bundle_spec import ExactlyOnceSpec
from mm2.protocol.command_records import LiveSettings
from mm2.stop_deadlines import ABORT_S, TRANSACTION_S

log = structlog.get_logger()

_LOOK_EVERY_S: Final = 1.0
_SOON_S: Final = 0.001
"""Timers may fire a trifle early; to look again at once would be to spin."""

_OF_TIMEOUT: Final = 0.7
"""A transaction that takes this part of ``transaction.timeout.ms`` is given up."""


class TransactionStuck(FlowError):
    """A transaction could not be ended in time; a new task must start over."""

    retriable = True


class Transactions:
    """
    Commits batches and positions together.

    Args:
        spec: boundaries and limits.
        flow: for messages.
        gate: of the producer.
        producer: the task's.
        coordinators: end transactions.
        topic: where positions are written as records.
        partitions: of the task; may change at any time.
        on_settled: is told of batches once they are committed.
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
        self._limit_s = _OF_TIMEOUT * spec.timeout_ms / 1000
        self._open = TransactionPartitions(
            gate, coordinators, group=spec.group, limit_s=self._limit_s
        )
        self._landed: dict[MirroredPartition, list[OutgoingBatch]] = {}
        self._size = 0
        self._has_letters = False
        self._moved: dict[MirroredPartition, None] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._to_abort: list[tuple[PartitionSender, asyncio.Future[None]]] = []
        self._looked = self._refreshed = now_s()

    def appended(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """Takes note of a batch that the target has in the open transaction."""
        self._landed.setdefault(partition, []).append(batch)
        self._size += batch.size
        batch.data = bytearray()  # only its numbers are wanted from here on
        if partition.lane.is_idle or self._size >= self._spec.boundary.most_bytes:
            self._gate.stirred.set()

    def keep_pace(self, settings: LiveSettings) -> None:
        """Goes on with another longest time until a transaction ends, from the next one on."""
        if settings.transaction_s is not None:
            boundary = replace(self._spec.boundary, most_s=settings.transaction_s)
            self._spec = replace(self._spec, boundary=boundary)

    async def commit(self, partitions: Iterable[MirroredPartition]) -> int:
        """
        Ends the open transaction; returns how many positions the target has then.

        Raises:
            TransactionStuck: that takes too long; nothing is known of the transaction then.
        """
        partitions = list(partitions)
        self._moved |= dict.fromkeys(filter(has_moved, partitions))
        if self._moved or self._landed:
            committed = asyncio.get_running_loop().create_future()
            self._waiting.append(committed)
            self._gate.stirred.set()
            try:
                async with asyncio.timeout(TRANSACTION_S):
                    await committed
            except TimeoutError as error:
                # Whoever asks may be about to leave partitions to others.
                raise TransactionStuck(self._flow, self._doubts()) from error
        return sum(not has_moved(partition) for partition in partitions)

    async def abort(self, lane: PartitionSender) -> None:
        """
        Aborts what an earlier transaction has left open in a partition whose end was cut off.

        Its coordinator takes it for committed, and what stands there would become part of the next.
        """
        aborted = asyncio.get_running_loop().create_future()
        self._to_abort.append((lane, aborted))
        self._gate.stirred.set()
        await aborted

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
            await self._abort()
            raise TransactionStuck(
                self._flow, f"a transaction did not end in {self._limit_s:g} s: {self._doubts()}"
            ) from error
        except BaseException:
            await self._abort()
            raise

    async def _one(self) -> None:
        async with asyncio.timeout(None) as limit:
            await self._abort_those_left_open(limit)
            while not self._is_over():
                await self._stir()
                if self._gate.wanted:
                    await self._take_in(limit)
            await self._end(limit)

    async def _abort_those_left_open(self, limit: asyncio.Timeout) -> None:
        """In a transaction of their own, of lanes on which nothing is sent."""
        if not self._to_abort:
            return
        to_abort, self._to_abort = self._to_abort, []
        await self._open.add([lane for lane, _ in to_abort], limit)
        await self._open.end(commit=False)
        self._open.reset()
        limit.reschedule(None)
        for _, aborted in to_abort:
            if not aborted.done():
                aborted.set_result(None)

    def _is_over(self) -> bool:
        if self._waiting or self._moved or self._to_abort:
            return True
        if self._open.began_s is None:
            return False
        return self._spec.boundary.is_reached(
            age_s=now_s() - self._open.began_s,
            size=self._size,
            is_drained=bool(self._landed) and all(lane.is_idle for lane in self._gate.members),
        )

    async def _stir(self) -> None:
        """Waits until there is something to do."""
        due_s = self._looked + _LOOK_EVERY_S - now_s()
        if self._open.began_s is not None:
            due_s = min(due_s, self._open.began_s + self._spec.boundary.most_s - now_s())
        with suppress(TimeoutError):
            async with asyncio.timeout(max(due_s, _SOON_S)):
                await self._gate.stirred.wait()
        self._gate.stirred.clear()
        if now_s() >= self._looked + _LOOK_EVERY_S:
            self._look()

    def _look(self) -> None:
        """Finds what no batch brings to light."""
        self._looked = now = now_s()
        self._moved |= dict.fromkeys(filter(has_moved, self._partitions.values()))
        if now >= self._refreshed + self._spec.refresh_s:
            self._refreshed = now
            known = (p for p in self._partitions.values() if p.committed is not None)
            self._moved |= dict.fromkeys(known)
        if self._gate.unblock():
            self._producer.wake()

    async def _take_in(self, limit: asyncio.Timeout) -> None:
        """Adds the lanes that wait, and where their positions go."""
        wanted, self._gate.wanted = [lane for lane in self._gate.wanted if lane.queue], {}
        sources = {each.lane: source for source, each in self._partitions.items()}
        positions = {self._topic.lane_of(sources[lane]) for lane in wanted if lane in sources}
        # Dead letters let positions pass what is in them, and in the same transaction.
        self._has_letters |= any(lane not in sources for lane in wanted)
        await self._open.add([*wanted, *positions], limit)
        self._producer.wake()
        await self._open.add_group()

    async def _end(self, limit: asyncio.Timeout) -> None:
        """Commits what has landed and what has moved; who waits for that, waits no longer."""
        self._gate.last = ()
        waiting, self._waiting = self._waiting, []
        lanes = list(self._gate.members)
        await self._producer.wait_until(lambda: all(lane.is_settled for lane in lanes))
        if self._has_letters:
            self._moved |= dict.fromkeys(filter(has_moved, self._partitions.values()))
        offsets = {partition: partition.mirrored for partition in self._moved}
        offsets |= {
            partition: partition.behind(batches[-1]) - 1
            for partition, batches in self._landed.items()
        }
        if offsets:
            await self._write(offsets, limit)
        await self._open.end(commit=True)
        self._settle(offsets)
        for each in waiting:
            if not each.done():
                each.set_result(None)

    async def _write(
        self, offsets: Mapping[MirroredPartition, int], limit: asyncio.Timeout
    ) -> None:
        """Positions, in both places."""
        lanes: dict[PartitionSender, list[Position]] = {}
        for partition, offset in offsets.items():
            lane = self._topic.lane_of(partition.source)
            last = self._landed[partition][-1] if partition in self._landed else None
            lanes.setdefault(lane, []).append(position_of(partition, offset, last))
        await self._open.add(lanes, limit)
        for lane in lanes.keys() - self._gate.members:
            raise TransactionLost(self._flow, f"{lane.target} cannot be written: {lane.last_error}")
        await self._open.add_group()
        self._gate.last = lanes
        for lane, positions in lanes.items():
            self._topic.write(lane, positions)
        group_offsets = {each.lane.target: offset + 1 for each, offset in offsets.items()}
        async with asyncio.TaskGroup() as group:
            group.create_task(self._producer.flush(lanes), name="positions")
            group.create_task(self._open.commit_offsets(group_offsets), name="group-offsets")
        self._topic.check(self._flow)

    def _are_batches_settled(self) -> bool:
        return all(lane.is_settled for lane in self._gate.members)

    def _settle(self, offsets: Mapping[MirroredPartition, int]) -> None:
        landed, self._landed = self._landed, {}
        for partition, batches in landed.items():
            for batch in batches:
                self._on_settled(partition, batch)
            partition.mirrored = max(partition.mirrored, offsets[partition])
        for partition, offset in offsets.items():
            partition.committed = offset
            self._moved.pop(partition, None)
        self._size, self._has_letters = 0, False
        self._open.reset()
        self._producer.wake()

    def _doubts(self) -> str:
        lanes = [lane for lane in self._gate.members if not lane.is_settled]
        return ", ".join(f"{lane.target}: {lane.last_error}" for lane in lanes) or "no answer"

    async def _abort(self) -> None:
        """
        Leaves nothing open for readers to wait for, if the target can be asked.

        Not while something is under way: brokers before KIP-890 take what comes after the abort,
        and it would count with the next task's transaction. That task's new epoch aborts instead,
        and fences what is late.
        """
        self._gate.last = ()
        is_open = self._open.began_s is not None
        if not is_open or self._open.is_offset_sent or not self._are_batches_settled():
            return
        with suppress(Mm2Error, TimeoutError):
            async with asyncio.timeout(ABORT_S):
                await self._open.end(commit=False)
                log.info("source.transaction_aborted", batches=sum(map(len, self._landed.values())))
