"""The way to one target partition, and the batches on it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from flows.source.forward.batch import SEQUENCE_MASK
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.translation.runs import Run
from mm2.kafka.wire.error_codes import MAYBE_APPENDED, SEQUENCE_LOST, Code

MAX_IN_FLIGHT: Final = 5
"""Batches in flight for which a broker remembers sequence numbers (KIP-98)."""

STUCK_AFTER: Final = 4
"""Failed attempts in a row, which is after about a second and a half."""


class SendState(Enum):
    """What becomes of a lane whose first batch the target refuses for good."""

    STOP = "drop all that is queued"
    RETRY = "send it again after a while"
    WAIT = "hold all until the batch is skipped"


def _ignore(_: object) -> None:
    """Nobody wants to know."""


def _stop(_batch: object, _code: int) -> SendState:
    """Nobody knows what to do about it."""
    return SendState.STOP


@dataclass(slots=True, eq=False)
class OutgoingBatch:
    """
    One batch on its way.

    Attributes:
        data: the batch, restamped.
        sequence: of its first record.
        offsets: source offset of each of its records.
        oldest_ms: the time of its oldest record, as its header tells; -1 if it has none.
        answer: the broker's error code; None while there is none.
        base_offset: downstream offset of its first record, once appended.
        size: bytes that it took of the memory budget; the parts of a split batch share them.
        is_doubtful: whether the target may have it although it did not say so.
        is_fixed: whether it may not become one with others: it was sent, or cannot be read.
    """

    data: bytearray
    sequence: int
    offsets: Sequence[int]
    oldest_ms: int
    size: int
    answer: int | None = None
    base_offset: int = NO_OFFSET
    is_doubtful: bool = False
    is_fixed: bool = False

    @property
    def next_offset(self) -> int:
        """Downstream offset behind its last record; -1 if not known."""
        return NO_OFFSET if self.base_offset < 0 else self.base_offset + len(self.offsets)

    def runs(self) -> Iterable[Run]:
        """Its records as runs, if it is known where the target has them."""
        if self.base_offset == NO_OFFSET:
            return ()
        if isinstance(self.offsets, range):
            return (Run(self.offsets.start, self.base_offset, len(self.offsets)),)
        return _consecutive(self.offsets, self.base_offset)

    @property
    def is_appended(self) -> bool:
        """Whether the target has it for certain."""
        return self.answer in (Code.NONE, Code.DUPLICATE_SEQUENCE_NUMBER)


@dataclass(slots=True, eq=False)
class PartitionSender:
    """
    The way to one target partition.

    Attributes:
        target: where its batches go.
        on_ack: called for each appended batch, in order.
        on_refused: decides about a batch that the target refuses for good; called with Kafka's
            error code, when all before it is appended. One record, if records are at fault and the
            batch can be read.
        on_dropped: called with batches that were taken off the queue, in order, to free memory or
            because the lane stops; they must be sent again, from the first one on. The first may
            have no records, and then is nothing but memory. None: nothing is dropped to free
            memory.
        sequence: of the next record.
        queue: batches to send, in order.
        flying: batches sent and not yet reported, in order.
        unanswered: how many of those the broker has not answered.
        most_bytes: the target refused a batch of twice as many; so many may be merged.
        merges: whether batches that wait may become one.
        attempts: failures in a row.
        corruptions: how often in a row the broker found a batch damaged.
        disorders: how often in a row it missed what comes before.
        is_known: whether the broker surely remembers a batch of this producer.
        is_held: whether sending waits for the end of some trouble.
        is_withdrawn: whether nothing is to be sent, because there is another log now, or none.
        used_at: when a batch was queued last, in seconds.
        last_error: the trouble, for people; None when all is well.
    """

    target: TopicPartition
    on_ack: Callable[[OutgoingBatch], None] = _ignore
    on_refused: Callable[[OutgoingBatch, int], SendState] = _stop
    on_dropped: Callable[[Sequence[OutgoingBatch]], None] | None = None
    sequence: int = 0
    queue: deque[OutgoingBatch] = field(default_factory=deque)
    flying: deque[OutgoingBatch] = field(default_factory=deque)
    unanswered: int = 0
    most_bytes: int = 1 << 31
    merges: bool = False
    attempts: int = 0
    corruptions: int = 0
    disorders: int = 0
    is_known: bool = False
    is_held: bool = False
    is_withdrawn: bool = False
    used_at: float = 0.0
    last_error: str | None = None

    @property
    def is_idle(self) -> bool:
        """Whether all that was sent is appended, or never will be."""
        return not self.queue and not self.flying

    @property
    def is_settled(self) -> bool:
        """Whether it is known of each batch whether the target has it."""
        return not self.flying and not any(batch.is_doubtful for batch in self.queue)

    @property
    def has_room(self) -> bool:
        """
        Whether one more batch may fly.

        A broker takes any first sequence number from a producer that it does not know. So a first
        batch flies alone: were it lost or refused, the next would be appended in its place.
        """
        most = MAX_IN_FLIGHT if self.is_known else 1
        return len(self.flying) < most and not self.is_withdrawn

    @property
    def is_stuck(self) -> bool:
        """Whether it has been in trouble for so long that it should be given nothing more."""
        return self.attempts >= STUCK_AFTER

    def failed(self, code: int, trouble: str) -> None:
        """
        Counts a failure of the first batch.

        Whoever leads the partition next may not know the producer: brokers forget those whose last
        batch is older than ``producer.id.expiration.ms``, and go by the records' own timestamps.
        """
        self.attempts += 1
        self.corruptions += code == Code.CORRUPT_MESSAGE
        self.disorders += code in SEQUENCE_LOST
        self.last_error = trouble
        self.is_known = False

    def recovered(self) -> None:
        """The trouble is over."""
        self.attempts = self.corruptions = self.disorders = 0
        self.last_error = None

    def trim(self) -> None:
        """
        Leaves only the first batch queued, and what the target may have.

        Only while held, when nothing is unanswered. What a lane in trouble keeps queued is memory
        that others could use. The sequence numbers go back with it. What may have arrived stays,
        so that it is recognised when it is sent again, and so that no transaction ends while it
        is in question.
        """
        kept = 1
        for number, batch in enumerate(self.queue, 1):
            kept = number if batch.is_doubtful else kept
        if self.on_dropped is not None and len(self.queue) > kept:
            self._drop(kept)

    @property
    def spare(self) -> OutgoingBatch | None:
        """The one batch that is queued, if the target surely does not have it."""
        if self.on_dropped is None or len(self.queue) != 1 or not self.queue[0].size:
            return None
        return None if self.queue[0].is_doubtful else self.queue[0]

    def shorten(self, probe: OutgoingBatch) -> None:
        """
        Leaves ``probe`` queued, which begins as the spare batch does, and drops the rest of that.

        The probe takes none of the memory budget: all that the batch took of it is given back.
        """
        batch, count = self.queue.popleft(), len(probe.offsets)
        self.queue.append(probe)
        sequence = (batch.sequence + count) & SEQUENCE_MASK
        rest = batch.offsets[count:]
        self.queue.append(OutgoingBatch(bytearray(), sequence, rest, batch.oldest_ms, batch.size))
        self._drop(1)

    def _drop(self, kept: int) -> None:
        dropped = [self.queue.pop() for _ in range(len(self.queue) - kept)][::-1]
        if dropped:
            self.sequence = dropped[0].sequence
            if self.on_dropped is not None:
                self.on_dropped(dropped)

    def drop_unacked(self) -> None:
        """Queues again, in order, what flew and was not appended."""
        self.queue.extendleft(reversed(self.flying))
        self.flying.clear()
        for batch in self.queue:
            batch.is_doubtful = batch.is_doubtful or batch.answer in MAYBE_APPENDED
            batch.answer = None

    def requeue_in_flight(self) -> None:
        """
        Drops all that is not appended; only when nothing is unanswered.

        The sequence numbers go back with it: a log that knows this producer expects the next one,
        a new log takes any.
        """
        self.drop_unacked()
        self.recovered()
        self.is_known = self.is_held = False
        self._drop(0)


def _consecutive(offsets: Iterable[int], downstream: int) -> Iterator[Run]:
    """Runs of offsets, of which the first is at ``downstream`` on the target."""
    runs: list[tuple[int, int]] = []
    for offset in offsets:
        if runs and runs[-1][0] + runs[-1][1] == offset:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((offset, 1))
    for first, count in runs:
        yield Run(first, downstream, count)
        downstream += count
