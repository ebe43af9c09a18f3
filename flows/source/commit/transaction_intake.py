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
from flows.source.commit.transaction_partitions import TransactionPartitions
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import TopicPartition
from mm2.kafka.wire.transactional_producer import TransactionLost

_LOOK_S: Final = 0.05
"""How often dead letters are looked for that have been queued meanwhile."""


class TransactionIntake:
    """
    Adds senders to the open transaction, and what their positions need.

    Args:
        partitions: of the task; may change at any time.

    Attributes:
        has_letters: whether the transaction may have dead letters.
    """

    def __init__(
        self,
        flow: str,
        *,
        gate: TransactionGate,
        producer: Producer,
        transaction: TransactionPartitions,
        topic: PositionsTopic,
        partitions: Mapping[TopicPartition, MirroredPartition],
    ) -> None:
        self._flow = flow
        self._gate = gate
        self._producer = producer
        self._open = transaction
        self._topic = topic
        self._partitions = partitions
        self.has_letters = False

    async def take_in(self, limit: asyncio.Timeout) -> None:
        """Adds the senders that wait, and where their positions go."""
        waiting, self._gate.waiting = [sender for sender in self._gate.waiting if sender.queue], {}
        await self._add(waiting, limit)

    async def complete_records(
        self, partitions: Iterable[MirroredPartition], limit: asyncio.Timeout
    ) -> None:
        """
        Waits until the target has all copies of these partitions that were queued before the call.

        Returns early when the transaction is spoiled.

        Raises:
            TransactionLost: some cannot be written.
        """
        gate = self._gate
        senders = dict.fromkeys(sender for each in partitions for sender in each.senders)
        letters = set[PartitionSender]()
        gate.begin_cut(senders, letters)
        new = [each for each in senders if gate.has_older(each) and each not in gate.members]

        def is_over() -> bool:
            return bool(gate.spoiled) or not any(map(gate.has_older, senders))

        while not is_over():
            await self._add(new, limit)
            for each in new:
                if each not in gate.members:
                    raise TransactionLost(self._flow, f"{each.target}: {each.last_error}")
            # Refused copies may wait for their dead letters.
            letters.update(self._of_letters(gate.members))
            self._producer.wake()
            await self._producer.wait_until(is_over, within_s=_LOOK_S)
            new = self._of_letters(gate.waiting)
        gate.end_cut()

    async def _add(self, senders: Collection[PartitionSender], limit: asyncio.Timeout) -> None:
        if not senders:
            return
        sources = {each.sender: source for source, each in self._partitions.items()}
        positions = {
            self._topic.sender_of(sources[sender]) for sender in senders if sender in sources
        }
        # Dead letters let positions pass what is in them, and in the same transaction.
        self.has_letters |= bool(self._of_letters(senders))
        await self._open.add([*senders, *positions], limit)
        self._producer.wake()
        await self._open.add_group()

    def _of_letters(self, senders: Iterable[PartitionSender]) -> list[PartitionSender]:
        """Those of dead letters: what other senders have is of partitions, their owners or not."""
        own = {each.sender for each in self._partitions.values()}
        return [
            sender
            for sender in senders
            if sender not in own and any(batch.owner is None for batch in sender.queue)
        ]
