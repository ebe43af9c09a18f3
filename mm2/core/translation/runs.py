"""
Exact runs: stretches of a source partition whose copies have consecutive offsets, too.

Between two gaps the difference of both offsets is constant, so that three numbers say where each of
a million records is. Gaps come from compaction, aborted transactions, commit markers of either
side, and records that were skipped.

Runs come in blocks. A block speaks of all source offsets from its start to its end: what it does
not name was not copied. So the offset behind a gap is known as exactly as one in a run. Where one
block ends before the next begins nothing is known, for example because a task was killed before it
could write, or because Java's MirrorMaker was at work meanwhile.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID
from zlib import crc32

_TENURE: Final = Struct(">4q")


@dataclass(frozen=True, slots=True)
class MappedOffset:
    """
    An offset in the other log.

    Attributes:
        offset: where to go on reading. What is unread stands there or later, never before.
        exact: whether the first record there is the first unread one.
    """

    offset: int
    exact: bool


class Passed(NamedTuple):
    """
    What is known of a source to a reader who is behind all of its copies.

    Attributes:
        since: the first source offset that is known without a hole up to ``end``.
        copied: the source offset behind the last record that was copied; None if none was.
        end: the source offset behind the last one that is known: copied, or left out.
    """

    since: int
    copied: int | None
    end: int


class Logs(NamedTuple):
    """The topic ids of both sides (KIP-516), as far as the brokers know such."""

    source: UUID | None = None
    remote: UUID | None = None

    def conflicts_with(self, logs: Logs) -> bool:
        """Whether one of the topics certainly is another one."""
        pairs = ((self.source, logs.source), (self.remote, logs.remote))
        return any(one != other and None not in (one, other) for one, other in pairs)

    def fill_from(self, logs: Logs) -> Logs:
        """These ids, and of what they do not know those of ``logs``."""
        return Logs(self.source or logs.source, self.remote or logs.remote)


UNKNOWN_LOGS: Final = Logs()


class TaskTenure(NamedTuple):
    """
    Since when a task has had a partition; later tasks have later ones.

    Attributes:
        epoch: of the leader that gave it the partition.
        generation: of the assignment that did.
        producer_epoch: of the task's transactional id; grows when a task is started again.
        since_ms: when the task took the partition on, by its own clock.
    """

    epoch: int
    generation: int
    producer_epoch: int
    since_ms: int

    def is_over(self, newest: TaskTenure) -> bool:
        """
        Whether a task of a later tenure has the partition by now.

        Both its number and its time must say so. Numbers begin anew with a control topic that was
        deleted, and clocks differ between machines.
        """
        return self[:-1] < newest[:-1] and self.since_ms < newest.since_ms

    @property
    def tag(self) -> int:
        """A number of 32 bits that hardly any other tenure has; never 0."""
        return crc32(_TENURE.pack(*self)) or 1


class BlockName(NamedTuple):
    """
    What no other block of its partition is called.

    Attributes:
        start: the first source offset that it speaks of.
        tag: of the tenure of the task that wrote it; 0 for no tenure, and in earlier releases.
    """

    start: int
    tag: int = 0


class Run(NamedTuple):
    """Records with consecutive offsets on both sides."""

    upstream: int
    downstream: int
    records: int

    @property
    def upstream_end(self) -> int:
        """Source offset behind its last record."""
        return self.upstream + self.records


class Runs:
    """Runs in ascending order on both sides, 24 bytes each."""

    __slots__ = ("_downstreams", "_records", "_upstreams")

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._upstreams, self._downstreams, self._records = array("q"), array("q"), array("q")
        for run in runs:
            self.append(run)

    @classmethod
    def of(
        cls, upstreams: Iterable[int], downstreams: Iterable[int], records: Iterable[int]
    ) -> Runs:
        """
        Takes runs column by column, of which none continues the one before it.

        Raises:
            OverflowError: a number is larger than 64 bits.
        """
        found = cls()
        found._upstreams = array("q", upstreams)
        found._downstreams = array("q", downstreams)
        found._records = array("q", records)
        return found

    def append(self, run: Run) -> None:
        """Adds a run behind the others; it becomes one with the last if nothing is in between."""
        if not self.lengthen(run):
            self._upstreams.append(run.upstream)
            self._downstreams.append(run.downstream)
            self._records.append(run.records)

    def lengthen(self, run: Run) -> bool:
        """Makes a run one with the last, if nothing is in between; False if something is."""
        if not self._records:
            return False
        count = self._records[-1]
        if (self._upstreams[-1] + count, self._downstreams[-1] + count) != run[:2]:
            return False
        self._records[-1] = count + run.records
        return True

    def extend(self, runs: Runs, first: int, most: int) -> int:
        """
        Adds at most so many of other runs from number ``first`` on, and returns how many.

        None of them continues the run before it.
        """
        end = min(len(runs), first + most)
        self._upstreams += runs._upstreams[first:end]
        self._downstreams += runs._downstreams[first:end]
        self._records += runs._records[first:end]
        return end - first

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: int) -> Run:
        return Run(self._upstreams[index], self._downstreams[index], self._records[index])

    def __iter__(self) -> Iterator[Run]:
        return map(Run, self._upstreams, self._downstreams, self._records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runs) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Runs({list(self)})"

    @property
    def upstream_end(self) -> int:
        """Source offset behind the last run."""
        return self._upstreams[-1] + self._records[-1]

    @property
    def downstream_end(self) -> int:
        """Remote offset behind the last run."""
        return self._downstreams[-1] + self._records[-1]

    def at_upstream(self, offset: int) -> int:
        """Index of the last run that begins at or before a source offset; -1 if there is none."""
        return bisect_right(self._upstreams, offset) - 1

    def at_downstream(self, offset: int) -> int:
        """Index of the last run that begins at or before a remote offset; -1 if there is none."""
        return bisect_right(self._downstreams, offset) - 1

    def before_upstream(self, end: int) -> Runs:
        """What lies before a source offset."""
        return self._first(bisect_left(self._upstreams, end), lambda run: end - run.upstream)

    def before_downstream(self, end: int) -> Runs:
        """What lies before a remote offset."""
        return self._first(bisect_left(self._downstreams, end), lambda run: end - run.downstream)

    def _first(self, number: int, most: Callable[[Run], int]) -> Runs:
        left = Runs()
        left._upstreams = self._upstreams[:number]
        left._downstreams = self._downstreams[:number]
        left._records = self._records[:number]
        if left:
            left._records[-1] = min(left._records[-1], most(left[-1]))
        return left


@dataclass(frozen=True, slots=True)
class Block:
    """
    What is known of the source offsets from ``start`` to the one before ``end``.

    Attributes:
        is_fresh: whether a task began with it, which need not know all that is on the target.
        is_sparse: whether runs were left out between the first and the last; approximate there.
        is_transactional: whether a commit marker follows the last record on the target.
        tenure: of the task that wrote it; None: a sparse block, or one of an earlier release.
        is_tagged: whether its name stands for its tenure; earlier releases told them in values
            only.
    """

    start: int
    end: int
    runs: Runs
    logs: Logs = UNKNOWN_LOGS
    is_fresh: bool = False
    is_sparse: bool = False
    is_transactional: bool = False
    tenure: TaskTenure | None = None
    is_tagged: bool = True

    @property
    def name(self) -> BlockName:
        """Its name, by which it is replaced as it grows."""
        return BlockName(self.start, self.tenure.tag if self.tenure and self.is_tagged else 0)

    def before(self, end: int) -> Block:
        """What it says of the offsets before a source offset."""
        is_whole = not self.runs or self.runs.upstream_end <= end
        return replace(
            self,
            end=min(self.end, end),
            runs=self.runs.before_upstream(end),
            is_transactional=self.is_transactional and is_whole,
        )

    def before_downstream(self, end: int) -> Block:
        """What it says of the copies before a remote offset."""
        runs = self.runs.before_downstream(end)
        if runs == self.runs:
            return self
        gone = self.runs[len(runs)].upstream if len(runs) < len(self.runs) else self.end
        if runs and runs[-1].records < self.runs[len(runs) - 1].records:
            gone = runs.upstream_end
        return replace(self, end=gone, runs=runs, is_transactional=False)
