"""How many tasks a flow has with ``tasks.max=auto``: as many as what is to be copied needs."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from math import ceil
from typing import Final, NamedTuple

from mm2.core.first_copy import is_behind
from mm2.core.model import NO_OFFSET, TopicPartition

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
    position: int
    lag: int


@dataclass(slots=True)
class AutoTaskCount:
    """
    Decides on the number of tasks from what they report.

    A flow that is behind for two looks in a row gets twice as many; they go again if they did not
    copy faster, as where a quota or the target is what holds it back. One that is not behind for
    five looks gets fewer, half of them at least, if these are enough for twice its rate.

    Attributes:
        tasks: how many the flow is to have.
        most: how many it can use, and may have.
        lag: source offsets that are still to be copied, as of the last look.
        rate: source offsets per second that were copied, or left out, before the last look.
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
    _pace: float = 0.0
    """Offsets per second that one task has copied when the flow was behind last."""

    _partitions: Container[TopicPartition] | None = None

    def observe(self, partition: TopicPartition, *, position: int, lag: int) -> None:
        """
        Learns how far a partition is.

        Args:
            position: source offset of the last record that was copied; -1 if not known yet.
            lag: source offsets that are still to be copied.
        """
        if self._partitions is not None and partition not in self._partitions:
            return
        before = self._reports.get(partition)
        if before is not None and before.position != NO_OFFSET:
            self._copied += max(0, position - before.position)
        self._reports[partition] = _Reported(position, lag)

    def keep(self, partitions: Container[TopicPartition]) -> None:
        """Forgets all other partitions: the flow has them no more, whatever tasks still report."""
        self._partitions = partitions
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
        if is_behind(self.lag, self.rate):
            self._look_behind()
        else:
            self._look_in_time()
        return self.tasks != before

    def _look_behind(self) -> None:
        self._calm, self._behind = 0, self._behind + 1
        if self._behind < _LOOKS:
            return
        self._behind = 0
        self._pace = self.rate / self.tasks
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
        needed = ceil(self.rate / (_USE * self._pace)) if self._pace else self.tasks - 1
        self.tasks = min(self.tasks, max(needed, ceil(self.tasks / 2)))
