"""What a status topic says as a whole: as Connect's workers read it."""

from __future__ import annotations

from typing import Final

import pytest

from mm2.core.connect.status_records import (
    ActiveTopic,
    ConnectorKey,
    RunState,
    Status,
    TaskKey,
    TopicKey,
    encode_status,
)
from mm2.core.connect.status_table import StatusTable
from mm2.errors import SchemaError

_OF_JAVA: Final = [
    (
        b"status-connector-MirrorSourceConnector",
        b'{"state":"RUNNING","trace":null,"worker_id":"h/A->B/1","generation":2,"version":"4.3.0"}',
    ),
    (
        b"status-topic-heartbeats:connector-MirrorHeartbeatConnector",
        (
            b'{"topic":{"name":"heartbeats","connector":"MirrorHeartbeatConnector","task":0,'
            b'"discoverTimestamp":1795280635043}}'
        ),
    ),
    (
        b"status-task-MirrorSourceConnector-1",
        b'{"state":"RUNNING","trace":null,"worker_id":"h/A->B/1","generation":4,"version":"4.3.0"}',
    ),
    (
        b"status-connector-MirrorSourceConnector",
        b'{"state":"UNASSIGNED","trace":null,"worker_id":"h/A->B/1","generation":4,"version":null}',
    ),
]
"""As Kafka's MirrorMaker 4.3.0 has written them; the worker's id is shorter."""


def _status(state: RunState, worker: str = "w", generation: int = 1) -> Status:
    return Status(state=state, worker_id=worker, generation=generation)


def _table(*written: tuple[ConnectorKey | TaskKey, Status | None]) -> StatusTable:
    table = StatusTable()
    for key, status in written:
        table.take(*encode_status(key, status))
    return table


def test_the_last_word_counts() -> None:
    table = _table(
        (ConnectorKey("c"), _status(RunState.RUNNING)),
        (TaskKey("c", 10), _status(RunState.RUNNING)),
        (TaskKey("c", 2), _status(RunState.RUNNING)),
        (TaskKey("other", 0), _status(RunState.RUNNING)),
        (TaskKey("c", 2), _status(RunState.FAILED)),
    )
    assert table.connectors() == ["c"]
    assert {n: each.state for n, each in table.tasks("c").items()} == {
        2: RunState.FAILED,
        10: RunState.RUNNING,
    }
    assert list(table.tasks("c")) == [2, 10]


def test_a_tombstone_takes_a_task_back() -> None:
    task = TaskKey("c", 0)
    assert _table((task, _status(RunState.RUNNING)), (task, None), (task, None)).statuses == {}


def test_a_connector_takes_its_tasks_with_it() -> None:
    table = _table(
        (ConnectorKey("c"), _status(RunState.RUNNING)),
        (TaskKey("c", 0), _status(RunState.RUNNING)),
        (TaskKey("d", 0), _status(RunState.RUNNING)),
        (ConnectorKey("c"), None),
    )
    assert list(table.statuses) == [TaskKey("d", 0)]


@pytest.mark.parametrize(
    ("worker", "generation", "state"),
    [
        ("w", 5, RunState.UNASSIGNED),
        ("w", 4, RunState.RUNNING),
        ("other", 6, RunState.UNASSIGNED),
        ("other", 5, RunState.RUNNING),
        ("other", 4, RunState.RUNNING),
    ],
)
def test_who_gives_a_task_up_late_is_not_believed(
    worker: str, generation: int, state: RunState
) -> None:
    task = TaskKey("c", 0)
    late = _status(RunState.UNASSIGNED, worker, generation)
    table = _table((task, _status(RunState.RUNNING, "w", 5)), (task, late))
    assert table.statuses[task].state is state


def test_a_task_that_failed_may_be_given_up_by_anybody() -> None:
    task = TaskKey("c", 0)
    given_up = _status(RunState.UNASSIGNED, "other", 1)
    assert _table((task, _status(RunState.FAILED)), (task, given_up)).statuses[task] == given_up
    assert _table((task, given_up)).statuses[task] == given_up


def test_topics_come_and_go() -> None:
    table = StatusTable()
    found = ActiveTopic(task=0, discovered_ms=1)
    for topic in ("b", "a"):
        table.take(*encode_status(TopicKey("c", topic), found))
    table.take(*encode_status(TopicKey("d", "a"), found))
    assert table.topics_of("c") == ["a", "b"]
    table.take(*encode_status(TopicKey("c", "b"), None))
    table.take(*encode_status(TopicKey("c", "b"), None))
    assert table.topics_of("c") == ["a"]


def test_other_records_are_passed_over_and_damaged_ones_change_nothing() -> None:
    task = TaskKey("c", 0)
    table = _table((task, _status(RunState.RUNNING)))
    table.take(b"something", b"else")
    with pytest.raises(SchemaError):
        table.take(str(task).encode(), b"{}")
    assert table.statuses[task].state is RunState.RUNNING


def test_what_javas_workers_write_is_read_and_would_be_written_alike() -> None:
    table = StatusTable()
    for key, value in _OF_JAVA:
        table.take(key, value)
    source = table.statuses[ConnectorKey("MirrorSourceConnector")]
    assert (source.state, source.generation, source.version) == (RunState.UNASSIGNED, 4, None)
    assert table.tasks("MirrorSourceConnector")[1].version == "4.3.0"
    assert table.topics_of("MirrorHeartbeatConnector") == ["heartbeats"]
    again = [encode_status(key, status) for key, status in table.statuses.items()]
    again += [encode_status(key, found) for key, found in table.topics.items()]
    assert sorted(again) == sorted(dict(_OF_JAVA).items())
