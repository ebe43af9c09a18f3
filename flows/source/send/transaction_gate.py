"""What may be sent in the open transaction, and what waits for the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

from flows.source.send.send_queue import PartitionSender

_BARRED_S: Final = 0.5


class TransactionGate:
    """
    Keeps batches from being sent outside of a transaction.

    Args:
        transactional_id: the producer's.

    Attributes:
        members: lanes whose partitions belong to the transaction.
        wanted: lanes that have something to send and are no members.
        last: if given, the transaction takes nothing more but what these lanes have, and what
            the target may have already.
        stirred: set when there is something to look at.
    """

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.members: set[PartitionSender] = set()
        self.wanted: dict[PartitionSender, None] = {}
        self.last: Collection[PartitionSender] | None = None
        self.stirred = asyncio.Event()
        self._barred: dict[PartitionSender, float] = {}

    def admits(self, lane: PartitionSender) -> bool:
        """Whether the lane's next batch may be sent now."""
        if lane in self.members:
            return self.last is None or lane in self.last or lane.queue[0].is_doubtful
        if lane not in self._barred:
            self.wanted[lane] = None
            self.stirred.set()
        return False

    def block(self, lane: PartitionSender) -> None:
        """Keeps a lane out for a moment: the target would not have it."""
        self._barred[lane] = asyncio.get_running_loop().time() + _BARRED_S

    def unblock(self) -> bool:
        """Forgets lanes that have been kept out for long enough; whether there were any."""
        now = asyncio.get_running_loop().time()
        over = [lane for lane, until in self._barred.items() if until <= now]
        for lane in over:
            del self._barred[lane]
        return bool(over)

    def reset(self) -> None:
        """The transaction is over."""
        self.members.clear()
        self.last = None
