"""
What becomes of a sender in trouble, once all its requests are answered.

Its first batch decides; those after it failed because of it. It is sent again after a while, or
halved, or its owner decides about the one record that the target refuses.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from flows.source.forward.recode import Recoded, first_of, halve
from flows.source.forward.record_batch import SEQUENCE_MASK
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from flows.source.send.send_queue import PartitionSender
from mm2.errors import Fenced, FlowError
from mm2.kafka.wire.error_codes import (
    FENCED,
    RECORD_AT_FAULT,
    RETRIABLE,
    SEQUENCE_LOST,
    TOO_LARGE,
    Code,
    code_name,
)

BACKOFF_FIRST_S: Final = 0.1
_BACKOFF_MOST_S: Final = 5.0
_MOST_DOUBLINGS: Final = 10
_CORRUPT_RETRIES: Final = 3
_SEQUENCE_RETRIES: Final = 3
"""What a broken connection had delivered may be processed after what came on the next one."""

Stamp = Callable[[bytes | bytearray | memoryview, int], bytearray]
"""Makes a copy of a batch as the producer's own, with a first sequence number."""

Unwanted = Callable[[OutgoingBatch], bool]
"""Whether a batch is not to be sent any more."""


class SequenceLost(FlowError):
    """The target forgot what this producer wrote; a new producer epoch must take over."""

    retriable = True


class Recovery:
    """
    Decides how senders go on after a failed batch.

    Args:
        release: called with a sender that may send again.
        refresh: called when another broker may lead a partition by now.
        most_plain: bytes that a batch may have when it is decompressed.
        spoil: has the open transaction aborted, for a reason; None: there are no transactions.
    """

    def __init__(
        self,
        *,
        flow: str,
        alias: str,
        stamp: Stamp,
        release: Callable[[PartitionSender], None],
        refresh: Callable[[], None],
        most_plain: int,
        spoil: Callable[[str], None] | None = None,
    ) -> None:
        self._flow = flow
        self._alias = alias
        self._stamp = stamp
        self._release = release
        self._refresh = refresh
        self._most_plain = most_plain
        self._spoil = spoil

    def recover(self, sender: PartitionSender, trouble: str | None) -> None:
        """
        Decides about a held sender; all its requests must be answered.

        It is released now or later, or its owner decides. ``trouble`` is why no answer came.

        Raises:
            Fenced: a newer producer has our transactional id.
            SequenceLost: the target forgot our sequence numbers, or batches may have been appended.
        """
        if not sender.flying:
            self._release(sender)
            return
        code = sender.flying[0].answer or 0
        sender.requeue_in_flight()
        sender.failed(code, trouble or code_name(code))
        where = f"{sender.target} on {self._alias}"
        if code in FENCED:
            raise Fenced(self._flow, f"{where} is written by a newer producer of ours")
        if code in SEQUENCE_LOST and sender.disorders > _SEQUENCE_RETRIES:
            raise SequenceLost(self._flow, f"{where} answers {code_name(code)}")
        # A checksum may have been broken by the network.
        is_glitch = code == Code.CORRUPT_MESSAGE and sender.corruptions <= _CORRUPT_RETRIES
        if is_glitch or code in RETRIABLE or code in SEQUENCE_LOST:
            self._retry(sender)
        elif code not in RECORD_AT_FAULT or not self._split(sender, code):
            self._refused(sender, code)

    def skip(self, sender: PartitionSender, batch: OutgoingBatch) -> bool:
        """
        Leaves out the batch for which the sender waits (``SendState.WAIT``), and goes on.

        False if it has been taken off the sender meanwhile. The sequence numbers after it move up;
        the target has refused what was sent with the old ones.
        """
        if not sender.queue or sender.queue[0] is not batch:
            return False
        sequence = sender.queue.popleft().sequence
        sender.ends_inside = batch.is_partial
        for later in sender.queue:
            later.data = self._stamp(later.data, sequence)
            later.sequence = sequence
            sequence = after(sequence, later)
        sender.sequence = sequence
        sender.recovered()
        self._release(sender)
        return True

    def withhold(self, sender: PartitionSender, unwanted: Unwanted) -> list[OutgoingBatch]:
        """Takes batches off the queue that were never sent; the numbers of those behind move up."""
        kept, withheld = list[OutgoingBatch](), list[OutgoingBatch]()
        sequence = sender.queue[0].sequence if sender.queue else sender.sequence
        for batch in sender.queue:
            if not (batch.is_fixed or batch.is_doubtful) and unwanted(batch):
                withheld.append(batch)
                continue
            if batch.sequence != sequence:
                batch.data, batch.sequence = self._stamp(batch.data, sequence), sequence
            sequence = after(sequence, batch)
            kept.append(batch)
        sender.queue, sender.sequence = deque(kept), sequence
        return withheld

    def stop(self, sender: PartitionSender) -> None:
        """Drops all that is queued; a transaction with some records of a source offset is void."""
        if self._spoil is not None and sender.ends_inside:
            self._spoil(f"{sender.target} takes some records of a source record and refuses others")
        sender.drop_unacked()

    def free_memory(self, sender: PartitionSender) -> None:
        """
        Gives back what a stuck sender keeps in memory; nothing of it may be unanswered.

        Of what the target surely does not have only the first record is left, with all others that
        were made of the same source record. It goes on asking whether the trouble is over, and is
        not counted: however many partitions are stuck, the memory is there for the others. A batch
        that cannot be read is kept whole.
        """
        if sender.keeps_queue:
            return
        sender.trim()
        if (batch := sender.spare) is not None:
            with suppress(ValueError):
                first = first_of(batch.data, batch.offsets, self._most_plain)
                data = self._stamp(first.data, batch.sequence)
                sender.shorten(batch.part(0, len(first.offsets), data, size=0))

    def _retry(self, sender: PartitionSender) -> None:
        self._refresh()
        if sender.is_stuck:
            self.free_memory(sender)
        doublings = min(sender.attempts - 1, _MOST_DOUBLINGS)
        delay = min(BACKOFF_FIRST_S * 2**doublings, _BACKOFF_MOST_S)
        sender.retry = asyncio.get_running_loop().call_later(delay, self._release, sender)

    def _refused(self, sender: PartitionSender, code: int) -> None:
        first, *others = sender.queue
        if any(batch.is_doubtful for batch in others):
            # An earlier copy may arrive late, and take a sequence number that is given again.
            raise SequenceLost(
                self._flow, f"{sender.target}: batches are in doubt behind a refusal"
            )
        verdict = sender.refuse(first, code)
        if verdict is SendState.STOP:
            self.stop(sender)
        elif verdict is SendState.RETRY:
            self._retry(sender)

    def _split(self, sender: PartitionSender, code: int) -> bool:
        """
        Replaces the first batch by its halves; their records keep their sequence numbers.

        False if it is one record, or cannot be read.
        """
        batch = sender.queue[0]
        if len(batch.offsets) == 1:
            return False
        try:
            halves = halve(batch.data, batch.offsets, self._most_plain)
        except ValueError:
            return False
        if code in TOO_LARGE:
            sender.most_bytes = min(sender.most_bytes, len(batch.data) // 2)
        sender.queue.popleft()
        self._queue_parts(sender, batch, halves)
        self._release(sender)
        return True

    def _queue_parts(
        self, sender: PartitionSender, batch: OutgoingBatch, halves: Sequence[Recoded]
    ) -> None:
        parts, first = [], 0
        for half in halves:
            end = first + len(half.offsets)
            part = batch.part(first, end, half.data, size=0)
            part.data, part.is_fixed = self._stamp(half.data, part.sequence), True
            parts.append(part)
            first = end
        parts[-1].size = batch.size
        sender.queue.extendleft(reversed(parts))


def after(sequence: int, batch: OutgoingBatch) -> int:
    """The sequence number of the record that follows a batch."""
    return (sequence + len(batch.offsets)) & SEQUENCE_MASK
