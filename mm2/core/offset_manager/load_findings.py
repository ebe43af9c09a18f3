"""What a load test of commits and fetches has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

_P50: Final = 0.5
_P99: Final = 0.99

_N = TypeVar("_N", int, float)


@dataclass
class Measured:
    """
    Calls of one kind.

    Attributes:
        took_s: how long each took that succeeded.
        errors: how many failed, by the name of the error.
    """

    took_s: list[float] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)

    def failed(self, name: str) -> None:
        """Counts an error."""
        self.errors[name] = self.errors.get(name, 0) + 1

    def merge(self, other: Measured) -> None:
        """Adds what somebody else has measured."""
        self.took_s += other.took_s
        for name, count in other.errors.items():
            self.errors[name] = self.errors.get(name, 0) + count

    def row(self, name: str, seconds: float) -> dict[str, str | int | None]:
        """As commands show it."""
        took_ms = sorted(round(each * 1000) for each in self.took_s)
        return {
            "calls": name,
            "answered": len(took_ms),
            "per_second": round(len(took_ms) / seconds),
            "p50_ms": _percentile(took_ms, _P50),
            "p99_ms": _percentile(took_ms, _P99),
            "max_ms": took_ms[-1] if took_ms else None,
            "errors": " ".join(f"{name}={count}" for name, count in sorted(self.errors.items())),
        }


@dataclass
class GroupHistory:
    """
    What a group's only committer knows of it.

    All partitions of a group are committed with the same offset, which grows with each commit.

    Attributes:
        acknowledged: the greatest offset whose commit was answered without an error.
        attempted: the greatest offset of which a commit was sent.
    """

    acknowledged: int = 0
    attempted: int = 0

    def complaint(self, before: int, offsets: Sequence[int], partitions: int) -> str | None:
        """
        What is wrong with the answer to a fetch; None if nothing is.

        Args:
            before: what was acknowledged when it was sent.
            offsets: of the partitions that have one.
            partitions: how many are committed.
        """
        found = set(offsets) or {0}
        if len(found) > 1 or (offsets and len(offsets) != partitions):
            return "partial"
        (offset,) = found
        if offset < before:
            return "stale"
        return "unknown" if offset > self.attempted else None


def ratios(ours: Measured, theirs: Measured) -> tuple[float | None, float | None]:
    """How many times as many calls a second we answer, and how many times as long p99 takes."""
    mine = _percentile(sorted(ours.took_s), _P99)
    other = _percentile(sorted(theirs.took_s), _P99)
    if mine is None or other is None:
        return None, None
    calls = len(ours.took_s) / len(theirs.took_s)
    return round(calls, 2), round(mine / max(other, 1e-9), 2)


def _percentile(ascending: Sequence[_N], part: float) -> _N | None:
    """None if there are no numbers."""
    at = min(int(len(ascending) * part), len(ascending) - 1)
    return ascending[at] if ascending else None
