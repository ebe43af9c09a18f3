"""What is said of connectors that nobody runs is what is wanted of them."""

from __future__ import annotations

import pytest

from mm2.connect.resting import words_at_rest
from mm2.core.connect_configs import TargetState
from mm2.core.connect_status import ActiveTopic, ConnectorKey, RunState, Status, TaskKey, TopicKey
from mm2.core.status_table import StatusTable

_CONNECTOR, _TASK, _TOPIC = ConnectorKey("m"), TaskKey("m", 0), TopicKey("m", "t")


def _after(wanted: TargetState | None, state: RunState, trace: str | None = None) -> StatusTable:
    """What is said once the words are written, of a connector whose worker is gone."""
    status = Status(state=state, worker_id="w", generation=3, trace=trace)
    table = StatusTable(
        {_CONNECTOR: status, _TASK: status}, {_TOPIC: ActiveTopic(task=0, discovered_ms=1)}
    )
    for key, value in list(words_at_rest(table, wanted)):
        table.take(key, value)
    assert not list(words_at_rest(table, wanted)), "it is said once"
    return table


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.UNASSIGNED, RunState.PAUSED])
def test_a_stopped_connector_has_no_tasks(state: RunState) -> None:
    table = _after(TargetState.STOPPED, state)
    assert {key: each.state for key, each in table.statuses.items()} == {
        _CONNECTOR: RunState.STOPPED
    }
    assert _TOPIC in table.topics


def test_a_paused_connector_and_its_tasks_have_not_failed_any_more() -> None:
    table = _after(TargetState.PAUSED, RunState.FAILED, "why")
    paused = Status(state=RunState.PAUSED, worker_id="w", generation=3)
    assert table.statuses == {_CONNECTOR: paused, _TASK: paused}


def test_nothing_is_said_of_a_connector_that_was_deleted() -> None:
    table = _after(None, RunState.RUNNING)
    assert (table.statuses, table.topics) == ({}, {})
