"""
Gathers the exact runs of one partition as a task copies it, and cuts them into blocks.

One block is open and is written anew as it grows; a full one is written a last time. So a record of
the topic is small, and what a task remembers does not grow with the log.
"""

from __future__ import annotations

from typing import Final

from mm2.core.model import NO_OFFSET
from mm2.core.translation.runs import UNKNOWN_LOGS, Block, Logs, Run, Runs, TaskTenure

FULL: Final = 64
"""Runs of a block: some hundred bytes, which are written and read a few times until it is full."""

_MOST_WAITING: Final = 256
"""Full blocks that wait to be written; older ones are given up, which leaves a hole."""

_GROWN: Final = 4
"""An open block is worth writing when it has so much of its runs more: a quarter."""


class RunTracker:
    """
    The runs of one partition from where a task began.

    Args:
        is_transactional: whether each commit leaves a marker on the target.

    Attributes:
        given_up: runs that waited too long to be written, in all; they are in holes.
    """

    __slots__ = (
        "_closed",
        "_end",
        "_full",
        "_is_fresh",
        "_is_transactional",
        "_logs",
        "_published",
        "_runs",
        "_start",
        "_tenure",
        "_written",
        "given_up",
    )

    def __init__(
        self, *, is_transactional: bool = False, full: int = FULL, tenure: TaskTenure | None = None
    ) -> None:
        self._tenure = tenure
        self._is_transactional = is_transactional
        self._full = full
        self._closed: list[Block] = []
        self._start: int | None = None
        self._end = self._written = NO_OFFSET
        self._runs = Runs()
        self._is_fresh = True
        self._logs = UNKNOWN_LOGS
        self._published = self.given_up = 0

    def begin(self, offset: int) -> None:
        """Everything from this source offset on will be told, whatever was told before."""
        self._close()
        self._begin(offset, is_fresh=True)

    def add(self, run: Run, logs: Logs) -> None:
        """Notes that the target has some records, after all that were noted before."""
        if run.upstream != self._end or logs != self._logs or not self._runs.lengthen(run):
            self._append(run, logs)
        self._end = run.upstream_end

    def add_all(self, runs: Runs, logs: Logs) -> None:
        """Notes runs of which none continues the one before it, as ``add`` does one by one."""
        if not runs:
            return
        self.add(runs[0], logs)
        added = 1
        while added < len(runs):
            self._make_room(runs[added].upstream)
            added += self._runs.extend(runs, added, self._full - len(self._runs))
        self._end = runs.upstream_end

    def lose(self, first: int, end: int) -> None:
        """Notes that records were copied, but not where to; they are a hole between two blocks."""
        if self._start is not None:
            self._end = max(self._end, first)
        self.begin(end)

    def cover(self, end: int) -> None:
        """Notes that everything before ``end`` was told: what was not is not on the target."""
        if self._start is not None:
            self._end = max(self._end, end)

    def take(self, *, grown: bool = False) -> list[Block]:
        """
        What is to be written now, in this order; it counts as written.

        Args:
            grown: leaves out an open block that has hardly more runs than when it was written.
        """
        blocks, self._closed = self._closed, []
        if self._start is not None and self._end > self._written and (self._has_grown or not grown):
            blocks.append(self._block())
            self._written, self._published = self._end, len(self._runs)
        return blocks

    def give_back(self, blocks: list[Block]) -> None:
        """Notes that blocks were not written after all: they will be taken again."""
        closed = [block for block in blocks if block.start != self._start]
        if len(closed) < len(blocks):
            self._written, self._published = NO_OFFSET, 0
        self._wait([*closed, *self._closed])

    @property
    def _has_grown(self) -> bool:
        return len(self._runs) - self._published >= self._published // _GROWN

    def _wait(self, blocks: list[Block]) -> None:
        given_up = blocks[:-_MOST_WAITING]
        self.given_up += sum(len(block.runs) for block in given_up)
        self._closed = blocks[len(given_up) :]

    def _begin(self, offset: int, *, is_fresh: bool) -> None:
        self._start = self._end = offset
        # Even before it has runs: what earlier tasks told of the offsets from there on is over.
        self._written = offset - 1 if is_fresh else offset
        self._runs = Runs()
        self._published = 0
        self._is_fresh = is_fresh

    def _close(self) -> None:
        if self._start is not None and self._end > self._written:
            self._wait([*self._closed, self._block()])

    def _block(self) -> Block:
        assert self._start is not None  # noqa: S101 - asked before
        return Block(
            start=self._start,
            end=self._end,
            runs=self._runs.before_upstream(self._end),
            logs=self._logs,
            is_fresh=self._is_fresh,
            is_transactional=self._is_transactional and bool(self._runs),
            tenure=self._tenure,
        )

    def _is_elsewhere(self, run: Run, logs: Logs) -> bool:
        """Whether there are other topics now, or the end of the remote log was cut off."""
        if not self._runs:
            return False
        return logs != self._logs or run.downstream < self._runs.downstream_end

    def _append(self, run: Run, logs: Logs) -> None:
        if self._start is None or run.upstream < self._end or self._is_elsewhere(run, logs):
            self.begin(run.upstream)
        self._logs = logs
        self._make_room(run.upstream)
        self._runs.append(run)

    def _make_room(self, offset: int) -> None:
        """Begins another block at ``offset`` if this one is full."""
        if len(self._runs) >= self._full:
            self._end = offset
            self._close()
            self._begin(offset, is_fresh=False)
