"""What a load test of commits and fetches has found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

_P50: Final = 0.5
_P99: Final = 0.99


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
            "p50_ms": _part(took_ms, _P50),
            "p99_ms": _part(took_ms, _P99),
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
    mine, other = sorted(ours.took_s), sorted(theirs.took_s)
    if not mine or not other:
        return None, None
    times = _exact(mine, _P99) / max(_exact(other, _P99), 1e-9)
    return round(len(mine) / len(other), 2), round(times, 2)


def _part(took_ms: Sequence[int], part: float) -> int | None:
    return took_ms[min(int(len(took_ms) * part), len(took_ms) - 1)] if took_ms else None


def _exact(took_s: Sequence[float], part: float) -> float:
    return took_s[min(int(len(took_s) * part), len(took_s) - 1)]
