"""
What becomes of a lane in trouble, once all its requests are answered.

Its first batch decides; those after it failed because of it. It is sent again after a while, or
halved, or its owner says what to do about the one record that the target refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from flows.source.forward.batch import SEQUENCE_MASK
from flows.source.forward.recode import Recoded, first_of, halve
from flows.source.send.send_queue import OutgoingBatch, PartitionSender, SendState
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
"""What a broken connection had delivered may be looked at after what came on the next one."""

Stamp = Callable[[bytes | bytearray | memoryview, int], bytearray]
"""Makes a copy of a batch as the producer's own, with a first sequence number."""


class SequenceLost(FlowError):
    """The target forgot what this producer wrote; a new producer epoch must take over."""

    retriable = True


class Recovery:
    """
    Gets lanes out of trouble.

    Args:
        flow: for messages.
        alias: of the target, for messages.
        stamp: of the producer.
        release: called with a lane that may send again.
        refresh: called when another broker may lead a partition by now.
        most_plain: bytes that a batch may have when it is decompressed.
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
    ) -> None:
        self._flow = flow
        self._alias = alias
        self._stamp = stamp
        self._release = release
        self._refresh = refresh
        self._most_plain = most_plain

    def recover(self, lane: PartitionSender, trouble: str | None) -> None:
        """
        Decides about a lane that is held; nothing of it may be unanswered.

        Args:
            lane: it is released now or later, or its owner is asked.
            trouble: why there was no answer, if there was none.

        Raises:
            Fenced: a newer producer has our transactional id.
            SequenceLost: the target forgot our sequence numbers, or they are in doubt.
        """
        if not lane.flying:
            self._release(lane)
            return
        code = lane.flying[0].answer or 0
        lane.drop_unacked()
        lane.failed(code, trouble or code_name(code))
        where = f"{lane.target} on {self._alias}"
        if code in FENCED:
            raise Fenced(self._flow, f"{where} is written by a newer producer of ours")
        if code in SEQUENCE_LOST and lane.disorders > _SEQUENCE_RETRIES:
            raise SequenceLost(self._flow, f"{where} answers {code_name(code)}")
        # A checksum may have been broken by the network.
        is_glitch = code == Code.CORRUPT_MESSAGE and lane.corruptions <= _CORRUPT_RETRIES
        if is_glitch or code in RETRIABLE or code in SEQUENCE_LOST:
            self._retry(lane)
        elif code not in RECORD_AT_FAULT or not self._split(lane, code):
            self._refused(lane, code)

    def skip(self, lane: PartitionSender, batch: OutgoingBatch) -> bool:
        """
        Leaves out the batch for which the lane waits (``Verdict.WAIT``), and goes on.

        False if it has been taken off the lane meanwhile. The sequence numbers after it move up;
        the target has refused what was sent with the old ones.
        """
        if not lane.queue or lane.queue[0] is not batch:
            return False
        sequence = lane.queue.popleft().sequence
        for later in lane.queue:
            later.data = self._stamp(later.data, sequence)
            later.sequence = sequence
            sequence = after(sequence, later)
        lane.sequence = sequence
        lane.recovered()
        self._release(lane)
        return True

    def free_memory(self, lane: PartitionSender) -> None:
        """
        Gives back what a stuck lane keeps in memory; nothing of it may be unanswered.

        Of what the target surely does not have only the first record is left. It goes on asking
        whether the trouble is over, and is not counted: however many partitions are stuck, the
        memory is there for the others. A batch that cannot be read is kept whole.
        """
        lane.trim()
        if (batch := lane.spare) is not None:
            with suppress(ValueError):
                first = first_of(batch.data, batch.offsets, self._most_plain)
                data = self._stamp(first.data, batch.sequence)
                lane.shorten(OutgoingBatch(data, batch.sequence, first.offsets, batch.oldest_ms, 0))

    def _retry(self, lane: PartitionSender) -> None:
        self._refresh()
        if lane.is_stuck:
            self.free_memory(lane)
        doublings = min(lane.attempts - 1, _MOST_DOUBLINGS)
        delay = min(BACKOFF_FIRST_S * 2**doublings, _BACKOFF_MOST_S)
        asyncio.get_running_loop().call_later(delay, self._release, lane)

    def _refused(self, lane: PartitionSender, code: int) -> None:
        first, *others = lane.queue
        if any(batch.is_doubtful for batch in others):
            # An earlier copy may come in late, and fit in where its number is given away anew.
            raise SequenceLost(self._flow, f"{lane.target}: batches are in doubt behind a refusal")
        verdict = lane.on_refused(first, code)
        if verdict is SendState.STOP:
            lane.requeue_in_flight()
        elif verdict is SendState.RETRY:
            self._retry(lane)

    def _split(self, lane: PartitionSender, code: int) -> bool:
        """
        Replaces the first batch by its halves; their records keep their sequence numbers.

        False if it is one record, or cannot be read.
        """
        batch = lane.queue[0]
        if len(batch.offsets) == 1:
            return False
        try:
            halves = halve(batch.data, batch.offsets, self._most_plain)
        except ValueError:
            return False
        if code in TOO_LARGE:
            lane.most_bytes = min(lane.most_bytes, len(batch.data) // 2)
        lane.queue.popleft()
        self._queue_parts(lane, batch, halves)
        self._release(lane)
        return True

    def _queue_parts(
        self, lane: PartitionSender, batch: OutgoingBatch, halves: Sequence[Recoded]
    ) -> None:
        parts, sequence = [], batch.sequence
        for half in halves:
            data = self._stamp(half.data, sequence)
            part = OutgoingBatch(data, sequence, half.offsets, batch.oldest_ms, 0, is_fixed=True)
            parts.append(part)
            sequence = after(sequence, part)
        parts[-1].size = batch.size
        lane.queue.extendleft(reversed(parts))


def after(sequence: int, batch: OutgoingBatch) -> int:
    """The sequence number of the record that follows a batch."""
    return (sequence + len(batch.offsets)) & SEQUENCE_MASK
