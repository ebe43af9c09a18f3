"""
Who copies what: a flow's partitions divided among its tasks.

``round_robin`` divides as Java's connector does. ``pack`` is for long-lived bundles,
where a partition that changes hands must first be drained and committed: it weighs partitions by
what they carry and moves as few of them as it can.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mm2.core.model import TopicPartition

Bundle = tuple[TopicPartition, ...]

DEFAULT_TOLERANCE: Final = 0.5
"""Difference between two bundles' loads, in units of the mean load, that is left alone."""


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
        partitions: all partitions to copy now.
        bundles: most bundles there may be; there are never more than partitions, unless there
            were before.
        weights: what each partition carries, in any unit, as bytes per second. Unknown ones count
            as the mean of the known ones.
        previous: the bundles as they are now.
        tolerance: difference of loads that is left alone, in units of the mean load.
    """
    wanted = sorted(set(partitions))
    loads = _effective_weights(wanted, weights)
    packed = [_BundleLoad(loads) for _ in range(min(bundles, max(len(wanted), len(previous))))]
    if not packed:
        return ()
    homeless = _keep_places(packed, previous, wanted)
    for partition in sorted(homeless, key=lambda each: (-loads[each], each)):
        min(packed, key=_lightest).add(partition)
    _level(packed, tolerance * sum(loads.values()) / len(packed))
    return tuple(tuple(sorted(load.partitions)) for load in packed)


@dataclass(slots=True)
class _BundleLoad:
    """One bundle while it is being packed."""

    weights: Mapping[TopicPartition, float]
    partitions: set[TopicPartition] = field(default_factory=set)
    total: float = 0.0

    def add(self, partition: TopicPartition) -> None:
        self.partitions.add(partition)
        self.total += self.weights[partition]

    def remove(self, partition: TopicPartition) -> None:
        self.partitions.remove(partition)
        self.total -= self.weights[partition]


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
    return {each: max(weights.get(each, mean), mean / 100) for each in partitions}


def _keep_places(
    packed: Sequence[_BundleLoad],
    previous: Sequence[Collection[TopicPartition]],
    wanted: Iterable[TopicPartition],
) -> set[TopicPartition]:
    """Leaves partitions where they are, and returns those that have no place."""
    homeless = set(wanted)
    for load, before in zip(packed, previous, strict=False):
        for partition in sorted(homeless.intersection(before)):
            load.add(partition)
        homeless.difference_update(before)
    return homeless


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
        better = [each for each in heavy.partitions if heavy.weights[each] < difference * 0.999]
        if better:
            goal = difference / 2
            best = min(better, key=lambda each: (abs(heavy.weights[each] - goal), each))
            return best, heavy, light
    return None
