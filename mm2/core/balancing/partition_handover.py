"""
Who holds each partition, and who may hold it next: at no time two bundles.

A bundle hears of a change at its leisure. So a partition that changes hands is first only taken
from the bundle that has it; the other one gets it when the first has said that it carried out an
assignment without it, which it says once everything is drained and committed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from mm2.core.model import TopicPartition


@dataclass(frozen=True, slots=True)
class _Leaving:
    """A partition that ``bundle`` does not have any more in assignments from ``generation`` on."""

    bundle: int
    generation: int


@dataclass(slots=True)
class Handover:
    """
    The assignments of one leader's epoch.

    Holds under every order of calls: a partition is in one bundle at most, and never in one while
    another may still be copying it.

    Attributes:
        generation: number of the last change.
    """

    held: list[set[TopicPartition]] = field(default_factory=list)
    generation: int = 0
    _leaving: dict[TopicPartition, _Leaving] = field(default_factory=dict)

    @property
    def is_pending(self) -> bool:
        """Whether partitions are still on their way out of a bundle."""
        return bool(self._leaving)

    def is_empty(self, bundle: int) -> bool:
        """Whether a bundle has nothing, and nothing on its way out either: it may end."""
        is_leaving = any(left.bundle == bundle for left in self._leaving.values())
        return not self.held[bundle] and not is_leaving

    def converge(
        self, planned: Sequence[Collection[TopicPartition]], idle: Collection[int] = ()
    ) -> set[int]:
        """
        Goes as far towards ``planned`` as is safe now; returns the bundles that are to be told.

        Call it again whenever ``carried_out`` has freed something.

        Args:
            planned: the partitions of each bundle, each partition in one bundle only.
            idle: bundles that copy nothing of what they are told to, and will not begin before they
                are told anew: what is taken from them is free at once.
        """
        self.held += [set() for _ in range(len(planned) - len(self.held))]
        goals = [set(bundle) for bundle in planned]
        goals += [set() for _ in range(len(self.held) - len(goals))]
        changed = {
            bundle
            for bundle, goal in enumerate(goals)
            if self._take_from(bundle, goal, is_idle=bundle in idle)
        }
        changed |= {bundle for bundle, goal in enumerate(goals) if self._give_to(bundle, goal)}
        if changed:
            self.generation += 1
        return changed

    def carried_out(self, bundle: int, generation: int) -> bool:
        """Learns which assignment a bundle has carried out; says whether that freed anything."""
        free = [
            partition
            for partition, left in self._leaving.items()
            if left.bundle == bundle and left.generation <= generation
        ]
        for partition in free:
            del self._leaving[partition]
        return bool(free)

    def _take_from(self, bundle: int, goal: AbstractSet[TopicPartition], *, is_idle: bool) -> bool:
        gone = self.held[bundle].difference(goal)
        if not is_idle:
            self._leaving |= dict.fromkeys(gone, _Leaving(bundle, self.generation + 1))
        self.held[bundle] -= gone
        return bool(gone)

    def _give_to(self, bundle: int, goal: AbstractSet[TopicPartition]) -> bool:
        new = {each for each in goal - self.held[bundle] if self._may_have(bundle, each)}
        for each in new:
            self._leaving.pop(each, None)
        self.held[bundle] |= new
        return bool(new)

    def _may_have(self, bundle: int, partition: TopicPartition) -> bool:
        left = self._leaving.get(partition)
        # It may go back where it comes from: that bundle sees one assignment after the other.
        return left is None or left.bundle == bundle
