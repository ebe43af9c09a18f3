"""
Which bundle gets which partition, over time: evenly, and with as few moves as that allows.

By load: a partition stays where it is until the measured loads have been uneven for two looks in a
row; then as few move as bring the loads well together, so that the next small change moves none.
Round robin deals out by number, as Java does, whenever the set of partitions changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Final

from mm2.core.balancing.assignment import DEFAULT_TOLERANCE, Bundle, pack, round_robin
from mm2.core.model import TopicPartition

_LOOKS: Final = 2
_GOAL: Final = 0.2
"""Difference between two bundles' loads that moves aim at, in units of the mean load."""

PARTITION_COST: Final = 1024.0
"""Bytes per second that even an idle partition counts as: noise is no reason to move."""


class Strategy(StrEnum):
    """How partitions are divided among bundles (``assignment.strategy``)."""

    LOAD = "load"
    ROUND_ROBIN = "round-robin"


@dataclass(slots=True)
class Balance:
    """
    Decides on the bundles of one flow.

    Attributes:
        strategy: how.
        bundles: most bundles.
        wanted: the decision as it stands; at the start, what an earlier leader decided.
    """

    strategy: Strategy
    bundles: int
    wanted: Sequence[Collection[TopicPartition]] = ()
    _uneven_looks: int = 0
    _is_running: bool = field(default=False, init=False)

    def place(self, partitions: Collection[TopicPartition]) -> tuple[Bundle, ...]:
        """
        Finds bundles for all partitions when there are new ones or some are gone.

        By load, nothing moves between bundles that run already. The first time nothing runs, and
        what an earlier leader decided is kept as far as it is even.
        """
        if self.strategy is Strategy.ROUND_ROBIN:
            packed = round_robin(partitions, self.bundles)
        else:
            tolerance = inf if self._is_running else DEFAULT_TOLERANCE
            packed = pack(partitions, self.bundles, {}, self.wanted, tolerance=tolerance)
        self._is_running = True
        self.wanted = packed
        return packed

    def reshape(
        self, strategy: Strategy, bundles: int, rates: Mapping[TopicPartition, float]
    ) -> None:
        """
        Goes on with another strategy or another number of bundles; ``wanted`` says what moves.

        By load, what is in bundles that are too many goes to the lightest ones, and new ones get
        from the heaviest until the loads are well together.

        Args:
            strategy: from now on.
            bundles: most bundles from now on.
            rates: bytes per second of the partitions, as far as known.
        """
        self.strategy, self.bundles, self._uneven_looks = strategy, bundles, 0
        partitions = [each for bundle in self.wanted for each in bundle]
        if strategy is Strategy.ROUND_ROBIN:
            self.wanted = round_robin(partitions, bundles)
        else:
            self.wanted = self._packed(self._costs(rates), _GOAL)

    def look(self, rates: Mapping[TopicPartition, float]) -> bool:
        """
        Looks whether the loads are even; says whether ``wanted`` has changed.

        Args:
            rates: bytes per second of the partitions, as far as known.
        """
        if self.strategy is Strategy.ROUND_ROBIN:
            return False
        costs = self._costs(rates)
        is_even = self._packed(costs, DEFAULT_TOLERANCE) == tuple(
            tuple(sorted(bundle)) for bundle in self.wanted
        )
        self._uneven_looks = 0 if is_even else self._uneven_looks + 1
        if self._uneven_looks < _LOOKS:
            return False
        self._uneven_looks = 0
        self.wanted = self._packed(costs, _GOAL)
        return True

    def _costs(self, rates: Mapping[TopicPartition, float]) -> dict[TopicPartition, float]:
        partitions = [each for bundle in self.wanted for each in bundle]
        return {each: rates[each] + PARTITION_COST for each in partitions if each in rates}

    def _packed(
        self, costs: Mapping[TopicPartition, float], tolerance: float
    ) -> tuple[Bundle, ...]:
        partitions = [each for bundle in self.wanted for each in bundle]
        return pack(partitions, self.bundles, costs, self.wanted, tolerance=tolerance)
