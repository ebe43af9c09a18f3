"""Writes what trials have found into the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from tests.harness.outcomes import markdown
from tests.harness.trials.trial import FAILBACK, FAILOVER, UNPLANNED, Toll, Trial
from tests.support.layout import ROOT

PAGE: Final = ROOT / "docs" / "explanation" / "offset-translation.md"

_TITLES: Final[Mapping[str, str]] = {
    FAILOVER: "planned failover",
    UNPLANNED: "unplanned failover, source killed",
    FAILBACK: "failback",
}
_HEADINGS: Final = (
    "",
    "groups moved",
    "groups that re-read",
    "re-read: sum",
    "median",
    "max",
    "never read",
)
TRIALS: Final = "trials"
COSTS: Final = "costs"
"""Names of the page's tables."""


def table_of(trials: Sequence[Trial]) -> str:
    """The trials as a Markdown table, a row for each kind and mirror."""
    lines: list[list[str]] = []
    for kind, title in _TITLES.items():
        of_kind = [trial for trial in trials if trial.kind == kind]
        covered = [Toll(t.ours.reread - t.allowed, t.ours.skipped) for t in of_kind]
        lines += _rows(f"{title}: mm2", [trial.ours for trial in of_kind])
        if kind == UNPLANNED:
            lines += _rows("the same, without what no checkpoint covered yet", covered)
        lines += _rows(f"{title}: Java", [trial.java for trial in of_kind if trial.java])
    for kind in sorted({trial.kind for trial in trials} - _TITLES.keys()):
        lines += _rows(kind, [trial.ours for trial in trials if trial.kind == kind])
    return markdown(_HEADINGS, lines)


def _rows(title: str, tolls: Sequence[Toll]) -> list[list[str]]:
    if not tolls:
        return []
    reread = [toll.reread for toll in tolls]
    numbers = (
        len(tolls),
        sum(1 for each in reread if each),
        sum(reread),
        median(reread),
        max(reread),
        sum(toll.skipped for toll in tolls),
    )
    return [[title, *(f"{number:,.0f}" for number in numbers)]]
