"""Records of Connect's status topic: round trips, what Connect writes, and what damage ends in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.connect.status_records import (
    ActiveTopic,
    ConnectorKey,
    RunState,
    Status,
    TaskKey,
    TopicKey,
    decode_key,
    decode_status,
    decode_topic,
    encode_status,
)
from mm2.errors import SchemaError

_names = st.text(st.characters(codec="utf-8"), min_size=1)
_topics = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)
_statuses = st.builds(
    Status,
    state=st.sampled_from(RunState),
    worker_id=st.text(),
    generation=st.integers(0, 1 << 31),
    trace=st.none() | st.text(),
    version=st.none() | st.text(),
)


@given(st.builds(ConnectorKey, _names) | st.builds(TaskKey, _names, st.integers(0, 999)), _statuses)
def test_statuses_survive(key: ConnectorKey | TaskKey, status: Status) -> None:
    written, value = encode_status(key, status)
    assert decode_key(written) == key
    assert value is not None
    assert decode_status(value) == status


@given(
    st.builds(TopicKey, _names, _topics),
    st.builds(ActiveTopic, task=st.integers(0, 99), discovered_ms=st.integers(0, 1 << 50)),
)
def test_topics_survive(key: TopicKey, found: ActiveTopic) -> None:
    written, value = encode_status(key, found)
    assert decode_key(written) == key
    assert value is not None
    assert decode_topic(value) == found


def test_records_are_those_of_connect() -> None:
    status = Status(state=RunState.FAILED, worker_id="h:1/A->B", generation=3, trace="no\nway")
    assert encode_status(TaskKey("MirrorSourceConnector", 1), status) == (
        b"status-task-MirrorSourceConnector-1",
        b'{"state":"FAILED","trace":"no\\nway","worker_id":"h:1/A->B","generation":3,"version":null}',
    )
    assert encode_status(ConnectorKey("c"), None) == (b"status-connector-c", None)
    assert encode_status(TopicKey("c", "A.t"), ActiveTopic(task=2, discovered_ms=9)) == (
        b"status-topic-A.t:connector-c",
        b'{"topic":{"name":"A.t","connector":"c","task":2,"discoverTimestamp":9}}',
    )
    assert encode_status(TopicKey("c", "A.t"), None) == (b"status-topic-A.t:connector-c", None)


def test_statuses_of_older_workers_have_no_version() -> None:
    value = b'{"state":"RUNNING","trace":null,"worker_id":"A->B","generation":1}'
    assert decode_status(value) == Status(
        state=RunState.RUNNING, worker_id="A->B", generation=1, trace=None, version=None
    )


def test_a_connector_may_be_called_like_a_task() -> None:
    assert decode_key(b"status-task-a-1-2") == TaskKey("a-1", 2)
    assert decode_key(b"status-topic-t:connector-b:connector-c") == TopicKey("b:connector-c", "t")


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"session-key",
        b"status-connector-",
        b"status-task-",
        b"status-task-4",
        b"status-task-a-b",
        b"status-task--1",
        b"status-topic-t",
        b"status-topic-:connector-c",
        b"status-topic-t:connector-",
    ],
)
def test_other_keys_are_nothing(key: bytes | None) -> None:
    assert decode_key(key) is None


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff",
        b"7",
        b"null",
        b"{}",
        b'{"state":"DANCING","worker_id":"w","generation":1}',
        b'{"state":"RUNNING","worker_id":4,"generation":1}',
        b'{"state":"RUNNING","worker_id":"w","generation":"1"}',
        b'{"state":"RUNNING","worker_id":"w","generation":1,"trace":[]}',
    ],
)
def test_damaged_statuses_are_refused(value: bytes) -> None:
    with pytest.raises(SchemaError, match="status record cannot be read"):
        decode_status(value)


@pytest.mark.parametrize(
    "value", [b"[]", b"{}", b'{"topic":4}', b'{"topic":{}}', b'{"topic":{"task":1}}']
)
def test_damaged_topics_are_refused(value: bytes) -> None:
    with pytest.raises(SchemaError, match="status record cannot be read"):
        decode_topic(value)
