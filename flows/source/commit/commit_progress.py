"""How far a partition is copied, and how much of that the positions topic has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flows.source.send.outgoing_batch import OutgoingBatch
from mm2.core.model import NO_OFFSET


@dataclass(slots=True)
class CommitProgress:
    """
    What of a partition is under way, mirrored and committed.

    Attributes:
        mirrored: upstream offset of the last record that the target has, or of what was skipped
            behind it (transaction markers, aborted records).
        landed: upstream offset up to which the target has all that goes to the partition's copy;
            ``mirrored`` waits for what goes elsewhere.
        committed: the ``mirrored`` that the positions topic has; None if it has none, or if it must
            be written again.
        queued: bytes between fetch and acknowledgement.
        uncommitted: batches that the target has in an open transaction, elsewhere too; in the
            legacy tool chunks and batches of which the target does not have all copies yet.
        letters: dead letters that are on their way.
        records, bytes: acknowledged ones.
        latency_ms: highest age of a record when it was acknowledged, since the last report.
        skipped: records and unreadable offsets that ``errors.tolerance`` let pass.
        dead_letters: of these skips, those that the dead-letter topic has.
        left_out: records of which transforms, or provenance, made no copy; those that are handled
            again, after an error, count again.
        begins_empty: the source had no record at all when copying began.
        elsewhere_ms: time of a position in another partition of the positions topic than it is
            written to; what is written must be newer; -1 for none.
        is_contested: the positions topic has different positions of it.
    """

    mirrored: int = NO_OFFSET
    landed: int = NO_OFFSET
    committed: int | None = None
    queued: int = 0
    uncommitted: int = 0
    letters: int = 0
    records: int = 0
    bytes: int = 0
    latency_ms: int = 0
    skipped: int = 0
    dead_letters: int = 0
    left_out: int = 0
    begins_empty: bool = False
    elsewhere_ms: int = -1
    is_contested: bool = False

    @property
    def has_moved(self) -> bool:
        """Whether the target's position is not the one that copying is at."""
        if self.mirrored == NO_OFFSET:
            return self.begins_empty and self.committed != NO_OFFSET
        return self.mirrored != self.committed

    def restore(self, offset: int) -> None:
        """Goes on behind ``offset``, which is stored."""
        self.mirrored = self.landed = self.committed = offset

    def restore_places(self, *, elsewhere_ms: int, is_contested: bool) -> None:
        """Learns what else the positions topic has of it."""
        self.elsewhere_ms, self.is_contested = elsewhere_ms, is_contested

    def begin(self, offset: int, *, begins_empty: bool) -> None:
        """Goes on at ``offset``, which is not stored."""
        self.mirrored = self.landed = offset - 1
        self.committed, self.begins_empty = None, begins_empty

    def reach(self, offset: int) -> None:
        """The target has everything up to ``offset``, or it was skipped."""
        self.mirrored = offset

    def commit(self, offset: int) -> None:
        """The positions topic has ``offset``."""
        self.committed = offset

    def require_commit(self) -> None:
        """The position must be written, even if it has not moved."""
        self.committed = None

    def enqueue(self, size: int) -> None:
        """Bytes are under way."""
        self.queued += size

    def dequeue(self, size: int) -> None:
        """Bytes are no longer under way."""
        self.queued -= size

    def begin_copies(self) -> None:
        """Copies of some records are missing from now on (the legacy tool's)."""
        self.uncommitted += 1

    def end_copies(self) -> None:
        """They are there, or were left out."""
        self.uncommitted -= 1

    def count_copies(self, records: int, size: int) -> None:
        """The target has copies; the size is in bytes."""
        self.records += records
        self.bytes += size

    def land(self, batch: OutgoingBatch) -> None:
        """The target has a batch, if only in an open transaction."""
        self.queued -= batch.size
        self.uncommitted += 1

    def undo(self, batches: Sequence[OutgoingBatch]) -> None:
        """Batches of an open transaction are aborted; what was skipped behind them is met again."""
        self.uncommitted -= len(batches)
        stored = NO_OFFSET if self.committed is None else self.committed
        before = max(stored, min(batch.start for batch in batches) - 1)
        self.mirrored, self.landed = min(self.mirrored, before), min(self.landed, before)

    def drop(self, batches: Sequence[OutgoingBatch]) -> int:
        """Batches will be sent again; returns their bytes."""
        size = sum(batch.size for batch in batches)
        self.queued -= size
        return size

    def skip(self, batch: OutgoingBatch) -> None:
        """The target does not take a batch."""
        self.queued -= batch.size
        if batch.owner is None:
            self.landed = max(self.landed, batch.end - 1)
        self.skipped += len(batch.offsets)

    def count_skipped(self, count: int) -> None:
        """Records were left out, or offsets of the source could not be read."""
        self.skipped += count

    def pass_over(self, offset: int) -> None:
        """What the target is to have of ``offset`` is a dead letter, which it has."""
        self.landed = max(self.landed, offset)

    def begin_letter(self) -> None:
        """A dead letter is on its way."""
        self.letters += 1

    def end_letter(self) -> None:
        """It is there, or refused."""
        self.letters -= 1

    def count_dead_letter(self) -> None:
        """The dead-letter topic has what was skipped."""
        self.dead_letters += 1

    def count_left_out(self, count: int) -> None:
        """Of records of the source there is to be no copy."""
        self.left_out += count

    def acknowledge(self, batch: OutgoingBatch, now_ms: int) -> None:
        """The target has a batch for good."""
        self.uncommitted -= 1
        if batch.owner is None:
            self.landed = max(self.landed, batch.end - 1)
        self.count_copies(len(batch.offsets), batch.size)
        if batch.oldest_ms >= 0:
            self.latency_ms = max(self.latency_ms, now_ms - batch.oldest_ms)

    def count(self, batch: OutgoingBatch) -> None:
        """The target has a batch that went elsewhere than to the partition's copy."""
        self.queued -= batch.size
        self.count_copies(len(batch.offsets), batch.size)

    def restart_latency(self) -> None:
        """The next report starts with the next acknowledgement."""
        self.latency_ms = 0
