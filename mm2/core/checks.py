"""
Checks as data: what was looked at, the verdict, a sentence for people, and a remedy.

``mm2.cli.check_rows`` shows them. A no-go that may be forced has a cost: nothing loses or repeats
records unless that is accepted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

_NAMED: Final = 5
"""A sentence names at most so many topics or partitions."""


class Verdict(StrEnum):
    """What a check found, from the best to the worst; only the last one stops a command."""

    GO = "go"
    NOTE = "note"
    CAUTION = "caution"
    NO_GO = "no-go"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """
    What one check found.

    Attributes:
        name: the same in all releases.
        subject: a group, a partition, a topic, a flow or a cluster; or "file" or "host".
        sentence: why, without the subject, a capital letter or a full stop.
        remedy: what to do about it, or to ask oneself; commands stand one a line. May be empty.
        cost: of going on all the same; None for a no-go that cannot be forced.
        is_unreachable: whether it says that a cluster does not answer, or lets nobody in.
    """

    name: str
    subject: str
    verdict: Verdict
    sentence: str
    remedy: str = ""
    cost: str | None = ""
    is_unreachable: bool = False

    @classmethod
    def go(cls, name: str, subject: str, sentence: str) -> Self:
        """Nothing is wrong."""
        return cls(name=name, subject=subject, verdict=Verdict.GO, sentence=sentence)

    @classmethod
    def note(cls, name: str, subject: str, sentence: str, *, remedy: str = "") -> Self:
        """Something is not known, or may be as it is meant."""
        return cls(
            name=name, subject=subject, verdict=Verdict.NOTE, sentence=sentence, remedy=remedy
        )

    @classmethod
    def caution(
        cls, name: str, subject: str, sentence: str, *, remedy: str = "", cost: str | None = ""
    ) -> Self:
        """Something is worth knowing."""
        return cls(
            name=name,
            subject=subject,
            verdict=Verdict.CAUTION,
            sentence=sentence,
            remedy=remedy,
            cost=cost,
        )

    @classmethod
    def no_go(
        cls,
        name: str,
        subject: str,
        sentence: str,
        *,
        remedy: str = "",
        cost: str | None = None,
        is_unreachable: bool = False,
    ) -> Self:
        """Something is wrong; without a cost it cannot be forced."""
        return cls(
            name=name,
            subject=subject,
            verdict=Verdict.NO_GO,
            sentence=sentence,
            remedy=remedy,
            cost=cost,
            is_unreachable=is_unreachable,
        )

    @property
    def failed(self) -> bool:
        """Whether somebody has to look at it."""
        return self.verdict in {Verdict.CAUTION, Verdict.NO_GO}

    @property
    def reason(self) -> str:
        """The sentence and the remedy."""
        return f"{self.sentence}: {self.remedy}" if self.remedy else self.sentence

    def stops(self, *, forced: bool = False) -> bool:
        """Whether the command must not go on; ``forced`` accepts costs."""
        return self.verdict is Verdict.NO_GO and not (forced and self.cost is not None)


def is_go(checks: Iterable[Check], *, forced: bool = False, strict: bool = False) -> bool:
    """Whether the command may go on; ``strict`` takes cautions for a no-go."""
    return not any(
        each.stops(forced=forced) or (strict and each.verdict is Verdict.CAUTION) for each in checks
    )


def first_few(names: Iterable[str]) -> str:
    """Names the first few, and counts the rest."""
    listed = list(names)
    rest = len(listed) - _NAMED
    return ", ".join(listed[:_NAMED]) + (f" and {rest} more" if rest > 0 else "")
