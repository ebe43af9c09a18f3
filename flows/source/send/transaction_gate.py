"""What may be sent in the open transaction, and what waits for the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from typing import Final

from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.send_queue import PartitionSender

_BLOCKED_S: Final = 0.5


class TransactionGate:
    """
    Keeps batches from being sent outside of a transaction.

    Attributes:
        members: senders whose partitions belong to the transaction.
        waiting: senders that have something to send and are no members.
        last: if given, the transaction takes nothing more but what these senders have, what the
            target may have already, all records of a source record that was begun, and what
            belongs to a cut.
        spoiled: why all that is not committed must be aborted; empty if it need not.
        has_work: set when the transaction's loop has something to do.
        turn: grows with each cut; what is queued later waits for the next transaction.
    """

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.members: set[PartitionSender] = set()
        self.waiting: dict[PartitionSender, None] = {}
        self.last: Collection[PartitionSender] | None = None
        self.spoiled = ""
        self.has_work = asyncio.Event()
        self.turn = 0
        self._cut: set[PartitionSender] = set()
        self._blocked_until: dict[PartitionSender, float] = {}

    @property
    def is_idle(self) -> bool:
        """Whether the members have nothing to send and nothing in flight."""
        return all(sender.is_idle for sender in self.members)

    @property
    def is_certain(self) -> bool:
        """Whether it is known of all that the members have sent whether the target has it."""
        return all(sender.is_certain for sender in self.members)

    def admits(self, sender: PartitionSender) -> bool:
        """Whether the sender's next batch may be sent now."""
        if sender in self.members:
            batch = sender.queue[0]
            is_due = bool(self._cut) and self._is_in_cut(sender, batch)
            is_due = is_due or sender.is_inside or batch.is_doubtful
            return self.last is None or sender in self.last or is_due
        if sender not in self._blocked_until:
            self.waiting[sender] = None
            self.has_work.set()
        return False

    def begin_cut(self, senders: Iterable[PartitionSender]) -> Collection[PartitionSender]:
        """
        Of these senders the transaction takes what is queued by now, and nothing more.

        Besides it takes all dead letters. Returns the senders that have something.
        """
        self.turn += 1
        self._cut = {sender for sender in senders if self.has_older(sender)}
        self.last = ()
        return self._cut

    def end_cut(self) -> None:
        """Whatever became of the cut, the transaction takes nothing more."""
        self._cut, self.last = set(), ()

    def _is_in_cut(self, sender: PartitionSender, batch: OutgoingBatch) -> bool:
        return sender.has_letters or (sender in self._cut and batch.turn < self.turn)

    def has_older(self, sender: PartitionSender) -> bool:
        """Whether a sender has something under way that was queued before the last cut."""
        batches = sender.flying or sender.queue
        return bool(batches) and batches[0].turn < self.turn

    def spoil(self, reason: str) -> None:
        """The transaction has what must never be committed."""
        self.spoiled = self.spoiled or reason
        self.has_work.set()

    def block(self, sender: PartitionSender) -> None:
        """Keeps a sender out for a moment, because the target refuses it."""
        self._blocked_until[sender] = asyncio.get_running_loop().time() + _BLOCKED_S

    def blocks(self, sender: PartitionSender) -> bool:
        """Whether a sender is kept out."""
        return sender in self._blocked_until

    def unblock(self) -> bool:
        """Forgets senders that have been kept out for long enough; whether there were any."""
        now = asyncio.get_running_loop().time()
        over = [sender for sender, until in self._blocked_until.items() if until <= now]
        for sender in over:
            del self._blocked_until[sender]
        return bool(over)

    def reset(self) -> None:
        """The transaction is over."""
        self.members.clear()
        self.last, self._cut = None, set()

    def unanswered(self) -> str:
        """Why senders of the transaction wait for answers, for messages."""
        due = {each for each in self._cut if self.has_older(each)}
        waiting = due.union(each for each in self.members if not each.is_certain)
        return ", ".join(f"{each.target}: {each.last_error}" for each in waiting) or "no answer"
