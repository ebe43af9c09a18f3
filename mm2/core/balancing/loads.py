"""What each partition carries, measured: a moving average of bytes per second."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import exp

from mm2.core.model import TopicPartition


@dataclass(slots=True)
class _PartitionLoad:
    run: Hashable
    total: int
    rate: float
    at_ms: int


@dataclass(slots=True)
class Loads:
    """
    Averages of the bytes per second of partitions, from totals that are reported now and then.

    Exponentially weighted: what is ``window_ms`` old counts 1/e. A partition that nobody reports
    on carries nothing, because totals are reported when they change.
    """

    window_ms: int
    _loads: dict[TopicPartition, _PartitionLoad] = field(default_factory=dict)

    def observe(self, partition: TopicPartition, *, run: Hashable, total: int, at_ms: int) -> int:
        """
        Learns the bytes that a run of a task has copied so far; returns those that are new.

        Args:
            run: names the run that counted; each one counts from zero.
            at_ms: when; reports that come out of order count as simultaneous.
        """
        before = self._loads.get(partition)
        if before is None:
            self._loads[partition] = _PartitionLoad(run, total, total / self._window_s, at_ms)
            return total
        added = total - before.total if run == before.run else total
        at_ms = max(at_ms, before.at_ms)
        before.rate = self._faded(before, at_ms) + added / self._window_s
        before.run, before.total, before.at_ms = run, total, at_ms
        return added

    def rates(self, at_ms: int) -> dict[TopicPartition, float]:
        """Bytes per second of every partition that was ever reported."""
        return {partition: self._faded(load, at_ms) for partition, load in self._loads.items()}

    @property
    def _window_s(self) -> float:
        return self.window_ms / 1000

    def _faded(self, load: _PartitionLoad, at_ms: int) -> float:
        return load.rate * exp(-max(0, at_ms - load.at_ms) / self.window_ms)


@dataclass(slots=True)
class BundleLoads:
    """
    The same averages of whole bundles, which cost nothing for partitions that are idle.

    What a partition has carried stays with the bundle that copied it then, until it fades.
    """

    window_ms: int
    _rates: dict[int, tuple[float, int]] = field(default_factory=dict)

    def add(self, bundle: int, added: int, *, at_ms: int) -> None:
        """Learns the bytes that a bundle has copied since it last reported."""
        _, before_ms = self._rates.get(bundle, (0.0, at_ms))
        at_ms = max(at_ms, before_ms)
        rate = self._faded(bundle, at_ms) + added * 1000 / self.window_ms
        self._rates[bundle] = rate, at_ms

    def rates(self, at_ms: int) -> dict[int, float]:
        """Bytes per second of every bundle that has ever reported."""
        return {bundle: self._faded(bundle, at_ms) for bundle in self._rates}

    def _faded(self, bundle: int, at_ms: int) -> float:
        rate, before_ms = self._rates.get(bundle, (0.0, at_ms))
        return rate * exp(-max(0, at_ms - before_ms) / self.window_ms)
