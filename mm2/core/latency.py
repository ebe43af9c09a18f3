"""
Latencies over the last minute, as Kafka's metrics have them: last, least, most and mean.

Kafka keeps two samples of thirty seconds each (``SampledStat``), so that what is told covers thirty
to sixty seconds and old peaks go away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

_SAMPLE_MS: Final = 30_000
_SAMPLES: Final = 2


class LatencyStats(NamedTuple):
    """Latencies in ms."""

    last: int
    least: int
    most: int
    mean: float


@dataclass(slots=True)
class _Sample:
    began_ms: int
    count: int = 0
    total: int = 0
    least: int = 0
    most: int = 0

    def add(self, value: int) -> None:
        self.least = value if not self.count else min(self.least, value)
        self.most = value if not self.count else max(self.most, value)
        self.count += 1
        self.total += value


class Latency:
    """One series of latencies."""

    __slots__ = ("_last", "_samples")

    def __init__(self, value_ms: int, now_ms: int) -> None:
        self._samples: tuple[_Sample, ...] = ()
        self._last = value_ms
        self.record(value_ms, now_ms)

    def record(self, value_ms: int, now_ms: int) -> None:
        """Takes one in."""
        self._last = value_ms
        if not self._samples or now_ms - self._samples[-1].began_ms >= _SAMPLE_MS:
            self._samples = (*self._recent(now_ms), _Sample(now_ms))[-_SAMPLES:]
        self._samples[-1].add(value_ms)

    def stats(self, now_ms: int) -> LatencyStats:
        """The window's statistics; after the window, only the last sample."""
        recent = self._recent(now_ms)
        if not recent:
            return LatencyStats(
                last=self._last, least=self._last, most=self._last, mean=float(self._last)
            )
        # Of thousands of partitions each second. One sample alone is both.
        early, late = recent[0], recent[-1]
        return LatencyStats(
            last=self._last,
            least=min(early.least, late.least),
            most=max(early.most, late.most),
            mean=(early.total + late.total) / (early.count + late.count),
        )

    def _recent(self, now_ms: int) -> tuple[_Sample, ...]:
        oldest_ms = now_ms - _SAMPLES * _SAMPLE_MS
        if self._samples and self._samples[0].began_ms > oldest_ms:
            return self._samples
        return tuple(sample for sample in self._samples if sample.began_ms > oldest_ms)


class LatencySeries:
    """A series of latencies, or of other whole numbers, that begins empty."""

    __slots__ = ("_latency",)

    def __init__(self) -> None:
        self._latency: Latency | None = None

    def record(self, value: int, now_ms: int) -> None:
        """Takes one in."""
        if self._latency is None:
            self._latency = Latency(value, now_ms)
        else:
            self._latency.record(value, now_ms)

    def sample(self, now_ms: int) -> tuple[int, ...]:
        """Last, least, most and mean of the last minute; empty if there never was one."""
        if self._latency is None:
            return ()
        stats = self._latency.stats(now_ms)
        return stats.last, stats.least, stats.most, round(stats.mean)
