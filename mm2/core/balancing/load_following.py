"""How many tasks a flow has with ``tasks.max=auto``: as many as what is to be copied needs."""

from __future__ import annotations

from collections.abc import Container, Hashable
from dataclasses import dataclass, field
from math import ceil
from typing import Final, NamedTuple

from mm2.core.model import TopicPartition

BEHIND_S: Final = 10.0
"""A flow that needs longer than this to copy what is there already is behind."""

_CALM_S: Final = 1.0
_LOOKS: Final = 2
_CALM_LOOKS: Final = 5
_GAIN: Final = 1.1
"""More tasks have to copy at least so many times as fast, or they go again."""

_GIVEN_UP_LOOKS: Final = 30
"""How long no more tasks are tried after some that did not help."""

_USE: Final = 0.5
"""With fewer tasks each may be as busy as this: what comes in bursts must find room."""


class _Reported(NamedTuple):
    run: Hashable
    records: int
    lag: int


@dataclass(slots=True)
class LoadFollowing:
    """
    Decides on the number of tasks from what they report.

    A flow that is behind for two looks in a row gets twice as many; they go again if they did not
    copy faster, as where a quota or the target is what holds it back. One that is not behind for
    five looks gets as few as had been enough for twice its rate.

    Attributes:
        tasks: how many the flow is to have.
        most: how many it can use, and may have.
        lag: records that are still to be copied, as of the last look.
        rate: records per second that were copied before the last look.
    """

    tasks: int = 1
    most: int = 1
    lag: int = 0
    rate: float = 0.0
    _reports: dict[TopicPartition, _Reported] = field(default_factory=dict)
    _copied: int = 0
    _looked_at: float | None = None
    _behind: int = 0
    _calm: int = 0
    _tried: tuple[int, float] | None = None
    """How many tasks there were before the last were added, and their rate."""

    _given_up: int = 0
    _best: float = 0.0
    """Most records per second that one task has copied while the flow was behind."""

    def observe(self, partition: TopicPartition, *, run: Hashable, records: int, lag: int) -> None:
        """
        Learns how far a partition is.

        Args:
            run: names the run of a task that reports.
            records: that this run has copied so far.
            lag: records that are still to be copied.
        """
        before = self._reports.get(partition)
        if before is not None:
            self._copied += records - before.records if run == before.run else records
        self._reports[partition] = _Reported(run, records, lag)

    def keep(self, partitions: Container[TopicPartition]) -> None:
        """Forgets all other partitions: the flow has them no more."""
        self._reports = {at: each for at, each in self._reports.items() if at in partitions}

    def look(self, now: float) -> bool:
        """
        Looks whether the number of tasks fits; says whether ``tasks`` has changed.

        Args:
            now: seconds of a clock that never goes back.
        """
        since, copied = self._looked_at, self._copied
        self.lag = sum(report.lag for report in self._reports.values())
        # A flow that has copied nothing may copy large batches, or wait for its target.
        if since is not None and (now <= since or (self.lag and not copied)):
            return False
        self._looked_at, self._copied = now, 0
        if since is None:
            return False
        self.rate = copied / (now - since)
        self._given_up = max(0, self._given_up - 1)
        before = self.tasks
        if self.lag > self.rate * BEHIND_S:
            self._look_behind()
        else:
            self._look_in_time()
        return self.tasks != before

    def _look_behind(self) -> None:
        self._calm, self._behind = 0, self._behind + 1
        if self._behind < _LOOKS:
            return
        self._behind = 0
        self._best = max(self._best, self.rate / self.tasks)
        tried, self._tried = self._tried, None
        if tried is not None and self.rate < tried[1] * _GAIN:
            self.tasks, self._given_up = tried[0], _GIVEN_UP_LOOKS
        elif not self._given_up and self.tasks < self.most:
            self._tried = self.tasks, self.rate
            self.tasks = min(2 * self.tasks, self.most)

    def _look_in_time(self) -> None:
        self._behind, self._tried = 0, None
        is_calm = self.lag <= self.rate * _CALM_S
        self._calm = self._calm + 1 if is_calm else 0
        if self._calm < _CALM_LOOKS:
            return
        self._calm = 0
        needed = ceil(self.rate / (_USE * self._best)) if self._best else self.tasks - 1
        self.tasks = max(1, min(self.tasks, needed))
