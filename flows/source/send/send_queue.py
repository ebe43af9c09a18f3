"""The way to one target partition, and the batches on it, also those of other partitions."""

from __future__ import annotations

from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from flows.source.send.merge_limit import MergeLimit
from flows.source.send.outgoing_batch import OutgoingBatch, SendState
from mm2.core.model import TopicPartition
from mm2.kafka.wire.error_codes import MAYBE_APPENDED, SEQUENCE_LOST, Code

MAX_IN_FLIGHT: Final = 5
"""Batches in flight for which a broker remembers sequence numbers (KIP-98)."""

_FORGOTTEN_AFTER_S: Final = 1.0
"""A broker may be configured to forget idle producers at once (``producer.id.expiration.ms``)."""

STUCK_AFTER: Final = 4
"""Failed attempts in a row, which is after about a second and a half."""


def _ignore(_: object) -> None:
    """The default: does nothing."""


def _stop(_batch: object, _code: int) -> SendState:
    """The default: stops the sender."""
    return SendState.STOP


@dataclass(slots=True, eq=False)
class PartitionSender:
    """
    The send queue of one target partition.

    Attributes:
        on_ack: called for each appended batch, in order.
        on_refused: decides about a batch that the target refuses for good; called with Kafka's
            error code, when all before it is appended. One record, if records are at fault and the
            batch can be read.
        on_dropped: called with batches that were taken off the queue, in order, to free memory or
            because the sender stops; they must be sent again, from the first one on. The first may
            be an empty placeholder that only returns memory. None: nothing is dropped to free
            memory.
        queue: batches to send, in order.
        flying: batches sent and not yet reported, in order.
        unanswered: how many of those the broker has not answered.
        most_bytes: the target refused a batch of twice as many; so many may be merged.
        merging: how much of what waits may become one.
        merges: whether batches that wait may become one.
        attempts: failures in a row.
        corruptions: how often in a row the broker found a batch damaged.
        disorders: how often in a row it missed what comes before.
        is_known: whether the broker surely remembers a batch of this producer.
        is_held: whether sending waits for a recovery.
        has_letters: whether it sends dead letters.
        keeps_queue: whether nothing is dropped to free memory.
        is_withdrawn: whether nothing is to be sent, because there is another log now, or none.
        ends_inside: whether the last batch that the target took, or was left out, is partial.
        used_at: when a batch was queued last, in seconds.
        last_error: the last error, for reports; None after a success.
        retry: when it is released after a failure.
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
    merging: MergeLimit = field(default_factory=MergeLimit)
    merges: bool = False
    attempts: int = 0
    corruptions: int = 0
    disorders: int = 0
    is_known: bool = False
    is_held: bool = False
    has_letters: bool = False
    keeps_queue: bool = False
    is_withdrawn: bool = False
    ends_inside: bool = False
    used_at: float = 0.0
    last_error: str | None = None
    retry: TimerHandle | None = None

    @property
    def active_records(self) -> int:
        """Records that are not acknowledged yet."""
        return sum(len(batch.offsets) for batches in (self.queue, self.flying) for batch in batches)

    @property
    def is_idle(self) -> bool:
        """Whether all that was sent is appended, or never will be."""
        return not self.queue and not self.flying

    @property
    def is_certain(self) -> bool:
        """
        Whether it is known of each batch whether the target has it.

        And of each source offset the target has all records, or none.
        """
        is_known = not self.flying and not any(batch.is_doubtful for batch in self.queue)
        return is_known and not self.ends_inside

    @property
    def is_inside(self) -> bool:
        """Whether the next batch has more records of a source offset that was begun."""
        return self.flying[-1].is_partial if self.flying else self.ends_inside

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
    def continues(self) -> bool:
        """Whether what is queued next has more records of the last source offset."""
        last = self.queue or self.flying
        return last[-1].is_partial if last else self.ends_inside

    @property
    def is_stuck(self) -> bool:
        """Whether it has been in trouble for so long that it should be given nothing more."""
        return self.attempts >= STUCK_AFTER

    @property
    def has_own(self) -> bool:
        """Whether batches of its owner are under way."""
        return any(batch.owner is None for batch in (*self.flying, *self.queue))

    @property
    def is_shared(self) -> bool:
        """Whether batches of others than its owner are queued."""
        return any(batch.owner is not None for batch in self.queue)

    def touch(self, now_s: float) -> None:
        """A batch is queued; after a while without any the broker may not know the producer."""
        if self.is_idle and now_s - self.used_at > _FORGOTTEN_AFTER_S:
            self.is_known = False
        self.used_at = now_s

    def launch(self) -> None:
        """The first batch that is queued is sent."""
        batch = self.queue.popleft()
        batch.is_fixed = True
        self.flying.append(batch)
        self.unanswered += 1

    def report_appended(self) -> None:
        """Reports batches that the target has, in order, up to the first that is not answered."""
        while self.flying and self.flying[0].is_appended:
            self.recovered()
            self.is_known = True
            self.appended(self.flying.popleft())

    def appended(self, batch: OutgoingBatch) -> None:
        """The target has the first batch that flew."""
        self.ends_inside = batch.is_partial
        if batch.owner is None:
            self.on_ack(batch)
        else:
            batch.owner.appended(batch)

    def refuse(self, batch: OutgoingBatch, code: int) -> SendState:
        """What becomes of the sender, whose first batch the target refuses."""
        if batch.owner is None:
            return self.on_refused(batch, code)
        return batch.owner.refused(batch, code)

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

    def report_error(self, error: str | None) -> None:
        """Keeps why the partition stands, for reports; None: it no longer does."""
        self.last_error = error

    def recovered(self) -> None:
        """The trouble is over."""
        self.attempts = self.corruptions = self.disorders = 0
        self.last_error = None

    def keep_queue(self) -> None:
        """From now on nothing is dropped to free memory."""
        self.keeps_queue = True

    def trim(self) -> None:
        """
        Leaves only the first batch queued, and what the target may have.

        Only while held, when nothing is unanswered. What a sender in trouble keeps queued is memory
        that others could use. The sequence numbers go back with it. What may have arrived stays,
        so that it is recognised when it is sent again, and so that no transaction ends while it
        is in question.
        """
        kept = 1
        for number, batch in enumerate(self.queue, 1):
            kept = number if batch.is_doubtful else kept
        while kept < len(self.queue) and self.queue[kept - 1].is_partial:
            kept += 1
        if self.on_dropped is not None and not self.is_shared and len(self.queue) > kept:
            self._drop(kept)

    @property
    def spare(self) -> OutgoingBatch | None:
        """The one batch that is queued, if the target surely does not have it."""
        if self.on_dropped is None or len(self.queue) != 1 or not self.queue[0].size:
            return None
        first = self.queue[0]
        return None if first.is_doubtful or first.owner is not None else first

    def shorten(self, probe: OutgoingBatch) -> None:
        """
        Leaves ``probe`` queued, the first part of the spare batch, and drops the remainder of that.

        The probe takes none of the memory budget: all that the batch took of it is given back.
        """
        batch, count = self.queue.popleft(), len(probe.offsets)
        self.queue.append(probe)
        self.queue.append(batch.part(count, len(batch.offsets), bytearray(), size=batch.size))
        self._drop(1)

    def _drop(self, kept: int) -> None:
        dropped = [self.queue.pop() for _ in range(len(self.queue) - kept)][::-1]
        if dropped:
            self.sequence = dropped[0].sequence
            owners = dict.fromkeys(batch.owner for batch in dropped)
            for owner in owners:
                on_dropped = self.on_dropped if owner is None else owner.dropped
                if on_dropped is not None:
                    on_dropped([batch for batch in dropped if batch.owner is owner])

    def requeue_in_flight(self) -> None:
        """
        Queues again, in order, what flew and was not appended.

        And what is appended behind it: a failed answer may hide that the target has a batch, and
        then it takes the next one.
        """
        self.queue.extendleft(reversed(self.flying))
        self.flying.clear()
        for batch in self.queue:
            may_be_there = batch.is_appended or batch.answer in MAYBE_APPENDED
            batch.is_doubtful = batch.is_doubtful or may_be_there
            batch.answer = None

    def drop_unacked(self) -> None:
        """
        Drops all that is not appended; only when nothing is unanswered.

        The sequence numbers go back with it: a log that knows this producer expects the next one,
        a new log takes any.
        """
        if self.retry is not None:
            self.retry.cancel()
        self.requeue_in_flight()
        self.recovered()
        self.is_known = self.is_held = self.ends_inside = False
        self._drop(0)
