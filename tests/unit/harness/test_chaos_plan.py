"""A plan follows from its seed, and so does what its outcomes are judged by."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.harness.chaos.event_costs import table_of
from tests.harness.chaos.event_outcomes import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    EventOutcome,
    faults_of,
    load,
)
from tests.harness.chaos.ledger import Toll
from tests.harness.chaos.plan import CUT, KILL, KINDS, PAUSE, RESTART, ROLL, Event, plan
from tests.harness.outcomes import save


def test_a_seed_gives_the_same_events_in_the_same_order() -> None:
    assert plan(7, 10) == plan(7, 10) != plan(8, 10)


def test_a_plan_has_as_many_events_of_each_kind_as_asked() -> None:
    assert Counter(event.kind for event in plan(1, 10)) == dict.fromkeys(KINDS, 10)


def test_events_strike_leaders_and_others_in_all_ways() -> None:
    events = plan(3, 50)
    assert {event.leader for event in events} == {True, False}
    cuts = {event.how for event in events if event.kind == CUT}
    assert cuts == {"source", "target", "both", "refused"}


@pytest.mark.parametrize(
    ("mode", "kind", "toll", "count"),
    [
        (AT_LEAST_ONCE, KILL, Toll(repeated=9), 0),
        (AT_LEAST_ONCE, RESTART, Toll(repeated=9), 1),
        (AT_LEAST_ONCE, ROLL, Toll(repeated=1), 1),
        (EXACTLY_ONCE, KILL, Toll(repeated=1), 1),
        (AT_LEAST_ONCE, KILL, Toll(missing=1, disordered=1), 2),
        (EXACTLY_ONCE, CUT, Toll(gap_s=99.0), 0),
    ],
)
def test_only_unclean_events_excuse_records_that_are_there_twice(
    mode: str, kind: str, toll: Toll, count: int
) -> None:
    assert len(faults_of(mode, Event(kind=kind), toll, rate=100)) == count


@pytest.mark.parametrize(("repeated", "count"), [(500, 0), (501, 1)])
def test_unclean_events_excuse_no_more_than_what_was_not_committed(
    repeated: int, count: int
) -> None:
    """A flow that begins at its start after each kill is not excused."""
    found = faults_of(AT_LEAST_ONCE, Event(kind=KILL), Toll(repeated=repeated), rate=100)
    assert len(found) == count


def test_outcomes_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.json"
    assert load(file) == []
    outcomes = [
        EventOutcome(mode=AT_LEAST_ONCE, seed=1, number=n, event=event, toll=Toll(gap_s=n / 2))
        for n, event in enumerate(plan(1, 2))
    ]
    save(outcomes, file)
    assert load(file) == outcomes


def test_the_table_has_a_row_for_each_kind_and_mode() -> None:
    events = [
        (Event(kind=PAUSE, seconds=20), 7.0),
        (Event(kind=PAUSE, seconds=20), 8.0),
        (Event(kind=PAUSE, seconds=20), 30.0),
        (Event(kind=CUT, how="source", seconds=15), 16.0),
        (Event(kind=CUT, how="source", seconds=15, leader=False), 0.5),
        (Event(kind=KILL, how="machine", leader=False), 0.3),
    ]
    outcomes = [
        EventOutcome(mode=EXACTLY_ONCE, seed=1, number=n, event=event, toll=Toll(gap_s=gap))
        for n, (event, gap) in enumerate(events)
    ]
    rows = [line.split(" | ")[:5] for line in table_of(outcomes).splitlines()[2:]]
    assert [row[1:] for row in rows] == [
        ["exactly-once", "3", "8.0", "30.0"],
        ["exactly-once", "1", "1.0", "1.0"],
        ["exactly-once", "2", "0.4", "0.5"],
    ]
