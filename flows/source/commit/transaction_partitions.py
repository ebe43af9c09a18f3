"""What belongs to the open transaction: batches, and what its coordinator knows of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Final

import structlog

from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import TopicPartition
from mm2.errors import FlowError, NotAuthorized
from mm2.kafka.wire.error_codes import Code, code_name
from mm2.kafka.wire.transactional_producer import TransactionalProducer
from mm2.protocol.bundle_spec import ExactlyOnceSpec

log = structlog.get_logger()

_OF_TIMEOUT: Final = 0.7
"""A transaction that takes this part of ``transaction.timeout.ms`` is given up."""


class TransactionStuck(FlowError):
    """A transaction could not be ended in time; a new task must start over."""

    retriable = True


def now_s() -> float:
    """Seconds, by the clock of the event loop."""
    return asyncio.get_running_loop().time()


def resolve(futures: Iterable[asyncio.Future[None]]) -> None:
    """What was awaited is done; some may be cancelled."""
    for each in futures:
        if not each.done():
            each.set_result(None)


def _first_queued(partition: MirroredPartition) -> int:
    """The first source offset of which copies are queued; what has landed counts as copied."""
    sender = partition.sender
    own = (each.start for each in (*sender.flying, *sender.queue) if each.owner is None)
    queued = [next(own, None), partition.routed.first_missing]
    end = min((each for each in queued if each is not None), default=partition.fetch.handed_on)
    return max(end, partition.progress.mirrored + 1)


class LandedBatches:
    """
    Batches that the target has in the open transaction.

    Attributes:
        batches: of copies, by partition, in order.
        routed: those that went elsewhere, by partition.
        size: bytes of all.
    """

    def __init__(self) -> None:
        self.batches: dict[MirroredPartition, list[OutgoingBatch]] = {}
        self.routed: dict[MirroredPartition, list[OutgoingBatch]] = {}
        self.size = 0

    def add(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """Adds a batch, and frees its data."""
        found = self.batches if batch.owner is None else self.routed
        found.setdefault(partition, []).append(batch)
        self.size += batch.size
        batch.data = bytearray()

    def settle_routed(self, now_ms: int) -> None:
        """What went elsewhere is there for good."""
        for partition, batches in self.routed.items():
            for batch in batches:
                partition.progress.acknowledge(batch, now_ms)

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return not self.batches and not self.routed

    @property
    def partitions(self) -> set[MirroredPartition]:
        """Those with batches."""
        return {*self.batches, *self.routed}

    @property
    def count(self) -> int:
        """Of all batches."""
        return sum(map(len, chain(self.batches.values(), self.routed.values())))

    def last(self, partition: MirroredPartition) -> OutgoingBatch | None:
        """The last batch of a partition."""
        return self.batches[partition][-1] if partition in self.batches else None

    def undo(
        self,
        start_over: Callable[[PartitionSender], None],
        others: Iterable[MirroredPartition] = (),
    ) -> None:
        """
        They are aborted: has their partitions go back to them, behind which nothing is sent.

        Args:
            others: partitions that go back to the first of what they have queued.
        """
        for partition in self.partitions.union(others):
            for sender in partition.senders:
                start_over(sender)
            found = [*self.batches.get(partition, ()), *self.routed.get(partition, ())]
            if found:
                partition.undo(found)

    def offsets(self) -> dict[MirroredPartition, int]:
        """The position of each partition once its batches are committed."""
        return {each: self._end(each) - 1 for each in self.partitions}

    def _end(self, partition: MirroredPartition) -> int:
        if partition.routed.owners:
            return _first_queued(partition)
        return partition.reached_after(self.batches[partition][-1])


class MovedPositions:
    """
    Partitions whose stored position is not the current one, or is to be written again, in order.

    Args:
        partitions: of the task; may change at any time.
        refresh_s: after so many seconds all stored positions are written again.
    """

    def __init__(
        self, partitions: Mapping[TopicPartition, MirroredPartition], *, refresh_s: float
    ) -> None:
        self._all = partitions
        self._refresh_s = refresh_s
        self._refreshed = now_s()
        self.partitions: dict[MirroredPartition, None] = {}

    def add(self, partitions: Iterable[MirroredPartition]) -> None:
        """Adds those of some partitions that have moved."""
        self.partitions |= dict.fromkeys(each for each in partitions if each.progress.has_moved)

    def add_those_due(self) -> None:
        """Adds all that have a stored position once these are to be written again."""
        if (now := now_s()) >= self._refreshed + self._refresh_s:
            self._refreshed = now
            stored = (p for p in self._all.values() if p.progress.committed is not None)
            self.partitions |= dict.fromkeys(stored)

    def offsets(self) -> dict[MirroredPartition, int]:
        """The position of each."""
        return {partition: partition.progress.mirrored for partition in self.partitions}


class TransactionPartitions:
    """
    Makes partitions and the group's offsets part of a transaction; the first of them begins it.

    Attributes:
        limit_s: how long a transaction may take; it is given up then.
        began_s: when the open transaction began; None while none is open.
        is_sending_offsets: whether offsets are on their way to the group's coordinator.
        to_abort: partitions in which an earlier transaction has left something open.
    """

    def __init__(
        self,
        spec: ExactlyOnceSpec,
        gate: TransactionGate,
        coordinators: TransactionalProducer,
    ) -> None:
        self._gate = gate
        self._coordinators = coordinators
        self._group = spec.group
        self.limit_s = _OF_TIMEOUT * spec.timeout_ms / 1000
        self._has_group = False
        self.began_s: float | None = None
        self.is_sending_offsets = False
        self.to_abort: list[tuple[PartitionSender, asyncio.Future[None]]] = []

    async def add(self, senders: Iterable[PartitionSender], limit: asyncio.Timeout) -> None:
        """
        Adds partitions; the gate blocks those that the target refuses for a while.

        ``limit`` ends the transaction when its time is over; it is set when the transaction begins.
        """
        new = {sender.target: sender for sender in senders if sender not in self._gate.members}
        while new:
            refused = await self._coordinators.add_partitions(new)
            if not refused:
                self._gate.members.update(new.values())
                self._begin(limit)
                return
            for where, code in refused.items():
                if code != Code.OPERATION_NOT_ATTEMPTED:
                    sender = new.pop(where)
                    sender.report_error(f"the target answers {code_name(code)}")
                    self._gate.block(sender)

    async def add_group(self) -> None:
        """Adds the group's offsets, once, if a transaction is open."""
        if self.began_s is not None and not self._has_group:
            await self._coordinators.add_offsets()
            self._has_group = True

    async def commit_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """
        Has offsets of remote partitions count for the group when the transaction is committed.

        Raises:
            NotAuthorized: the target refuses; the message names the missing permission.
        """
        self.is_sending_offsets = True
        refused = await self._coordinators.commit_offsets(offsets)
        self.is_sending_offsets = False
        for where, code in refused.items():
            if code == Code.TOPIC_AUTHORIZATION_FAILED:
                needs = f"offsets of {self._group} need Read on topic {where.topic}"
                raise NotAuthorized(self._coordinators.alias, needs)
        if refused:
            # Their topics may be gone; the positions are also in the positions topic.
            where, code = next(iter(refused.items()))
            log.warning(
                "positions.group_refused",
                partitions=len(refused),
                first=str(where),
                error=code_name(code),
            )

    async def end(self, *, commit: bool) -> None:
        """Commits or aborts the transaction, if one is open."""
        if self.began_s is not None:
            await self._coordinators.end(commit=commit)

    async def abort_later(self, sender: PartitionSender) -> None:
        """
        Waits until what an earlier transaction left open in a partition is aborted.

        Its coordinator takes it for committed, and what stands there would become part of the next.
        """
        aborted = asyncio.get_running_loop().create_future()
        self.to_abort.append((sender, aborted))
        self._gate.has_work.set()
        await aborted

    async def abort_those_left_open(self, limit: asyncio.Timeout) -> None:
        """Aborts what is to be aborted, by a transaction that has nothing else."""
        if not self.to_abort:
            return
        to_abort, self.to_abort = self.to_abort, []
        await self.add([sender for sender, _ in to_abort], limit)
        await self.end(commit=False)
        self.reset()
        limit.reschedule(None)
        resolve(aborted for _, aborted in to_abort)

    def reset(self) -> None:
        """The transaction is over."""
        self.began_s, self._has_group = None, False
        self._gate.reset()

    def _begin(self, limit: asyncio.Timeout) -> None:
        if self.began_s is None:
            self.began_s = now_s()
            limit.reschedule(self.began_s + self.limit_s)
