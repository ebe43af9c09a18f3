"""Writes what trials have found into the documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from tests.harness.trials.outcome import FAILBACK, FAILOVER, UNPLANNED, Toll, Trial
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


def write_table(name: str, table: str, page: Path = PAGE) -> None:
    """Renews a table of the page."""
    begin, end = f"<!-- {name} -->\n", "<!-- end -->"
    pattern = re.escape(begin) + r"(?:\|.*\n)*" + re.escape(end)
    page.write_text(re.sub(pattern, lambda _: begin + table + end, page.read_text()))


def table_of(trials: Sequence[Trial]) -> str:
    """The trials as a Markdown table, a row for each kind and mirror."""
    lines = [list(_HEADINGS), ["---"] * len(_HEADINGS)]
    for kind, title in _TITLES.items():
        of_kind = [trial for trial in trials if trial.kind == kind]
        covered = [Toll(t.ours.reread - t.allowed, t.ours.skipped) for t in of_kind]
        lines += _rows(f"{title}: mm2", [trial.ours for trial in of_kind])
        if kind == UNPLANNED:
            lines += _rows("the same, without what no checkpoint covered yet", covered)
        lines += _rows(f"{title}: Java", [trial.java for trial in of_kind if trial.java])
    for kind in sorted({trial.kind for trial in trials} - _TITLES.keys()):
        lines += _rows(kind, [trial.ours for trial in trials if trial.kind == kind])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


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
