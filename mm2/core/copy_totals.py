"""
What was copied of a partition by all tasks that ever had it.

A task counts from zero, so the counts of the tasks before it are added. What a task copied after
its last report, because it was killed, is taken from the offsets: the next task says which record
it was the first to copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import add, ge, sub
from typing import Final, NamedTuple

from mm2.core.model import NO_OFFSET

_REMEMBERED: Final = 8
"""Tasks of which it is kept what was counted before them, until what was stored is known."""


class Counts(NamedTuple):
    """
    What one task, or all, counted of a partition.

    Attributes:
        bytes: of batches as produced.
        lost: offsets that were gone from the source before they were copied.
        diverged: offsets that were copied and that the source no longer has.
        skipped: records that were not copied, as ``errors.tolerance`` says.
        dead_letters: of these, those written to the dead-letter topic.
        left_out: records of the source of which transforms, or provenance, made no copy.
    """

    records: int = 0
    bytes: int = 0
    lost: int = 0
    diverged: int = 0
    skipped: int = 0
    dead_letters: int = 0
    left_out: int = 0

    def plus(self, other: Counts) -> Counts:
        """The sums of both."""
        return Counts(*map(add, self, other))

    def minus(self, other: Counts) -> Counts:
        """The differences."""
        return Counts(*map(sub, self, other))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCounts:
    """
    A task's last report about a partition.

    Attributes:
        run: names the task; begins with the epoch of its leader, and a dot.
        counts: since it began with the partition.
        position: source offset of the last record that the target has; -1 for none.
        first: source offset of the first record that this task copied; -1 for none yet.
        at_ms: when, by the task's clock.
    """

    run: str
    counts: Counts
    position: int
    first: int
    at_ms: int

    @property
    def when(self) -> tuple[int, int]:
        """Tells which is newer: clocks of tasks of one leader do not differ much."""
        return int(self.run.partition(".")[0]), self.at_ms


@dataclass(slots=True, kw_only=True)
class CopyTotal:
    """
    The sum over all tasks of one partition; what is stored of it has the same fields.

    What was stored and what tasks reported may be read in any order, and may overlap.

    Attributes:
        before: of the tasks before the last one.
        last: of the last one; None if there was none.
        unreported: records that the task before the last one copied and did not report.
        is_over: whether the last one has told everything.
        open_at: position of the task before, until the last one has copied a record; -1 afterwards,
            and if that task has told everything.
        is_stored: whether what earlier leaders stored is in it.
    """

    before: Counts = field(default_factory=Counts)
    last: TaskCounts | None = None
    unreported: int = 0
    is_over: bool = False
    open_at: int = NO_OFFSET
    is_stored: bool = False
    _runs: dict[str, tuple[Counts, int]] = field(default_factory=dict)

    @property
    def counts(self) -> Counts:
        """Of all tasks."""
        if self.last is None:
            return self.before
        return self.before.plus(self.last.counts).plus(Counts(records=self.unreported))

    @property
    def copied(self) -> tuple[int, int]:
        """Records and bytes, of all tasks: all counts of many partitions would take longer."""
        last = Counts() if self.last is None else self.last.counts
        records = self.before.records + last.records + self.unreported
        return records, self.before.bytes + last.bytes

    def take(self, report: TaskCounts) -> None:
        """Learns what a task says; what is older than the last word is in that."""
        if self.last is not None and report.when < self.last.when:
            return
        if self.last is not None and not _goes_on(self.last, report):
            self.open_at = NO_OFFSET if self.is_over else self.last.position
            self.before, self.unreported = self.counts, 0
        self.last, self.is_over = report, False
        self._count_unreported()

    def ended(self, run: str) -> None:
        """The task has told everything, and copies no more."""
        if self.last is not None and self.last.run == run:
            self.is_over = True

    def restore(self, stored: CopyTotal) -> None:
        """Takes in what a leader has stored, which may be older or newer than what was told."""
        report = stored.last
        if report is None:
            return
        if self.last is None or (self.last.when < report.when and report.run not in self._runs):
            self._runs.clear()
            self.before, self.unreported, self.last = stored.before, stored.unreported, report
            self.is_over, self.open_at = stored.is_over, stored.open_at
        elif report.run in self._runs:
            self._catch_up(stored, report)
        elif not self.is_stored:
            self._shift(stored.counts)
            if len(self._runs) == 1:
                self.open_at = NO_OFFSET if stored.is_over else report.position
        self.is_stored = True
        self._count_unreported()

    def _catch_up(self, stored: CopyTotal, report: TaskCounts) -> None:
        assert self.last is not None  # noqa: S101 - or nothing would have been read
        before, unreported = self._runs[report.run]
        self._shift(stored.before.minus(before))
        more = max(0, stored.unreported - unreported)
        if report.run != self.last.run:
            self._shift(Counts(records=more))
            return
        self.unreported += more
        self.last = max(self.last, report, key=lambda each: each.counts)

    def _count_unreported(self) -> None:
        """What the task before did not report: it had copied all that this one begins behind."""
        last = self.last
        if last is None:
            return
        if self.open_at != NO_OFFSET:
            reached = last.position + 1 if last.first == NO_OFFSET else last.first
            lost = last.counts.lost + last.counts.diverged
            self.unreported = max(self.unreported, reached - self.open_at - 1 - lost)
        if last.first != NO_OFFSET:
            self.open_at = NO_OFFSET
        self._runs[last.run] = self.before, self.unreported
        if len(self._runs) > _REMEMBERED:
            del self._runs[next(iter(self._runs))]

    def _shift(self, by: Counts) -> None:
        self.before = self.before.plus(by)
        self._runs = {run: (was.plus(by), more) for run, (was, more) in self._runs.items()}


def _goes_on(last: TaskCounts, report: TaskCounts) -> bool:
    """Whether the task still counts; one that got the partition back begins at zero."""
    return last.run == report.run and all(map(ge, report.counts, last.counts))
