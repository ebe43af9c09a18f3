"""A limit on a rate, as a bucket that fills with time and that work empties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

_LEAST_RATE: Final = 1.0


@dataclass(slots=True)
class TokenBucket:
    """
    Says how much may be done now, and when more may be done.

    What was done may exceed what was allowed, because work comes in lumps; the bucket is then in
    debt, and nothing is allowed until time has paid it.

    Args:
        rate: units per second; less than 1 counts as 1.
        burst_s: how much unused time is kept, in seconds.
        now: by any clock, in seconds.
    """

    rate: float
    burst_s: float
    now: float
    _level: float = field(init=False)

    def __post_init__(self) -> None:
        """Begins full."""
        self.rate = max(self.rate, _LEAST_RATE)
        self._level = self.rate * self.burst_s

    def allowance(self, now: float) -> float:
        """Units that may be done now; none while in debt."""
        self._fill(now)
        return max(0.0, self._level)

    def delay(self, now: float, units: float = 1.0) -> float:
        """Seconds until ``units`` (or the burst size, if smaller) may be done."""
        self._fill(now)
        return max(0.0, min(units, self.rate * self.burst_s) - self._level) / self.rate

    def spend(self, units: float, now: float) -> None:
        """Counts what was done."""
        self._fill(now)
        self._level -= units

    def change(self, rate: float, now: float) -> None:
        """Goes on with another rate; a debt stays a debt of as many seconds."""
        self._fill(now)
        rate = max(rate, _LEAST_RATE)
        self._level *= rate / self.rate
        self.rate = rate

    def _fill(self, now: float) -> None:
        passed = max(0.0, now - self.now)
        self._level = min(self._level + passed * self.rate, self.rate * self.burst_s)
        self.now = max(self.now, now)
