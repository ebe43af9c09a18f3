"""The last hours of flows: a bounded ring of samples."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

EVERY_MS: Final = 10_000
"""Between two samples."""

KEPT: Final = 6 * 60 * 60 * 1000 // EVERY_MS
"""Samples of six hours."""

Number: TypeAlias = float | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A flow at one time; None is what is not known."""

    bytes_per_s: Number
    lag: Number
    delay_ms: Number


MEASURES: Final = ("bytes_per_s", "lag", "delay_ms")
"""What a sample has."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a measure was: now, on average and at most; None is what is not known."""

    now: Number
    mean: Number
    most: Number


class SampleHistory:
    """
    Samples of all flows of a node.

    Args:
        kept: how many of each flow; older ones go.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._samples: deque[tuple[int, Mapping[str, Sample]]] = deque(maxlen=kept)

    @property
    def newest_ms(self) -> int:
        """Time of the last sample; 0 if there is none."""
        return self._samples[-1][0] if self._samples else 0

    def is_due(self, now_ms: int) -> bool:
        """Whether it is time for the next sample."""
        return not self._samples or not 0 <= now_ms - self._samples[-1][0] < EVERY_MS

    def add(self, now_ms: int, samples: Mapping[str, Sample]) -> None:
        """Takes the next sample of each flow; a clock that was set back begins anew."""
        if self._samples and now_ms <= self._samples[-1][0]:
            self._samples.clear()
        self._samples.append((now_ms, dict(samples)))

    def since(self, after_ms: int, flows: list[str]) -> dict[str, object]:
        """
        Columns for a plot: times in seconds, and of each measure a list for each flow.

        Args:
            flows: which, in this order.
        """
        found = [(at, known) for at, known in self._samples if at > after_ms]
        return {
            "flows": flows,
            "times": [at / 1000 for at, _ in found],
            **{
                measure: [
                    [_number(known.get(flow), measure) for _, known in found] for flow in flows
                ]
                for measure in MEASURES
            },
        }

    def summary(self, flow: str, measure: str, after_ms: int) -> Summary:
        """What a measure of a flow was since then."""
        found = [_number(known.get(flow), measure) for at, known in self._samples if at > after_ms]
        known = [each for each in found if each is not None]
        if not known:
            return Summary(None, None, None)
        return Summary(found[-1], sum(known) / len(known), max(known))


def _number(sample: Sample | None, measure: str) -> Number:
    found: Number = None if sample is None else getattr(sample, measure)
    return round(found) if isinstance(found, float) else found
