"""One batch on its way to the target, and the source offsets that it is made of."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import compress, islice
from operator import sub
from typing import Protocol

from flows.source.forward.record_batch import SEQUENCE_MASK
from mm2.core.model import NO_OFFSET
from mm2.core.translation.runs import Runs
from mm2.kafka.wire.error_codes import Code


class SendState(Enum):
    """What becomes of a sender whose first batch the target refuses for good."""

    STOP = "drop all that is queued"
    RETRY = "send it again after a while"
    WAIT = "hold all until the batch is skipped"


class BatchOwner(Protocol):
    """Learns what becomes of batches that others than the sender's owner have queued in it."""

    def appended(self, batch: OutgoingBatch) -> None:
        """The target has it."""

    def refused(self, batch: OutgoingBatch, code: int) -> SendState:
        """The target refuses it for good."""

    def dropped(self, batches: Sequence[OutgoingBatch]) -> None:
        """They were taken off the queue; in order."""


@dataclass(slots=True, eq=False)
class OutgoingBatch:
    """
    One batch to be sent, or in flight.

    Attributes:
        data: the encoded batch, for the target.
        sequence: of its first record.
        offsets: source offset of each of its records.
        oldest_ms: the time of its oldest record, from its header; -1 if it has none.
        answer: the broker's error code; None while there is none.
        base_offset: downstream offset of its first record, once appended.
        size: bytes that it took of the memory budget; the parts of a split batch share them.
        is_doubtful: whether the target may have it although it is not reported as appended.
        is_fixed: whether it may not become one with others: it was sent, or cannot be read.
        covers: source offsets of which the target has all records once it has this batch and those
            before it. ``offsets`` may repeat one, for a record that became several, and may lack
            some, which became none. None: from the first of ``offsets`` to the last.
        continues: whether the records of its first source offset begin in the batch before.
        owner: who queued it; None is the owner of the sender.
        turn: how many cuts the gate of transactions had made when it was queued.
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
    covers: range | None = None
    continues: bool = False
    owner: BatchOwner | None = None
    turn: int = 0

    @property
    def start(self) -> int:
        """The source offset to go back to if it is not sent."""
        return self.offsets[0] if self.covers is None else self.covers.start

    @property
    def end(self) -> int:
        """The source offset behind the last one of which the target has all records with it."""
        return self.offsets[-1] + 1 if self.covers is None else self.covers.stop

    @property
    def is_partial(self) -> bool:
        """Whether more records of its last source offset follow in the next batch."""
        return self.covers is not None and self.offsets[-1] >= self.covers.stop

    @property
    def next_offset(self) -> int:
        """Downstream offset behind the last record that it covers; -1 if not known."""
        if self.base_offset < 0:
            return NO_OFFSET
        covered = bisect_left(self.offsets, self.end) if self.is_partial else len(self.offsets)
        return self.base_offset + covered

    def part(self, first: int, end: int, data: bytearray, *, size: int) -> OutgoingBatch:
        """
        Its records from the one with number ``first`` to before ``end``, encoded as ``data``.

        The parts of a batch cover together what the batch does.
        """
        offsets, covers = self.offsets, None
        if self.covers is not None:
            ends = [self.covers.start, *offsets[1:], self.covers.stop]
            covers = range(ends[first], ends[end])
        is_inside = 0 < first < len(offsets) and offsets[first - 1] == offsets[first]
        return OutgoingBatch(
            data,
            (self.sequence + first) & SEQUENCE_MASK,
            offsets[first:end],
            self.oldest_ms,
            size,
            covers=covers,
            continues=is_inside if first else self.continues,
            owner=self.owner,
            turn=self.turn,
        )

    def runs(self) -> Runs:
        """
        Its records as runs, if it is known where the target has them.

        Of several records of one source offset the first counts.
        """
        if self.base_offset == NO_OFFSET:
            return Runs()
        if isinstance(self.offsets, range):
            return Runs.of([self.offsets.start], [self.base_offset], [len(self.offsets)])
        before = self.offsets[0] if self.continues else NO_OFFSET
        return _runs(self.offsets, self.base_offset, before)

    @property
    def is_appended(self) -> bool:
        """Whether the target has it for certain."""
        return self.answer in (Code.NONE, Code.DUPLICATE_SEQUENCE_NUMBER)


def _runs(offsets: Sequence[int], downstream: int, before: int) -> Runs:
    """
    Runs of offsets, of which the first is at ``downstream`` on the target.

    What repeats the offset before it is in no run; ``before`` is the one before the first.
    """
    steps = list(map(sub, islice(offsets, 1, None), offsets))
    begins = [0, *compress(range(1, len(offsets)), map((1).__ne__, steps))]
    ends = [*begins[1:], len(offsets)]
    if 0 in steps or before == offsets[0]:
        begins = [
            begin + (offsets[begin] == (offsets[begin - 1] if begin else before))
            for begin in begins
        ]
    counts = list(map(sub, ends, begins))
    begins = list(compress(begins, counts))
    return Runs.of(
        map(offsets.__getitem__, begins), map(downstream.__add__, begins), filter(None, counts)
    )
