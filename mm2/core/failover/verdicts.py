"""
What a check comes to, and whether a move may be made.

No move loses or repeats records unless it is forced, and what forcing costs is part of the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_NAMED: Final = 5
"""A sentence names so many topics or partitions."""


class Outcome(StrEnum):
    """What a check comes to; only the last one stops a move."""

    GO = "go"
    CAUTION = "caution"
    NO_GO = "no-go"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    What one check found.

    Attributes:
        check: its name.
        subject: what was looked at: a group, a partition, a topic, a flow.
        outcome: whether to go.
        reason: why, in a sentence.
        cost: of a move that goes on all the same; None for a no-go that cannot be forced.
    """

    check: str
    subject: str
    outcome: Outcome
    reason: str
    cost: str | None = ""

    def stops(self, *, forced: bool) -> bool:
        """Whether this verdict forbids the move."""
        return self.outcome is Outcome.NO_GO and not (forced and self.cost is not None)


def is_go(verdicts: Iterable[Verdict], *, forced: bool = False, strict: bool = False) -> bool:
    """
    Whether the move may be made.

    Args:
        verdicts: of all checks.
        forced: whether costs are accepted.
        strict: whether cautions count as a no.
    """
    return not any(
        each.stops(forced=forced) or (strict and each.outcome is Outcome.CAUTION)
        for each in verdicts
    )


def some(names: Iterable[str]) -> str:
    """Names the first few, and counts the rest."""
    listed = list(names)
    rest = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
