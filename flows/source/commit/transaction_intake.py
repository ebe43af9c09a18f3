"""
Takes senders into the open transaction, and ends it at one place of each partition.

A transaction must have all copies of a source record, or none. Where records go elsewhere than to
the partition's copy, these are queued in several senders. So all that was queued before the
transaction ends is sent in it, through every sender of such a partition, and what is queued
meanwhile waits for the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from flows.source.commit.positions_topic import PositionsTopic
from flows.source.commit.transaction_partitions import TransactionPartitions, now_s
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import TopicPartition

_LOOK_S: Final = 0.05
"""Between two looks for senders that are to be added."""


class TransactionIntake:
    """
    Adds senders to the open transaction, and what their positions need.

    Args:
        partitions: of the task; may change at any time.

    Attributes:
        has_letters: whether the transaction may have dead letters.
        routing: partitions of which records may go elsewhere than to their copies.
    """

    def __init__(
        self,
        *,
        gate: TransactionGate,
        producer: Producer,
        transaction: TransactionPartitions,
        topic: PositionsTopic,
        partitions: Mapping[TopicPartition, MirroredPartition],
    ) -> None:
        self._gate = gate
        self._producer = producer
        self._open = transaction
        self._topic = topic
        self._partitions = partitions
        self.has_letters = False
        self.routing: set[MirroredPartition] = set()

    async def take_in(self, limit: asyncio.Timeout) -> None:
        """Adds the senders that wait, and where their positions go."""
        waiting, self._gate.waiting = [sender for sender in self._gate.waiting if sender.queue], {}
        await self._add(waiting, limit)

    def reset(self) -> None:
        """The transaction is over; forgets partitions that were given up, once all is sent."""
        ours = self._partitions
        self.has_letters = False
        self.routing = {p for p in self.routing if ours.get(p.source) is p or not p.is_sent}
        self._open.reset()
        self._producer.wake()

    async def complete_records(self, limit: asyncio.Timeout) -> None:
        """
        Waits until the target has all copies of each record that was queued before the call.

        Returns early when the transaction is spoiled; ``limit`` ends the wait.
        """
        senders = {each for p in self.routing for each in p.senders}
        senders.update(each for each in self._gate.members if each.ends_inside)
        if not senders:
            return
        cut = self._gate.begin_cut(senders)

        def is_over() -> bool:
            return bool(self._gate.spoiled) or not any(map(self._gate.has_older, cut))

        if self._open.began_s is None:  # it begins only when something can be added
            limit.reschedule(now_s() + self._open.limit_s)
        while not is_over():
            self._gate.unblock()
            self._spoil_if_gone(cut)
            await self._add(self._missing(cut), limit)
            self._producer.wake()
            await self._producer.wait_until(is_over, within_s=_LOOK_S)
        self._gate.end_cut()

    def _spoil_if_gone(self, cut: Iterable[PartitionSender]) -> None:
        """Nothing is sent to a topic that was deleted."""
        for each in cut:
            if each.is_withdrawn and self._gate.has_older(each):
                self._gate.spoil(f"{each.target} is gone")

    def _missing(self, cut: Iterable[PartitionSender]) -> list[PartitionSender]:
        """What is to be added; dead letters too, for which refused copies may wait."""
        gate = self._gate
        older = [each for each in cut if gate.has_older(each) and each not in gate.members]
        letters = [each for each in gate.waiting if each.has_letters and each.queue]
        return [each for each in (*older, *letters) if not gate.blocks(each)]

    async def _add(self, senders: Collection[PartitionSender], limit: asyncio.Timeout) -> None:
        if not senders:
            return
        sources = {each.sender: source for source, each in self._partitions.items()}
        positions = {
            self._topic.sender_of(sources[sender]) for sender in senders if sender in sources
        }
        # Dead letters let positions pass what is in them, and in the same transaction.
        self.has_letters |= any(sender.has_letters for sender in senders)
        await self._open.add([*senders, *positions], limit)
        self._producer.wake()
        await self._open.add_group()
