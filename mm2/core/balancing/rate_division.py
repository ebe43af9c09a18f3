"""
Max-min fair division of a flow's byte rate among its tasks.

The leader of a flow sees what its tasks use of their shares, and says which portion of the flow's
rate each is to have; every task makes its own share of it. Until the leader has spoken of exactly
those tasks that have partitions, they share equally.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

_HUNGRY: Final = 0.8
"""Who uses this part of its share may need more."""

_ROOM: Final = 1.5
"""What a task that needs less is left, as a multiple of what it uses."""

_LEAST: Final = 0.2
"""Of an equal share: what every task is left, so that it can begin at once."""


@dataclass(slots=True)
class FlowRate:
    """
    What one task may take of the byte rate of its flow.

    Attributes:
        configured: the flow's rate as the configuration has it, in bytes per second; negative: no
            limit.
    """

    task: int
    configured: int
    _sharers: set[int] = field(default_factory=set)
    _portions: Mapping[int, float] = field(default_factory=dict)

    def holds(self, task: int, *, something: bool) -> None:
        """Learns whether a task has partitions."""
        if something:
            self._sharers.add(task)
        else:
            self._sharers.discard(task)

    def divided(self, portions: Mapping[int, float]) -> None:
        """Learns which portions of the rate the leader gives the tasks."""
        self._portions = portions

    @property
    def sharers(self) -> int:
        """How many tasks have partitions."""
        return len(self._sharers)

    @property
    def share(self) -> float | None:
        """Bytes per second for the task; None is no limit."""
        if self.configured < 0:
            return None
        if self.task in self._portions and self._portions.keys() == self._sharers:
            return self.configured * self._portions[self.task]
        return self.configured / max(1, len(self._sharers))


def portions(shares: Mapping[int, float], used: Mapping[int, float]) -> dict[int, float]:
    """
    The portions that suit what tasks use of their shares; together they are 1.

    A task that uses less than most of its share is left some more than it uses; the others share
    what remains equally. If none needs more, all are left the same in addition.

    Args:
        shares: what each task may take now, in bytes per second.
        used: what each takes; nothing if it is not named.
    """
    total = sum(shares.values())
    if not shares or total <= 0:
        return {}
    least = _LEAST * total / len(shares)
    needs = {
        task: math.inf if used.get(task, 0.0) >= _HUNGRY * share else used.get(task, 0.0) * _ROOM
        for task, share in shares.items()
    }
    granted = _granted(total, {task: max(least, need) for task, need in needs.items()})
    spare = (total - sum(granted.values())) / len(granted)
    return {task: (each + spare) / total for task, each in granted.items()}


def _granted(total: float, needs: Mapping[int, float]) -> dict[int, float]:
    """What each gets of a total: the smallest need first, and none more than an equal part."""
    granted: dict[int, float] = {}
    left = total
    for number, (task, need) in enumerate(sorted(needs.items(), key=lambda item: item[1])):
        granted[task] = min(need, left / (len(needs) - number))
        left -= granted[task]
    return granted


def differ(before: Mapping[int, float], after: Mapping[int, float], *, by: float) -> bool:
    """Whether portions differ by so much that tasks should be told."""
    tasks: Iterable[int] = before.keys() | after.keys()
    return before.keys() != after.keys() or any(abs(before[t] - after[t]) > by for t in tasks)
