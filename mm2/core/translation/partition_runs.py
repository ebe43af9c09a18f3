"""Merges the blocks of a source partition; offsets that none covers are a hole."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import dropwhile
from typing import Final

from mm2.core.translation.runs import (
    UNKNOWN_LOGS,
    Block,
    BlockName,
    Logs,
    MappedOffset,
    Passed,
    Run,
    Runs,
    TaskTenure,
)

MOST_RUNS: Final = 16_384
"""Of one partition. Of more, the older half becomes sparse: 24 bytes each, 400 kB at the most."""

_THINNED: Final = 16
"""Of so many runs one is left in what becomes sparse."""


class PartitionRuns:
    """
    The runs of one source partition, as its blocks tell them in the order of their writing.

    The last copy of a record wins: a block that begins before the end of what is known replaces
    everything from there on. A block about other topics replaces everything. Not so a late block
    of a task that had been given up as dead: a later task has the partition, and knows better.

    Args:
        most: runs that are kept; of more, the older half becomes sparse.

    Attributes:
        version: grows with each block that comes or goes; all else stays as long as it does.
    """

    __slots__ = ("_blocks", "_is_of_known_logs", "_logs", "_most", "_tenure", "_weight", "version")

    def __init__(self, most: int = MOST_RUNS) -> None:
        self.version = 0
        self._most = most
        self._blocks: list[Block] = []
        self._logs = UNKNOWN_LOGS
        self._is_of_known_logs = True
        self._tenure: TaskTenure | None = None
        self._weight = 0

    @property
    def blocks(self) -> Sequence[Block]:
        """All blocks, by their offsets."""
        return self._blocks

    @property
    def logs(self) -> Logs:
        """The topics that the blocks are about, as far as any of them says so."""
        return self._logs if self._blocks else UNKNOWN_LOGS

    @property
    def is_of_known_logs(self) -> bool:
        """Whether the ids of both topics were known wherever there are runs: all are of one log."""
        return self._is_of_known_logs

    @property
    def marker(self) -> int | None:
        """The remote offset of the commit marker behind the last copy; None if there is none."""
        last = next((each for each in reversed(self._blocks) if each.runs), None)
        return last.runs.downstream_end if last is not None and last.is_transactional else None

    @property
    def exact_since(self) -> int | None:
        """The source offset from which on everything is known, up to the end; None: nothing is."""
        since = None
        for block in reversed(self._blocks):
            if block.is_sparse or since not in (None, block.end):
                break
            since = block.start
        return since

    def add(self, block: Block) -> bool:
        """
        Takes in the next block that was written; one of the same start replaces the former.

        Returns whether it counts: not if its task had lost the partition when it was written.
        """
        if block.tenure and self._tenure and block.tenure.is_over(self._tenure):
            return False
        self.version += 1
        self._take(block)
        self._tenure = block.tenure or self._tenure
        return True

    def _take(self, block: Block) -> None:
        others = bool(self._blocks) and block.logs.conflicts_with(self._logs)
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
        self._weight += _weight(block)
        if self._weight > self._most:
            self._thin()

    def remove(self, name: BlockName) -> None:
        """Forgets the block that has this name, if there is one."""
        self.version += 1
        self._keep([block for block in self._blocks if block.name != name])

    def translate(self, upstream: int) -> MappedOffset | None:
        """Where a reader goes on that would read this source offset next; None: not known."""
        index = bisect_right(self._blocks, upstream, key=lambda block: block.start) - 1
        if index < 0:
            return None
        block = self._blocks[index]
        at = block.runs.at_upstream(upstream)
        if at >= 0 and upstream < (run := block.runs[at]).upstream + run.records:
            return MappedOffset(run.downstream + upstream - run.upstream, exact=True)
        after, before = self._after(index, at), self._before(index, at)
        is_open = block.is_sparse and at >= 0
        if not is_open and after is not None and self._are_joined(index, after[0]):
            return MappedOffset(after[1].downstream, exact=True)
        if before is None:
            return None
        is_end = after is None and not is_open and upstream <= self._blocks[-1].end
        last, run = before
        known = is_end and not self._blocks[last].is_sparse and self._are_joined(last, None)
        return MappedOffset(run.downstream + run.records, exact=known)

    def reverse(self, downstream: int) -> MappedOffset | None:
        """Where a reader of the copy goes on in the source; None: not known."""
        index, at = self._at_downstream(downstream)
        if index < 0:
            return None
        block, run = self._blocks[index], self._blocks[index].runs[at]
        if downstream < run.downstream + run.records:
            return MappedOffset(run.upstream + downstream - run.downstream, exact=True)
        after, end = self._after(index, at), run.upstream + run.records
        if after is None:
            behind = downstream - run.downstream - run.records
            known = not block.is_sparse and behind <= block.is_transactional
            return MappedOffset(end, exact=known and self._are_joined(index, None))
        fresh = any(each.is_fresh for each in self._blocks[index + 1 : after[0] + 1])
        if block.is_sparse or fresh or not self._are_joined(index, after[0]):
            return MappedOffset(end, exact=False)
        return MappedOffset(after[1].upstream, exact=True)

    def passed(self, downstream: int) -> Passed | None:
        """How far the source is copied, if all copies lie before a remote offset; None if not."""
        if not self._blocks:
            return None
        index = next((n for n in reversed(range(len(self._blocks))) if self._blocks[n].runs), 0)
        block = self._blocks[index]
        if block.is_sparse or (block.runs and downstream < block.runs.downstream_end):
            return None
        if not self._are_joined(index, None):
            return None
        copied = block.runs.upstream_end if block.runs else None
        return Passed(block.start, copied, self._blocks[-1].end)

    def copies_none(self, upstream: int, start: int, end: int) -> bool:
        """Whether of the source's log, from start to end, none is copied from an offset on."""
        if not self._blocks or self._blocks[-1].end < end:
            return False
        index = next((n for n in reversed(range(len(self._blocks))) if self._blocks[n].runs), 0)
        block = self._blocks[index]
        if block.is_sparse or not self._are_joined(index, None):
            return False
        return block.runs.upstream_end <= upstream if block.runs else block.start <= start

    def _keep(self, blocks: list[Block]) -> None:
        self._blocks = blocks
        self._weight = sum(map(_weight, blocks))

    def _put(self, index: int, block: Block) -> None:
        self._weight += _weight(block) - _weight(self._blocks[index])
        self._blocks[index] = block

    def _forget(self) -> None:
        self._keep([])
        self._logs = UNKNOWN_LOGS
        self._is_of_known_logs = True

    def _note(self, block: Block) -> None:
        """Remembers the last ids that were known: a task begins with a block that knows none."""
        self._logs = block.logs.fill_from(self._logs)
        if block.runs and None in block.logs:
            self._is_of_known_logs = False

    def _cut(self, block: Block) -> None:
        """Forgets what a new block speaks of, on either side."""
        while self._blocks and self._blocks[-1].start >= block.start:
            self._weight -= _weight(self._blocks.pop())
        if self._blocks and self._blocks[-1].end > block.start:
            self._put(-1, self._blocks[-1].before(block.start))
        if block.runs:
            self._cut_downstream(block.runs[0].downstream)

    def _cut_downstream(self, end: int) -> None:
        """Forgets copies that were lost when the remote log's end was cut off."""
        for index in range(len(self._blocks) - 1, -1, -1):
            if not (block := self._blocks[index]).runs:
                continue
            if block.runs.downstream_end <= end:
                return  # So do all before it.
            self._put(index, block.before_downstream(end))

    def _replace(self, block: Block) -> None:
        for each in self._blocks:
            if each.end > block.end and each.start < block.end:
                block = block.before(each.start)
        if block.end <= block.start:
            return
        kept = [each for each in self._blocks if each.start < block.start or each.end > block.end]
        kept = [each if each.start >= block.start else each.before(block.start) for each in kept]
        self._keep(sorted([*kept, block], key=lambda each: each.start))

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
        self._keep([*([_sparse(old)] if old else []), *self._blocks[number:]])

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
    runs = Runs(run for each in blocks for run in list(each.runs)[::_THINNED])
    logs = next(each.logs for each in reversed(blocks) if each.runs)
    return Block(blocks[0].start, blocks[-1].end, runs, logs, is_sparse=True)


def _weight(block: Block) -> int:
    """Blocks without runs take memory, too."""
    return len(block.runs) + 1
