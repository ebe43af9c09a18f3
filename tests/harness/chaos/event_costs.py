"""Writes what events have cost into the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from tests.harness.chaos.event_outcomes import MODES, EventOutcome
from tests.harness.chaos.plan import CUT, ROLL, Event
from tests.harness.outcomes import markdown
from tests.support.layout import ROOT

PAGE: Final = ROOT / "docs" / "explanation" / "kills-and-cuts.md"
TABLE: Final = "chaos"

_TITLES: Final = {
    "kill process": "kill -9 of the leader's driver",
    "kill machine": "kill -9 of all the leader's processes",
    "pause": "SIGSTOP of the leader for 20 s",
    "restart": "SIGTERM and restart of the leader",
    "cut target": "leader cut off from the target, or from both",
    "cut source": "leader cut off from the source: beyond the cut's own length",
    "other": "any of these, of another node",
    "roll": "rolling restart of all nodes",
}
_HEADINGS: Final = (
    "",
    "mode",
    "events",
    "longest gap, s: median",
    "max",
    "repeated: median",
    "max",
    "lost",
    "out of order",
)


def table_of(outcomes: Sequence[EventOutcome]) -> str:
    """The outcomes as a Markdown table, a row for each kind and mode."""
    return markdown(_HEADINGS, _rows(outcomes))


def _rows(outcomes: Sequence[EventOutcome]) -> Iterator[list[str]]:
    for row, title in _TITLES.items():
        for mode in MODES:
            found = [each for each in outcomes if (_row(each.event), each.mode) == (row, mode)]
            if found:
                yield [title, mode, *_numbers(found)]


def _row(event: Event) -> str:
    if event.kind == ROLL:
        return ROLL
    if not event.leader:
        return "other"
    if event.kind == CUT:
        return "cut source" if event.how == "source" else "cut target"
    return f"{event.kind} {event.how}".rstrip()


def _gap_s(outcome: EventOutcome) -> float:
    """A leader that cannot reach the source waits for it, as any other would have to."""
    own = outcome.event.seconds if _row(outcome.event) == "cut source" else 0.0
    return max(0.0, outcome.toll.gap_s - own)


def _numbers(outcomes: Sequence[EventOutcome]) -> list[str]:
    tolls = [outcome.toll for outcome in outcomes]
    gaps = [_gap_s(outcome) for outcome in outcomes]
    repeated = [toll.repeated for toll in tolls]
    return [
        f"{len(tolls)}",
        f"{median(gaps):.1f}",
        f"{max(gaps):.1f}",
        f"{median(repeated):,.0f}",
        f"{max(repeated):,}",
        f"{sum(toll.missing for toll in tolls):,}",
        f"{sum(toll.disordered for toll in tolls):,}",
    ]
