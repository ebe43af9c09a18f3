"""Nodes that are killed, frozen, restarted and cut off lose nothing and keep the order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.chaos.chaos_clusters import BOTH_WAYS, world
from tests.harness.chaos.event_costs import table_of
from tests.harness.chaos.event_outcomes import AT_LEAST_ONCE, EXACTLY_ONCE
from tests.harness.chaos.plan import CUT, KILL, ROLL, Event, plan
from tests.harness.chaos.strike import strike

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.chaos]

_EACH = 10


@pytest.mark.timeout(900)
def test_a_leader_is_killed_and_the_next_one_cut_off_exactly_once(tmp_path: Path) -> None:
    longer_than_a_lease = 14
    events = [
        Event(kind=KILL, how="process"),
        Event(kind=CUT, how="target", seconds=longer_than_a_lease),
    ]
    with world(tmp_path, exactly_once=True) as place:
        for event in events:
            assert strike(place, event, mode=EXACTLY_ONCE).faults == []


@pytest.mark.thorough
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("mode", [AT_LEAST_ONCE, EXACTLY_ONCE])
def test_ten_random_events_of_each_kind(tmp_path: Path, mode: str) -> None:
    outcomes = []
    exactly_once = mode == EXACTLY_ONCE
    with world(tmp_path, flows=BOTH_WAYS, exactly_once=exactly_once) as place:
        for event in plan(6, _EACH):
            outcomes.append(strike(place, event, mode=mode))
            assert outcomes[-1].faults == [], f"{len(outcomes)} {event}"
    print(table_of(outcomes))  # noqa: T201 - figures


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_a_rolling_restart_repeats_nothing(tmp_path: Path) -> None:
    with world(tmp_path, flows=BOTH_WAYS) as place:
        outcome = strike(place, Event(kind=ROLL), mode=AT_LEAST_ONCE)
    assert outcome.faults == []
    print(table_of([outcome]))  # noqa: T201 - figures
