"""One mirrored partition: where it is, what is under way, what has been counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from flows.source.forward.overlap import Overlap
from flows.source.send.send_queue import OutgoingBatch, PartitionSender
from mm2.config.text.expressions import hide
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.positions.log_identity import UNKNOWN_EPOCH, Lineage
from mm2.core.positions.source_gaps import CatchingUp, GapKind, Pinned
from mm2.core.translation.run_tracker import RunTracker
from mm2.core.translation.runs import Logs, Run
from mm2.protocol.progress_records import GapReport, PartitionProgress

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class MirroredPartition:
    """
    The state of one source partition in a task.

    Attributes:
        source: the source partition.
        lane: the way to its remote partition.
        position: next offset to fetch; None until it is known.
        mirrored: upstream offset of the last record that the target has, or of what was passed over
            behind it (transaction markers, aborted records).
        committed: the ``mirrored`` that the positions topic has; None if it has nothing.
        queued: bytes between fetch and acknowledgement.
        uncommitted: batches that the target has in an open transaction.
        end: high watermark of the source, or the last stable offset when read committed.
        records: acknowledged records.
        bytes: acknowledged bytes.
        broker: node that it was last read from.
        latency_ms: highest age of a record when it was acknowledged, since it was last reported.
        lost: offsets that were gone before we could fetch them.
        diverged: offsets that the target has and the source no longer has.
        gaps: what was found missing, the last of each kind.
        topic_id: of the source topic that ``position`` speaks of.
        former_id: of the topic that was there before it, as far as we have seen.
        remote_id: of the remote topic that it speaks of.
        leader_epoch: of the last batch taken; -1 if not known.
        settled_epoch: of the source's leader when the position was last compared with its log.
        is_settled: whether it was compared since the leader or the topic may have changed; only
            then is it fetched.
        known_end: ``end`` as it was when the topic last certainly was the one with ``topic_id``.
        surprise: leader epoch of a batch that does not follow; -1 if there is none.
        is_missing: whether the source topic is not there.
        is_remote_there: whether the remote topic is there, and is the one with ``remote_id``.
        catching_up: since when the copy is behind.
        pinned: what a transaction holds back.
        remote_end: offset behind the copy of ``mirrored`` on the target; -1 if not known.
        cut_at: where the target appended a batch although it had copies from there on: it has lost
            these. None if it has not. Stored with the position: the next task copies them again.
        overlap: what the target has behind that from an earlier task; None once something is sent.
        skipped: records and unreadable offsets that were passed over, as ``errors.tolerance`` says.
        begins_empty: it had no record at all when it was first looked at.
        pause_until: by the monotonic clock, in seconds; it is not fetched before.
        corrupt: how often in a row the batch at ``position`` could not be read.
        error: why it does not go on.
        retry_at: when it tries again, by the monotonic clock in seconds; None is never.
        runs: where the target has its records; None if nobody wants to know.
        elsewhere_ms: time of a position in another partition of the positions topic than it is
            written to; what is written must be newer; -1 for none.
        is_contested: the positions topic says different things of it.
    """

    source: TopicPartition
    lane: PartitionSender
    position: int | None = None
    mirrored: int = NO_OFFSET
    committed: int | None = None
    queued: int = 0
    uncommitted: int = 0
    end: int = NO_OFFSET
    records: int = 0
    bytes: int = 0
    broker: int | None = None
    latency_ms: int = 0
    lost: int = 0
    diverged: int = 0
    gaps: dict[GapKind, GapReport] = field(default_factory=dict)
    topic_id: UUID | None = None
    former_id: UUID | None = None
    remote_id: UUID | None = None
    leader_epoch: int = UNKNOWN_EPOCH
    settled_epoch: int = UNKNOWN_EPOCH
    is_settled: bool = False
    known_end: int = NO_OFFSET
    surprise: int = UNKNOWN_EPOCH
    is_missing: bool = False
    is_remote_there: bool = False
    catching_up: CatchingUp = field(default_factory=CatchingUp)
    pinned: Pinned = field(default_factory=Pinned)
    remote_end: int = NO_OFFSET
    cut_at: int | None = None
    overlap: Overlap | None = None
    skipped: int = 0
    begins_empty: bool = False
    pause_until: float = 0.0
    corrupt: int = 0
    error: str | None = None
    retry_at: float | None = None
    runs: RunTracker | None = None
    elsewhere_ms: int = -1
    is_contested: bool = False

    @property
    def lag(self) -> int:
        """
        Records that the source has and the target does not.

        Counted in offsets. When nothing is under way, what was passed over (transaction markers,
        aborted records) is not counted as missing.
        """
        if self.end == NO_OFFSET:
            return 0
        return max(0, self.end - self.reached)

    @property
    def reached(self) -> int:
        """The first offset that the target does not have, as far as it was to be copied."""
        reached = self.mirrored + 1
        return max(reached, self.position or 0) if self.is_at_rest else reached

    def behind(self, batch: OutgoingBatch) -> int:
        """As ``reached`` will be when its landed batches, the last of them this one, count."""
        reached = max(self.mirrored, batch.offsets[-1]) + 1
        return max(reached, self.position or 0) if self.lane.is_idle else reached

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is under way: neither unanswered nor in an open transaction."""
        return self.lane.is_idle and not self.uncommitted

    def is_end_current(self, now_s: float) -> bool:
        """Whether it is fetched, with nothing in the way, and so hears when its log moves on."""
        is_fetched = self.is_settled and self.error is None and self.pause_until <= now_s
        return is_fetched and self.is_at_rest and not self.waits_for_tail

    @property
    def awaits_validation(self) -> bool:
        """Whether it must be compared with the source's log before it is fetched."""
        return not self.is_settled and self.is_remote_there and self.error is None

    @property
    def waits_for_tail(self) -> bool:
        """Whether more of what the target has must be read before it is fetched."""
        return self.overlap is not None and self.overlap.is_used_up

    @property
    def lineage(self) -> Lineage:
        """The logs that the position speaks of, to be stored with it."""
        return Lineage(
            topic_id=self.topic_id,
            remote_id=self.remote_id,
            leader_epoch=self.leader_epoch,
            remote_end=self.remote_end,
            caught_up_ms=self.catching_up.caught_up_ms,
            cut_at=self.cut_at,
        )

    @property
    def logs(self) -> Logs:
        """The topics that its runs speak of."""
        return Logs(self.topic_id, self.remote_id)

    @property
    def told(self) -> int:
        """The first offset of which its runs do not tell yet, if all that has landed counts."""
        return NO_OFFSET if self.uncommitted else self.mirrored + 1

    def continue_from(self, offset: int, lineage: Lineage) -> None:
        """Goes on after ``offset``, the last that the target has, as a stored position says."""
        self.position = offset + 1
        self.mirrored = self.committed = offset
        self.topic_id, self.remote_id = lineage.topic_id, lineage.remote_id
        self.leader_epoch, self.remote_end = lineage.leader_epoch, lineage.remote_end
        self.cut_at = lineage.cut_at
        self.catching_up.begin(offset + 1, lineage.caught_up_ms)
        self._begin_runs(offset + 1)

    def begin_at(self, offset: int, now_ms: int) -> None:
        """Copies from ``offset`` on, whatever was copied before; only if nothing is under way."""
        self.position = offset
        # Committed even before a first record, or a restart would not begin at the same offset.
        self.mirrored = offset - 1
        self.begins_empty, self.committed = offset == 0, None
        self.leader_epoch, self.remote_end, self.overlap = UNKNOWN_EPOCH, NO_OFFSET, None
        self.cut_at = None
        self.catching_up.begin(offset, now_ms)
        self._begin_runs(offset)

    def found(self, offset: int, remote_end: int) -> None:
        """The target has a record already, before its ``remote_end``: it is not copied again."""
        self.position = offset + 1
        self.mirrored = offset
        self.remote_end = remote_end
        if self.runs is not None:
            self.runs.add(Run(offset, remote_end - 1, 1), self.logs)

    def advance_past_skipped(self) -> None:
        """
        Lets what was passed over count as mirrored, once nothing before it is under way.

        Otherwise a restart would begin before it, and miss it when the source has deleted it.
        Connect, which goes on behind the stored offset, does the same from there.
        """
        self.mirrored = self.reached - 1

    def follows(self, leader_epoch: int) -> bool:
        """
        Whether a batch of this leader epoch certainly continues what was taken before.

        Epochs never go down in a log. One that is higher than the leader's was when the position
        was last compared with its log belongs to a later leader, whose log may be another one
        (KIP-320).
        """
        if UNKNOWN_EPOCH in (leader_epoch, self.settled_epoch):
            return True
        return self.leader_epoch <= leader_epoch <= self.settled_epoch

    def fail(self, reason: str) -> None:
        """Stops this partition, and no other, until a new task takes it on."""
        self.error = reason
        log.error(
            "source.partition_failed",
            topic=self.source.topic,
            partition=self.source.partition,
            position=self.position,
            reason=reason,
        )

    def retry(self) -> None:
        """Goes on where it stopped; the error shows until something is acknowledged."""
        self.lane.last_error, self.error, self.retry_at = self.error, None, None
        self.corrupt = 0

    def skip(self, batch: OutgoingBatch) -> None:
        """Passes over a batch that the target does not take."""
        self.queued -= batch.size
        self.mirrored = batch.offsets[-1]
        self.skipped += len(batch.offsets)
        self.advance_past_skipped()

    def pass_over(self, offsets: range) -> None:
        """Passes over offsets at its position that cannot be read, and goes on."""
        self.position = offsets.stop
        self.skipped += len(offsets)
        self.pause_until, self.corrupt = 0.0, 0
        self.advance_past_skipped()

    def landed(self, batch: OutgoingBatch) -> None:
        """Counts a batch that the target has, if only in an open transaction."""
        self.queued -= batch.size
        self.uncommitted += 1
        self._look_whether_cut_off(batch)

    def dropped(self, batches: Sequence[OutgoingBatch]) -> int:
        """Goes back to the first record of batches that must be sent again; gives their bytes."""
        size = sum(batch.size for batch in batches)
        self.queued -= size
        self.position = next((b.offsets[0] for b in batches if b.offsets), self.position)
        return size

    def acknowledge(self, batch: OutgoingBatch, now_ms: int) -> None:
        """Counts a batch that the target has for good."""
        self._look_whether_cut_off(batch)
        self._record_runs(batch)
        self.uncommitted -= 1
        # A record behind it may have been skipped already, in the same transaction.
        self.mirrored = max(self.mirrored, batch.offsets[-1])
        self.remote_end = batch.next_offset
        self.records += len(batch.offsets)
        self.bytes += batch.size
        if batch.oldest_ms >= 0:
            self.latency_ms = max(self.latency_ms, now_ms - batch.oldest_ms)
        self.advance_past_skipped()

    def _look_whether_cut_off(self, batch: OutgoingBatch) -> None:
        """What is lost is stored with the next position, which is committed at once."""
        at = batch.base_offset
        if NO_OFFSET < at < self.remote_end and (self.cut_at is None or at < self.cut_at):
            self.cut_at, self.committed = at, None

    def _begin_runs(self, offset: int) -> None:
        if self.runs is not None:
            self.runs.begin(offset)

    def _record_runs(self, batch: OutgoingBatch) -> None:
        if self.runs is None:
            return
        if batch.base_offset == NO_OFFSET or batch.base_offset < self.remote_end:
            self.runs.lose(batch.offsets[0], batch.offsets[-1] + 1)
            return
        for run in batch.runs():
            self.runs.add(run, self.logs)

    def progress(self) -> PartitionProgress:
        """What the task reports of it."""
        error = self.error or self.lane.last_error
        return PartitionProgress(
            topic=self.source.topic,
            partition=self.source.partition,
            remote=self.lane.target.topic,
            records=self.records,
            bytes=self.bytes,
            position=self.mirrored,
            end=self.end,
            lag=self.lag,
            broker=self.broker,
            latency_ms=self.latency_ms,
            lost=self.lost,
            diverged=self.diverged,
            gaps=tuple(self.gaps.values()),
            skipped=self.skipped,
            contested=self.is_contested,
            error=error and hide(error),
        )
