"""
Divides a flow's partitions among its tasks.

``round_robin`` divides as Java's connector does. ``pack`` is for long-lived bundles, where a
partition that changes hands must first be drained and committed: it weighs partitions by what they
carry and moves as few of them as it can.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from typing import Final

from mm2.core.model import TopicPartition

Bundle = tuple[TopicPartition, ...]

DEFAULT_TOLERANCE: Final = 0.5
"""Difference between two bundles' loads, in units of the mean load, that is left alone."""

_LEAST: Final = 0.01
"""What a partition counts at least, in units of the mean weight."""


def round_robin(partitions: Iterable[TopicPartition], tasks_max: int) -> tuple[Bundle, ...]:
    """
    Deals partitions out to at most ``tasks_max`` tasks, one after the other (C172, C173).

    Java deals them in the order of a hash map; here they are sorted first, so that every node comes
    to the same result (C174).
    """
    dealt = sorted(set(partitions))
    tasks = min(tasks_max, len(dealt))
    return tuple(tuple(dealt[task::tasks]) for task in range(tasks))


def pack(
    partitions: Collection[TopicPartition],
    bundles: int,
    weights: Mapping[TopicPartition, float],
    previous: Sequence[Collection[TopicPartition]] = (),
    *,
    tolerance: float = DEFAULT_TOLERANCE,
) -> tuple[Bundle, ...]:
    """
    Packs partitions into at most ``bundles`` bundles of about equal load.

    Bundle ``i`` continues ``previous[i]``, and may be empty where there is nothing worth moving. A
    partition leaves its bundle only if the bundle is gone, or if two bundles' loads differ by more
    than the tolerance and the move brings them closer.

    Args:
        bundles: most bundles there may be; there are never more than partitions, unless there
            were before.
        weights: what each partition carries, in any unit, as bytes per second. Unknown ones count
            as the mean of the known ones.
        tolerance: difference of loads that is left alone, in units of the mean load.
    """
    each_once = sorted(set(partitions))
    loads = _effective_weights(each_once, weights)
    packed = [_BundleLoad(loads) for _ in range(min(bundles, max(len(each_once), len(previous))))]
    if not packed:
        return ()
    _place(packed, _keep_places(packed, previous, each_once))
    _level(packed, tolerance * sum(loads.values()) / len(packed))
    return tuple(tuple(sorted(load.partitions)) for load in packed)


def is_even(
    known: Sequence[Sequence[float]],
    sizes: Sequence[int],
    *,
    tolerance: float = DEFAULT_TOLERANCE,
) -> bool:
    """
    Whether bundles' loads differ by no more than the tolerance, so that ``pack`` moves nothing.

    What is not even may yet be as even as it can be.

    Args:
        known: of each bundle, the weights that are known.
        sizes: of each bundle, how many partitions it has.
        tolerance: as for ``pack``.
    """
    count = sum(map(len, known))
    mean = sum(map(sum, known)) / count if count else 0.0
    if mean <= 0:
        totals = [float(size) for size in sizes]
    else:
        least = mean * _LEAST
        totals = [
            sum(max(weight, least) for weight in found) + mean * (size - len(found))
            for found, size in zip(known, sizes, strict=True)
        ]
    return not totals or are_close(
        min(totals), max(totals), total=sum(totals), count=len(totals), tolerance=tolerance
    )


def are_close(
    least: float, most: float, *, total: float, count: int, tolerance: float = DEFAULT_TOLERANCE
) -> bool:
    """Whether loads of ``count`` bundles, ``total`` together, differ by the tolerance at most."""
    return most - least <= tolerance * total / count


def least_share(total: float, partitions: int) -> float:
    """What a partition counts at least, where all of them together carry ``total``."""
    return _LEAST * total / partitions if partitions else 0.0


@dataclass(slots=True)
class _BundleLoad:
    """
    A bundle while it is packed.

    Attributes:
        partitions: a set in the order in which they came.
    """

    weights: Mapping[TopicPartition, float]
    partitions: dict[TopicPartition, None] = field(default_factory=dict)
    total: float = 0.0
    _by_weight: list[tuple[float, TopicPartition]] | None = None

    def add(self, partition: TopicPartition) -> None:
        self.partitions[partition] = None
        weight = self.weights[partition]
        self.total += weight
        if self._by_weight is not None:
            insort(self._by_weight, (weight, partition))

    def remove(self, partition: TopicPartition) -> None:
        del self.partitions[partition]
        weight = self.weights[partition]
        self.total -= weight
        if self._by_weight is not None:
            del self._by_weight[bisect_left(self._by_weight, (weight, partition))]

    def nearest(self, goal: float, most: float) -> TopicPartition | None:
        """The partition whose weight is nearest to ``goal``, and less than ``most``."""
        if self._by_weight is None:
            self._by_weight = sorted((self.weights[each], each) for each in self.partitions)
        ordered = self._by_weight
        above = bisect_left(ordered, (goal,))
        found = ordered[above : above + 1]
        if above:
            # Of equal weights the first partition in order counts, whichever way it is found.
            found.append(ordered[bisect_left(ordered, (ordered[above - 1][0],))])
        return min(
            ((abs(weight - goal), each) for weight, each in found if weight < most),
            default=(0.0, None),
        )[1]


def _lightest(load: _BundleLoad) -> tuple[float, int]:
    return load.total, len(load.partitions)


def _effective_weights(
    partitions: Sequence[TopicPartition], weights: Mapping[TopicPartition, float]
) -> dict[TopicPartition, float]:
    known = [weights[partition] for partition in partitions if partition in weights]
    mean = sum(known) / len(known) if known else 0.0
    if mean <= 0:
        return dict.fromkeys(partitions, 1.0)
    # A partition that is idle now still costs a little, so that idle ones are spread by number.
    least = mean * _LEAST
    return {each: max(weights.get(each, mean), least) for each in partitions}


def _keep_places(
    packed: Sequence[_BundleLoad],
    previous: Sequence[Collection[TopicPartition]],
    partitions: Iterable[TopicPartition],
) -> list[TopicPartition]:
    """Leaves partitions where they are, and returns those that have no place."""
    before: dict[TopicPartition, _BundleLoad] = {}
    for load, held in zip(packed, previous, strict=False):
        for partition in held:
            before.setdefault(partition, load)
    unplaced = []
    for partition in partitions:
        if (place := before.get(partition)) is None:
            unplaced.append(partition)
        else:
            place.add(partition)
    return unplaced


def _place(packed: Sequence[_BundleLoad], unplaced: list[TopicPartition]) -> None:
    """Gives each partition, the heaviest first, to the bundle that is the lightest then."""
    if not unplaced:
        return
    weights = packed[0].weights
    unplaced.sort(key=lambda each: -weights[each])  # stable: equal ones stay in order
    lightest = [(*_lightest(load), number) for number, load in enumerate(packed)]
    heapify(lightest)
    for partition in unplaced:
        load = packed[lightest[0][2]]
        load.add(partition)
        heapreplace(lightest, (*_lightest(load), lightest[0][2]))


def _level(packed: Sequence[_BundleLoad], allowed: float) -> None:
    """Moves partitions from heavy bundles to the lightest one while loads differ too much."""
    while (move := _best_move(packed, allowed)) is not None:
        partition, heavy, light = move
        heavy.remove(partition)
        light.add(partition)


def _best_move(
    packed: Sequence[_BundleLoad], allowed: float
) -> tuple[TopicPartition, _BundleLoad, _BundleLoad] | None:
    light = min(packed, key=_lightest)
    heavier = [load for load in packed if load.total - light.total > allowed]
    for heavy in sorted(heavier, key=_lightest, reverse=True):
        difference = heavy.total - light.total
        # Half the difference would make both equal; less than the whole makes both better. The
        # factor keeps rounding errors from moving one partition there and back.
        best = heavy.nearest(difference / 2, most=difference * 0.999)
        if best is not None:
            return best, heavy, light
    return None
