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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Final, NamedTuple
from uuid import UUID

MOST_RUNS: Final = 16_384
"""Of one partition. Of more, the older half becomes sparse: 24 bytes each, 400 kB at the most."""

_THINNED: Final = 16
"""Of so many runs one is left in what becomes sparse."""


@dataclass(frozen=True, slots=True)
class Translated:
    """
    An offset in the other log.

    Attributes:
        offset: where to go on reading. What is unread stands there or later, never before.
        exact: whether the first record there is the first unread one.
    """

    offset: int
    exact: bool


class Logs(NamedTuple):
    """The topic ids of both sides (KIP-516), as far as the brokers know such."""

    source: UUID | None = None
    remote: UUID | None = None

    def are_others(self, logs: Logs) -> bool:
        """Whether one of the topics certainly is another one."""
        pairs = ((self.source, logs.source), (self.remote, logs.remote))
        return any(one != other and None not in (one, other) for one, other in pairs)

    def or_else(self, logs: Logs) -> Logs:
        """These ids, and of what they do not know those of ``logs``."""
        return Logs(self.source or logs.source, self.remote or logs.remote)


UNKNOWN_LOGS: Final = Logs()


class Run(NamedTuple):
    """Records with consecutive offsets on both sides."""

    upstream: int
    downstream: int
    records: int


class Runs:
    """
    Runs in ascending order on both sides, 24 bytes each.

    Args:
        runs: the first ones.
    """

    __slots__ = ("_downstreams", "_records", "_upstreams")

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._upstreams, self._downstreams, self._records = array("q"), array("q"), array("q")
        for run in runs:
            self.append(run)

    def append(self, run: Run) -> None:
        """Adds a run behind the others; it becomes one with the last if nothing is in between."""
        if self._records and self._follows(run):
            self._records[-1] += run.records
            return
        self._upstreams.append(run.upstream)
        self._downstreams.append(run.downstream)
        self._records.append(run.records)

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

    def _follows(self, run: Run) -> bool:
        return run.upstream == self.upstream_end and run.downstream == self.downstream_end


@dataclass(frozen=True, slots=True)
class Block:
    """
    What is known of the source offsets from ``start`` to ``end``.

    Attributes:
        start: the first source offset that it speaks of; names the block in its partition.
        end: the offset behind the last one.
        runs: what was copied of them.
        logs: of which topics.
        is_fresh: whether a task began with it, which need not know all that is on the target.
        is_sparse: whether runs were left out between the first and the last; approximate there.
        is_transactional: whether a commit marker follows the last record on the target.
    """

    start: int
    end: int
    runs: Runs
    logs: Logs = UNKNOWN_LOGS
    is_fresh: bool = False
    is_sparse: bool = False
    is_transactional: bool = False

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


class PartitionRuns:
    """
    The runs of one source partition, as its blocks tell them in the order of their writing.

    The last copy of a record wins: a block that begins before the end of what is known replaces
    everything from there on. A block about other topics replaces everything.

    Args:
        most: runs that are kept; of more, the older half becomes sparse.
    """

    __slots__ = ("_blocks", "_is_of_known_logs", "_logs", "_most")

    def __init__(self, most: int = MOST_RUNS) -> None:
        self._most = most
        self._blocks: list[Block] = []
        self._logs = UNKNOWN_LOGS
        self._is_of_known_logs = True

    @property
    def blocks(self) -> Sequence[Block]:
        """All blocks, by their offsets."""
        return self._blocks

    @property
    def is_of_known_logs(self) -> bool:
        """Whether the ids of both topics were known wherever there are runs: all are of one log."""
        return self._is_of_known_logs

    @property
    def exact_since(self) -> int | None:
        """The source offset from which on everything is known, up to the end; None: nothing is."""
        since = None
        for block in reversed(self._blocks):
            if block.is_sparse or since not in (None, block.end):
                break
            since = block.start
        return since

    def add(self, block: Block) -> None:
        """Takes in the next block that was written; one of the same start replaces the former."""
        others = bool(self._blocks) and block.logs.are_others(self._logs)
        if block.is_sparse and others:
            return
        if others:
            self._forget()
        self._note(block)
        if block.is_sparse:
            self._replace(block)
            return
        self._cut(block)
        self._blocks.append(block)
        if sum(map(_weight, self._blocks)) > self._most:
            self._thin()

    def remove(self, start: int) -> None:
        """Forgets the block that has this start, if there is one."""
        self._blocks = [block for block in self._blocks if block.start != start]

    def translate(self, upstream: int) -> Translated | None:
        """Where a reader goes on that would read this source offset next; None: not known."""
        index = bisect_right(self._blocks, upstream, key=lambda block: block.start) - 1
        if index < 0:
            return None
        block = self._blocks[index]
        at = block.runs.at_upstream(upstream)
        if at >= 0 and upstream < (run := block.runs[at]).upstream + run.records:
            return Translated(run.downstream + upstream - run.upstream, exact=True)
        after, before = self._after(index, at), self._before(index, at)
        is_open = block.is_sparse and at >= 0
        if not is_open and after is not None and self._are_joined(index, after[0]):
            return Translated(after[1].downstream, exact=True)
        if before is None:
            return None
        is_end = after is None and not is_open and upstream <= self._blocks[-1].end
        last, run = before
        known = is_end and not self._blocks[last].is_sparse and self._are_joined(last, None)
        return Translated(run.downstream + run.records, exact=known)

    def reverse(self, downstream: int) -> Translated | None:
        """Where a reader of the copy goes on in the source; None: not known."""
        index, at = self._at_downstream(downstream)
        if index < 0:
            return None
        block, run = self._blocks[index], self._blocks[index].runs[at]
        if downstream < run.downstream + run.records:
            return Translated(run.upstream + downstream - run.downstream, exact=True)
        after, end = self._after(index, at), run.upstream + run.records
        if after is None:
            behind = downstream - run.downstream - run.records
            known = not block.is_sparse and behind <= block.is_transactional
            return Translated(end, exact=known and self._are_joined(index, None))
        fresh = any(each.is_fresh for each in self._blocks[index + 1 : after[0] + 1])
        if block.is_sparse or fresh or not self._are_joined(index, after[0]):
            return Translated(end, exact=False)
        return Translated(after[1].upstream, exact=True)

    def _forget(self) -> None:
        self._blocks = []
        self._logs = UNKNOWN_LOGS
        self._is_of_known_logs = True

    def _note(self, block: Block) -> None:
        """Remembers the last ids that were known: a task begins with a block that knows none."""
        self._logs = block.logs.or_else(self._logs)
        if block.runs and None in block.logs:
            self._is_of_known_logs = False

    def _cut(self, block: Block) -> None:
        """Forgets what a new block speaks of, on either side."""
        while self._blocks and self._blocks[-1].start >= block.start:
            self._blocks.pop()
        if self._blocks and self._blocks[-1].end > block.start:
            self._blocks[-1] = self._blocks[-1].before(block.start)
        if block.runs:
            self._cut_downstream(block.runs[0].downstream)

    def _cut_downstream(self, end: int) -> None:
        """Forgets copies that were lost when the remote log's end was cut off."""
        for index, block in enumerate(self._blocks):
            if block.runs and block.runs.downstream_end > end:
                self._blocks[index] = block.before_downstream(end)

    def _replace(self, block: Block) -> None:
        """Puts a sparse block where the blocks are that it was made of."""
        for each in self._blocks:
            if each.end > block.end and each.start < block.end:
                block = block.before(each.start)
        if block.end <= block.start:
            return
        kept = [each for each in self._blocks if each.start < block.start or each.end > block.end]
        kept = [each if each.start >= block.start else each.before(block.start) for each in kept]
        self._blocks = sorted([*kept, block], key=lambda each: each.start)

    def _thin(self) -> None:
        """
        Makes one sparse block of the older half.

        It begins with the first block that has runs. Between one without and that there may be a
        hole, which would not be seen any more.
        """
        number, seen = 0, 0
        while number < len(self._blocks) - 1 and seen < self._most // 2:
            seen += _weight(self._blocks[number])
            number += 1
        old = list(dropwhile(lambda each: not each.runs, self._blocks[:number]))
        self._blocks[:number] = [_sparse(old)] if old else []

    def _at_downstream(self, offset: int) -> tuple[int, int]:
        for index in range(len(self._blocks) - 1, -1, -1):
            at = self._blocks[index].runs.at_downstream(offset)
            if at >= 0:
                return index, at
        return -1, -1

    def _after(self, index: int, at: int) -> tuple[int, Run] | None:
        """The next run behind one, and the index of its block."""
        if at + 1 < len(self._blocks[index].runs):
            return index, self._blocks[index].runs[at + 1]
        for later in range(index + 1, len(self._blocks)):
            if self._blocks[later].runs:
                return later, self._blocks[later].runs[0]
        return None

    def _before(self, index: int, at: int) -> tuple[int, Run] | None:
        """A run, or the one before if it is none, and the index of its block."""
        if at >= 0:
            return index, self._blocks[index].runs[at]
        for earlier in range(index - 1, -1, -1):
            if self._blocks[earlier].runs:
                return earlier, self._blocks[earlier].runs[-1]
        return None

    def _are_joined(self, first: int, last: int | None) -> bool:
        """Whether nothing is unknown between two blocks; None is the last one."""
        end = len(self._blocks) - 1 if last is None else last
        return all(
            self._blocks[each].end == self._blocks[each + 1].start for each in range(first, end)
        )


def _sparse(blocks: Sequence[Block]) -> Block:
    """One block with some of the runs of several, of which the first has any."""
    runs = Runs(run for each in blocks for run in list(each.runs)[::_THINNED])
    logs = next(each.logs for each in reversed(blocks) if each.runs)
    return Block(blocks[0].start, blocks[-1].end, runs, logs, is_sparse=True)


def _weight(block: Block) -> int:
    """Blocks without runs take memory, too."""
    return len(block.runs) + 1
