"""What belongs to the open transaction, as its coordinator knows it: partitions, and offsets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import structlog

from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import GroupId, TopicPartition
from mm2.errors import NotAuthorized
from mm2.kafka.wire.error_codes import Code, code_name
from mm2.kafka.wire.transactional_producer import TransactionalProducer

log = structlog.get_logger()


def now_s() -> float:
    """Seconds, by the clock of the event loop."""
    return asyncio.get_running_loop().time()


class TransactionPartitions:
    """
    Makes partitions and the group's offsets part of a transaction; the first of them begins it.

    Args:
        gate: of the producer; what it admits has been added.
        coordinators: of the transactions.
        group: whose offsets are positions.
        limit_s: what is left of a transaction's time when it begins.

    Attributes:
        began_s: when the open transaction began; None while none is open.
        is_offset_sent: whether offsets are on their way to the group's coordinator.
    """

    def __init__(
        self,
        gate: TransactionGate,
        coordinators: TransactionalProducer,
        *,
        group: GroupId,
        limit_s: float,
    ) -> None:
        self._gate = gate
        self._coordinators = coordinators
        self._group = group
        self._limit_s = limit_s
        self._has_group = False
        self.began_s: float | None = None
        self.is_offset_sent = False

    async def add(self, lanes: Iterable[PartitionSender], limit: asyncio.Timeout) -> None:
        """
        Adds partitions; those that the target does not have must wait, and try again.

        Args:
            lanes: to the partitions.
            limit: ends the transaction when its time is over; set when it begins.
        """
        new = {lane.target: lane for lane in lanes if lane not in self._gate.members}
        while new:
            refused = await self._coordinators.add_partitions(new)
            if not refused:
                self._gate.members.update(new.values())
                self._begin(limit)
                return
            for where, code in refused.items():
                if code != Code.OPERATION_NOT_ATTEMPTED:
                    lane = new.pop(where)
                    lane.last_error = f"the target answers {code_name(code)}"
                    self._gate.block(lane)

    async def add_group(self) -> None:
        """Adds the group's offsets, once, if a transaction is open."""
        if self.began_s is not None and not self._has_group:
            await self._coordinators.add_offsets()
            self._has_group = True

    async def commit_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        """
        Has offsets of remote partitions count for the group when the transaction is committed.

        Raises:
            NotAuthorized: the target does not let us; its message says what it takes.
        """
        self.is_offset_sent = True
        refused = await self._coordinators.commit_offsets(offsets)
        self.is_offset_sent = False
        for where, code in refused.items():
            if code == Code.TOPIC_AUTHORIZATION_FAILED:
                needs = f"offsets of {self._group} need Read on topic {where.topic}"
                raise NotAuthorized(self._coordinators.alias, needs)
        if refused:
            # Their topics are gone, say; the positions stand in the other place.
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

    def reset(self) -> None:
        """The transaction is over."""
        self.began_s, self._has_group = None, False
        self._gate.reset()

    def _begin(self, limit: asyncio.Timeout) -> None:
        if self.began_s is None:
            self.began_s = now_s()
            limit.reschedule(self.began_s + self._limit_s)
