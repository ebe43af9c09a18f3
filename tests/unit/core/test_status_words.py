"""What is said of connectors that nobody runs is what is wanted of them, or that nobody does."""

from __future__ import annotations

import pytest

from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import (
    ActiveTopic,
    ConnectorKey,
    RunState,
    Status,
    TaskKey,
    TopicKey,
)
from mm2.core.connect.status_table import StatusTable, statuses_on_worker_stop, statuses_when_idle

_CONNECTOR, _TASK, _TOPIC = ConnectorKey("m"), TaskKey("m", 0), TopicKey("m", "t")


def _said(connector: RunState, task: RunState) -> StatusTable:
    """What is said of a connector whose worker is gone."""
    return StatusTable(
        {_CONNECTOR: _status(connector), _TASK: _status(task)},
        {_TOPIC: ActiveTopic(task=0, discovered_ms=1)},
    )


def _status(state: RunState) -> Status:
    trace = "why" if state is RunState.FAILED else None
    return Status(state=state, worker_id="w", generation=3, trace=trace)


def _after(wanted: TargetState | None, connector: RunState, task: RunState) -> StatusTable:
    """What is said once the words are written."""
    table = _said(connector, task)
    for key, value in list(statuses_when_idle(table, wanted)):
        table.take(key, value)
    assert not list(statuses_when_idle(table, wanted)), "it is said once"
    return table


@pytest.mark.parametrize(
    "state", [RunState.RUNNING, RunState.UNASSIGNED, RunState.PAUSED, RunState.FAILED]
)
def test_a_stopped_connector_has_no_tasks(state: RunState) -> None:
    table = _after(TargetState.STOPPED, state, state)
    assert table.statuses == {_CONNECTOR: _status(RunState.STOPPED)}
    assert _TOPIC in table.topics


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.UNASSIGNED, RunState.STOPPED])
def test_a_paused_connector_and_its_tasks_are_paused(state: RunState) -> None:
    table = _after(TargetState.PAUSED, state, state)
    paused = _status(RunState.PAUSED)
    assert table.statuses == {_CONNECTOR: paused, _TASK: paused}


def test_what_has_failed_before_it_is_paused_has_still_failed() -> None:
    """As in Connect, where neither connectors nor tasks leave that state by a pause."""
    table = _after(TargetState.PAUSED, RunState.RUNNING, RunState.FAILED)
    failed = _status(RunState.FAILED)
    assert failed.trace == "why"
    assert table.statuses == {_CONNECTOR: _status(RunState.PAUSED), _TASK: failed}
    assert _after(TargetState.PAUSED, RunState.FAILED, RunState.FAILED).statuses == {
        _CONNECTOR: failed,
        _TASK: failed,
    }


def test_nothing_is_said_of_a_connector_that_was_deleted() -> None:
    table = _after(None, RunState.RUNNING, RunState.RUNNING)
    assert (table.statuses, table.topics) == ({}, {})


@pytest.mark.parametrize("state", sorted(set(RunState) - {RunState.FAILED}))
def test_what_its_worker_leaves_is_run_by_nobody(state: RunState) -> None:
    table = _said(state, state)
    for key, value in list(statuses_on_worker_stop(table)):
        table.take(key, value)
    unassigned = _status(RunState.UNASSIGNED)
    assert table.statuses == {_CONNECTOR: unassigned, _TASK: unassigned}
    assert _TOPIC in table.topics
    assert not list(statuses_on_worker_stop(table)), "it is said once"


def test_a_task_that_has_failed_is_left_with_its_reason() -> None:
    table = _said(RunState.FAILED, RunState.FAILED)
    for key, value in list(statuses_on_worker_stop(table)):
        table.take(key, value)
    assert table.statuses == {
        _CONNECTOR: _status(RunState.UNASSIGNED),
        _TASK: _status(RunState.FAILED),
    }
