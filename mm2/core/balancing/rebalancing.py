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

from mm2.core.balancing.assignment import (
    DEFAULT_TOLERANCE,
    Bundle,
    are_close,
    is_even,
    least_share,
    pack,
    round_robin,
)
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
        planned: the decision as it stands; at the start, what an earlier leader decided.
    """

    strategy: Strategy
    bundles: int
    planned: Sequence[Collection[TopicPartition]] = ()
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
            packed = pack(partitions, self.bundles, {}, self.planned, tolerance=tolerance)
        self._is_running = True
        self.planned = packed
        return packed

    def reshape(
        self, strategy: Strategy, bundles: int, rates: Mapping[TopicPartition, float]
    ) -> None:
        """
        Goes on with another strategy or another number of bundles; ``planned`` says what moves.

        By load, what is in bundles that are too many goes to the lightest ones, and new ones get
        from the heaviest until the loads are well together.

        Args:
            rates: bytes per second of the partitions, as far as known.
        """
        self.strategy, self.bundles, self._uneven_looks = strategy, bundles, 0
        partitions = [each for bundle in self.planned for each in bundle]
        if strategy is Strategy.ROUND_ROBIN:
            self.planned = round_robin(partitions, bundles)
        else:
            self.planned = self._packed(self._costs(rates), _GOAL)

    def is_certainly_even(self, sums: Mapping[int, float]) -> bool:
        """
        Whether the loads are even, as sums of bundles tell without a look at each partition.

        Args:
            sums: bytes per second of the bundles that have reported; others carry nothing.
        """
        sizes = [len(bundle) for bundle in self.planned]
        least = [sums.get(number, 0.0) + PARTITION_COST * size for number, size in enumerate(sizes)]
        extra = least_share(sum(least), sum(sizes))
        most = [load + extra * size for load, size in zip(least, sizes, strict=True)]
        is_even = not least or are_close(min(least), max(most), total=sum(least), count=len(least))
        if is_even:
            self._uneven_looks = 0
        return is_even

    def look(self, rates: Mapping[TopicPartition, float]) -> bool:
        """
        Looks whether the loads are even; says whether ``planned`` has changed.

        Args:
            rates: bytes per second of the partitions, as far as known.
        """
        if self.strategy is Strategy.ROUND_ROBIN:
            return False
        self._uneven_looks = 0 if self._stays(rates) else self._uneven_looks + 1
        if self._uneven_looks < _LOOKS:
            return False
        self._uneven_looks = 0
        self.planned = self._packed(self._costs(rates), _GOAL)
        return True

    def _stays(self, rates: Mapping[TopicPartition, float]) -> bool:
        """Whether nothing would move; usually one look at each rate tells."""
        known = [
            [rates[each] + PARTITION_COST for each in bundle if each in rates]
            for bundle in self.planned
        ]
        if is_even(known, [len(bundle) for bundle in self.planned]):
            return True
        packed = self._packed(self._costs(rates), DEFAULT_TOLERANCE)
        return packed == tuple(tuple(sorted(bundle)) for bundle in self.planned)

    def _costs(self, rates: Mapping[TopicPartition, float]) -> dict[TopicPartition, float]:
        partitions = [each for bundle in self.planned for each in bundle]
        return {each: rates[each] + PARTITION_COST for each in partitions if each in rates}

    def _packed(
        self, costs: Mapping[TopicPartition, float], tolerance: float
    ) -> tuple[Bundle, ...]:
        partitions = [each for bundle in self.planned for each in bundle]
        return pack(partitions, self.bundles, costs, self.planned, tolerance=tolerance)
