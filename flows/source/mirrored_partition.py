"""One mirrored partition: the parts of its state, and what changes several of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from flows.source.commit.commit_progress import CommitProgress
from flows.source.fetch.fetch_state import FetchState, ValidationState
from flows.source.monitor.remote_state import FoundGaps, RemoteState
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.routed_copies import RoutedCopies
from flows.source.send.send_queue import PartitionSender
from flows.source.transform.message_handler import Handle
from mm2.core.batch_stats import BatchStats
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.positions.log_identity import UNKNOWN_EPOCH, Lineage
from mm2.core.positions.source_gaps import CatchingUp, Pinned
from mm2.core.translation.run_tracker import RunTracker
from mm2.core.translation.runs import Logs, Run, Runs

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class MirroredPartition:
    """
    The state of one source partition in a task.

    Each part changes its fields by its own methods only. What concerns several parts is a method
    here.

    Attributes:
        runs: where the target has its records; None if exact runs are not published.
        catching_up: since when the copy is behind.
        pinned: what a transaction holds back.
        retry_at: when it tries again, by the monotonic clock in seconds; None is never.
        transform: what its records become; None copies them as bytes.
        routed: its records that go elsewhere than to its copy.
    """

    source: TopicPartition
    sender: PartitionSender
    runs: RunTracker | None = None
    fetch: FetchState = field(default_factory=FetchState)
    validation: ValidationState = field(default_factory=ValidationState)
    remote: RemoteState = field(default_factory=RemoteState)
    progress: CommitProgress = field(default_factory=CommitProgress)
    gaps: FoundGaps = field(default_factory=FoundGaps)
    catching_up: CatchingUp = field(default_factory=CatchingUp)
    pinned: Pinned = field(default_factory=Pinned)
    stats: BatchStats = field(default_factory=BatchStats)
    error: str | None = None
    retry_at: float | None = None
    transform: Handle | None = None
    routed: RoutedCopies = field(default_factory=RoutedCopies)

    @property
    def lag(self) -> int:
        """
        Records that the source has and the target does not.

        Counted in offsets; what was skipped is not missing when nothing is under way.
        """
        if self.fetch.end == NO_OFFSET:
            return 0
        return max(0, self.fetch.end - self.reached)

    @property
    def reached(self) -> int:
        """The first offset that the target does not have, as far as it was to be copied."""
        return self._reached(self.progress.landed + 1, has_landed=self._has_landed)

    def reached_after(self, batch: OutgoingBatch) -> int:
        """``reached`` once its landed batches count, of which this one is the last."""
        end = max(batch.end, self.progress.landed + 1)
        return self._reached(end, has_landed=self.sender.is_idle)

    def _reached(self, landed: int, *, has_landed: bool) -> int:
        """Never less than before; ``landed`` is the end of what its copy has."""
        if has_landed:
            landed = max(landed, self.fetch.handed_on)
        if self.routed.owners:
            landed = min(landed, self.fetch.handed_on)
            if (missing := self.routed.first_missing) is not None:
                landed = min(landed, missing)
        return max(landed, self.progress.mirrored + 1)

    @property
    def senders(self) -> list[PartitionSender]:
        """All that it sends through."""
        return [self.sender, *self.routed.owners]

    @property
    def is_stuck(self) -> bool:
        """Whether a sender of its copies should be given nothing more."""
        return self.sender.is_stuck or any(sender.is_stuck for sender in self.routed.owners)

    @property
    def is_sent(self) -> bool:
        """Whether the target has all that was sent of it; others may use the same senders."""
        is_copied = not self.sender.has_own and self.routed.first_missing is None
        return is_copied and not self.progress.letters

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way: to be transformed, unanswered or uncommitted."""
        is_pending = self.fetch.pending_from is not None
        return self._has_landed and not is_pending and self.routed.first_missing is None

    @property
    def _has_landed(self) -> bool:
        """Whether the target has all that was sent for good."""
        return self.sender.is_idle and not self.progress.uncommitted

    def is_end_current(self, now_s: float) -> bool:
        """Whether it is fetched, with nothing in the way, so that ``fetch.end`` is up to date."""
        is_fetched = self.validation.is_valid and self.error is None
        is_fetched = is_fetched and self.fetch.pause_until <= now_s
        return is_fetched and self.is_idle and not self.fetch.waits_for_overlap

    @property
    def awaits_validation(self) -> bool:
        """Whether it must be compared with the source's log before it is fetched."""
        return not self.validation.is_valid and self.remote.is_there and self.error is None

    @property
    def lineage(self) -> Lineage:
        """The logs that the position belongs to, to be stored with it."""
        return Lineage(
            topic_id=self.validation.topic_id,
            remote_id=self.remote.topic_id,
            leader_epoch=self.fetch.leader_epoch,
            remote_end=self.remote.end,
            caught_up_ms=self.catching_up.caught_up_ms,
            cut_at=self.remote.cut_at,
        )

    @property
    def logs(self) -> Logs:
        """The topics that its runs belong to."""
        return Logs(self.validation.topic_id, self.remote.topic_id)

    @property
    def runs_end(self) -> int:
        """The first offset that its runs do not cover yet, if all that has landed counts."""
        return NO_OFFSET if self.progress.uncommitted else self.progress.mirrored + 1

    def continue_from(self, offset: int, lineage: Lineage) -> None:
        """Goes on after ``offset``, the last that the target has by a stored position."""
        self.fetch.begin(offset + 1, lineage.leader_epoch)
        self.progress.restore(offset)
        self.validation.identify(lineage.topic_id)
        self.remote.restore(lineage)
        self.catching_up.begin(offset + 1, lineage.caught_up_ms)
        self._begin_runs(offset + 1)

    def begin_at(self, offset: int, now_ms: int, *, begins_empty: bool | None = None) -> None:
        """
        Copies from ``offset`` on, whatever was copied before; only while it is idle.

        ``begins_empty``: commit even before a first record, because a restart might begin at
        another offset; None: if ``offset`` is 0.
        """
        self.fetch.begin(offset)
        is_empty = offset == 0 if begins_empty is None else begins_empty
        self.progress.begin(offset, begins_empty=is_empty)
        self.remote.begin()
        self.catching_up.begin(offset, now_ms)
        self._begin_runs(offset)

    def found(self, offset: int, remote_end: int) -> None:
        """The target has a record already, before its ``remote_end``: it is not copied again."""
        self.fetch.move_to(offset + 1)
        self.progress.reach(offset)
        self._found_copy(offset, remote_end - 1, remote_end)

    def found_copies(self, offset: int, first: int, remote_end: int) -> None:
        """The target has what a source record became already, from ``first`` to its end."""
        self.fetch.hand_on(offset + 1)
        self.advance_past_skipped()
        self._found_copy(offset, first, remote_end)

    def _found_copy(self, offset: int, first: int, remote_end: int) -> None:
        self.remote.reach(remote_end)
        if self.runs is not None:
            self.runs.add(Run(offset, first, 1), self.logs)

    def advance_past_skipped(self) -> None:
        """
        Counts what was skipped as mirrored, once nothing before it is under way.

        Otherwise a restart would begin before it, and miss it when the source has deleted it.
        Connect, which goes on behind the stored offset, does the same from there.
        """
        self.progress.reach(self.reached - 1)

    def follows(self, leader_epoch: int) -> bool:
        """
        Whether a batch of this leader epoch certainly continues what was taken before.

        Epochs never go down in a log. One that is higher than the leader's was when the position
        was last compared with its log belongs to a later leader, whose log may be another one
        (KIP-320).
        """
        checked = self.validation.checked_epoch
        if UNKNOWN_EPOCH in (leader_epoch, checked):
            return True
        return self.fetch.leader_epoch <= leader_epoch <= checked

    def fail(self, reason: str) -> None:
        """Stops this partition, and no other, until a new task takes it on."""
        self.error = reason
        log.error(
            "source.partition_failed",
            topic=self.source.topic,
            partition=self.source.partition,
            position=self.fetch.position,
            reason=reason,
        )

    def fail_until(self, retry_at: float, reason: str) -> None:
        """Stops this partition, and no other, until it is retried."""
        self.fail(reason)
        self.retry_at = retry_at

    def retry(self) -> None:
        """Goes on where it stopped; the error shows until something is acknowledged."""
        self.sender.report_error(self.error)
        self.error = self.retry_at = None
        self.fetch.reset_failed_reads()

    def skip(self, batch: OutgoingBatch) -> None:
        """Skips a batch that the target does not take."""
        self.progress.skip(batch)
        self.advance_past_skipped()

    def skip_unreadable(self, offsets: range) -> None:
        """Skips offsets at its position that cannot be read, and goes on."""
        self.fetch.move_to(offsets.stop)
        self.fetch.reset_failed_reads()
        self.fetch.resume()
        self.progress.count_skipped(len(offsets))
        self.advance_past_skipped()

    def landed(self, batch: OutgoingBatch) -> None:
        """Counts a batch that the target has, if only in an open transaction."""
        self.progress.land(batch)
        self._check_cut_off(batch)

    def dropped(self, batches: Sequence[OutgoingBatch]) -> int:
        """Goes back to the first record of batches to be sent again; returns their bytes."""
        first = next((b.start for b in batches if b.offsets), None)
        if first is not None:
            self.fetch.go_back_before(first)
        return self.progress.drop(batches)

    def undo(self, batches: Sequence[OutgoingBatch]) -> None:
        """Goes back to the first of batches that an aborted transaction had."""
        self.progress.undo(batches)
        self.fetch.go_back_before(min(batch.start for batch in batches))

    def acknowledge(self, batch: OutgoingBatch, now_ms: int, runs: Runs | None = None) -> None:
        """
        Counts a batch that the target has for good.

        Args:
            runs: of the batch, if they were found already.
        """
        self._check_cut_off(batch)
        self._record_runs(batch, runs)
        self.progress.acknowledge(batch, now_ms)
        self.remote.reach(batch.next_offset)
        self.stats.acknowledged(
            batch.offsets[0],
            count=len(batch.offsets),
            size=batch.size,
            oldest_ms=batch.oldest_ms,
            now_ms=now_ms,
        )
        self.advance_past_skipped()

    def _check_cut_off(self, batch: OutgoingBatch) -> None:
        """What is lost is stored with the next position, which is committed at once."""
        if self.remote.append_at(batch.base_offset):
            self.progress.require_commit()

    def _begin_runs(self, offset: int) -> None:
        if self.runs is not None:
            self.runs.begin(offset)

    def _record_runs(self, batch: OutgoingBatch, runs: Runs | None) -> None:
        if self.runs is None:
            return
        if batch.base_offset == NO_OFFSET or batch.base_offset < self.remote.end:
            self.runs.lose(batch.offsets[0], batch.offsets[-1] + 1)
            return
        self.runs.add_all(batch.runs() if runs is None else runs, self.logs)
