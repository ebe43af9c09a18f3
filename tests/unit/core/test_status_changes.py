"""Connectors that no worker runs get their target state, or UNASSIGNED."""

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
    encode_status,
)
from mm2.core.connect.status_table import StatusTable, changes_to, changes_without_worker

_CONNECTOR, _TASK, _TOPIC = ConnectorKey("m"), TaskKey("m", 0), TopicKey("m", "t")


def _left(connector: RunState, task: RunState) -> StatusTable:
    """The entries of a connector whose worker is gone."""
    return StatusTable(
        {_CONNECTOR: _status(connector), _TASK: _status(task)},
        {_TOPIC: ActiveTopic(task=0, discovered_ms=1)},
    )


def _status(state: RunState) -> Status:
    trace = "why" if state is RunState.FAILED else None
    return Status(state=state, worker_id="w", generation=3, trace=trace)


def _after(target: TargetState | None, connector: RunState, task: RunState) -> StatusTable:
    """The entries once the changes are written."""
    table = _left(connector, task)
    for key, entry in changes_without_worker(table, target):
        table.take(*encode_status(key, entry))
    assert not changes_without_worker(table, target), "they are written once"
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


def test_nothing_is_left_of_a_connector_that_was_deleted() -> None:
    table = _after(None, RunState.RUNNING, RunState.RUNNING)
    assert (table.statuses, table.topics) == ({}, {})


@pytest.mark.parametrize("state", sorted(set(RunState) - {RunState.FAILED}))
def test_a_started_connector_without_a_worker_is_unassigned(state: RunState) -> None:
    table = _after(TargetState.STARTED, state, state)
    unassigned = _status(RunState.UNASSIGNED)
    assert table.statuses == {_CONNECTOR: unassigned, _TASK: unassigned}
    assert _TOPIC in table.topics


def test_a_task_that_has_failed_is_left_with_its_reason() -> None:
    table = _after(TargetState.STARTED, RunState.FAILED, RunState.FAILED)
    assert table.statuses == {
        _CONNECTOR: _status(RunState.UNASSIGNED),
        _TASK: _status(RunState.FAILED),
    }


def test_only_what_differs_is_written_tombstones_first() -> None:
    source, gone = ConnectorKey("MirrorSourceConnector"), TaskKey("MirrorSourceConnector", 1)
    running, failed = _status(RunState.RUNNING), _status(RunState.FAILED)
    table = _left(RunState.RUNNING, RunState.RUNNING)
    table.statuses |= {source: running, gone: running}
    found = {TopicKey("m", topic): ActiveTopic(task=0, discovered_ms=2) for topic in ("t", "u")}
    assert changes_to(table, {source: failed}, found) == [
        (gone, None),
        (source, failed),
        (TopicKey("m", "u"), ActiveTopic(task=0, discovered_ms=2)),
    ], "entries of other connectors, and topics that are known, are left alone"
