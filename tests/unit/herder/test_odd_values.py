"""What the codec of our records makes of values that no node of ours has written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.json_text import MOST_BYTES
from mm2.core.model import TopicName
from mm2.errors import SchemaError
from mm2.protocol.codec import encode
from mm2.protocol.command_records import DesiredConnectorState
from mm2.protocol.control_codec import decode_control, encode_control
from mm2.protocol.control_records import Assignment, BundleState, Lease, MissingTopic
from mm2.protocol.heartbeat_progress import HeartbeatProgress, decode_heartbeats
from mm2.protocol.progress_records import (
    BundleProgress,
    PaceProgress,
    PartitionProgress,
    decode_progress,
)

_PARTITION = PartitionProgress(topic="t", partition=3, remote="A.t")
_REPORT = BundleProgress(
    bundle=2, epoch=7, generation=1, time_ms=9, pid=1, partitions=(_PARTITION,)
)
_FIELDS = json.loads(encode(_REPORT))
_BOM = b"\xef\xbb\xbf"


def _with(more: bytes) -> bytes:
    return encode(_REPORT)[:-1] + b"," + more + b"}"


def _of_partition(field: str, value: object) -> bytes:
    partition = _FIELDS["partitions"][0] | {field: value}
    return json.dumps(_FIELDS | {"partitions": [partition]}).encode()


@pytest.mark.parametrize("value", [1.0, 1.5, True, "1", None, [1], {}])
def test_an_integer_is_nothing_else(value: object) -> None:
    with pytest.raises(SchemaError, match="progress record cannot be read"):
        decode_progress(_of_partition("records", value))


@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_a_boolean_is_nothing_else(value: object) -> None:
    with pytest.raises(SchemaError, match="progress record cannot be read"):
        decode_progress(_of_partition("contested", value))


@pytest.mark.parametrize("value", [7, True, None, ["t"]])
def test_a_text_is_nothing_else(value: object) -> None:
    with pytest.raises(SchemaError, match="progress record cannot be read"):
        decode_progress(_of_partition("topic", value))


@pytest.mark.parametrize("value", ["abc", {"0": 1}, [None], [[1]], 7])
def test_a_tuple_is_a_list_of_its_type(value: object) -> None:
    with pytest.raises(SchemaError, match="progress record cannot be read"):
        decode_progress(_of_partition("age_ms", value))


@pytest.mark.parametrize(
    "more",
    [
        b'"more":NaN',
        b'"more":-Infinity',
        b'"pace":{"byte_rate_limit":1e999}',
        b'"pace":{"byte_rate_limit":' + b"9" * 400 + b"}",
        b'"pace":{"byte_rate_limit":true}',
        b'"more":"\\ud800"',
        b'"more":"a\nb"',
        b'"more":01',
        b'"more":[1,]',
        b'"more":' + b"[" * 100_000 + b"]" * 100_000,
        b'"more":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'"time_ms":' + b"9" * 5_000,
    ],
    ids=lambda more: more[:30].decode(),
)
def test_what_is_no_json_or_too_much_is_refused(more: bytes) -> None:
    with pytest.raises(SchemaError, match="progress record cannot be read"):
        decode_progress(_with(more))


@pytest.mark.parametrize("value", [_BOM + encode(_REPORT), encode(_REPORT) + b"{}", b"\0"])
def test_nothing_stands_around_the_object(value: bytes) -> None:
    with pytest.raises(SchemaError, match="progress record cannot be read"):
        decode_progress(value)


def test_a_value_as_long_as_none_of_ours_is_not_read() -> None:
    padding = MOST_BYTES - len(encode(_REPORT))
    assert decode_progress(encode(_REPORT) + b" " * padding) == _REPORT
    with pytest.raises(SchemaError, match=f"longer than {MOST_BYTES} bytes"):
        decode_progress(encode(_REPORT) + b" " * (padding + 1))


@pytest.mark.parametrize(
    "more",
    [b'"more":1e999', b'"more":"\xff"', b'"m\xff":[{"a":[[{}]]}]', b'"":' + b"[" * 40 + b"]" * 40],
)
def test_unknown_fields_are_passed_over_whatever_they_have(more: bytes) -> None:
    assert decode_progress(_with(more)) == _REPORT


def test_of_a_field_that_is_there_twice_the_last_one_counts() -> None:
    assert decode_progress(_with(b'"time_ms":10')).time_ms == 10
    with pytest.raises(SchemaError, match="`ways`"):
        decode_heartbeats(b'{"time_ms":1,"time_ms":2,"last_ms":3}')


@pytest.mark.parametrize("limit", [7, 7.0])
def test_whole_numbers_are_floats_where_those_are_read(limit: float) -> None:
    value = json.dumps(_FIELDS | {"pace": {"byte_rate_limit": limit}}).encode()
    found = decode_progress(value).pace.byte_rate_limit
    assert (found, type(found)) == (7.0, float)


@given(st.integers(-(10**300), 10**300))
def test_numbers_of_any_size_are_written_as_they_are_read(number: int) -> None:
    told = HeartbeatProgress(time_ms=number, last_ms=-1, ways=())
    assert decode_heartbeats(encode(told)) == told
    lease = Lease(epoch=number, owner="n")
    assert decode_control(*encode_control(lease)) == lease


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_each_float_is_read_as_it_was_written(limit: float) -> None:
    pace = PaceProgress(byte_rate_limit=limit)
    report = BundleProgress(
        bundle=2, epoch=7, generation=1, time_ms=9, pid=1, partitions=(), pace=pace
    )
    assert decode_progress(encode(report)) == report
    assert json.loads(encode(report))["pace"]["byte_rate_limit"] == limit


def test_a_field_of_the_key_is_not_taken_from_the_value() -> None:
    value = b'{"version":1,"connector":"MirrorHeartbeatConnector","state":"paused"}'
    found = decode_control(b"connector-MirrorSourceConnector", value)
    assert isinstance(found, DesiredConnectorState)
    assert found.connector == "MirrorSourceConnector"
    missing = MissingTopic(epoch=1, topic=TopicName("t"))
    assert decode_control(b"missing-t", b'{"epoch":1,"topic":"u"}') == missing


@pytest.mark.parametrize("version", [b"1.0", b"true", b'"2"', b"null", b"[]"])
def test_a_version_is_a_number(version: bytes) -> None:
    with pytest.raises(SchemaError, match="control record 'lease' cannot be read"):
        decode_control(b"lease", b'{"version":' + version + b',"epoch":1,"owner":"n"}')


@pytest.mark.parametrize("changes", [{"tasks.max": 3}, {"topics": ["t"]}, {"topics": True}, []])
def test_settings_are_texts(changes: object) -> None:
    with pytest.raises(SchemaError, match="control record 'config' cannot be read"):
        decode_control(b"config", json.dumps({"version": 1, "changes": changes}).encode())


@pytest.mark.parametrize("number", ["-1", "1000000", "9" * 30, "x", ""])
def test_a_bundle_has_a_number_that_a_leader_would_give(number: str) -> None:
    """A leader makes a list of all bundles up to the last."""
    assignment = Assignment(
        index=0, epoch=1, generation=1, state=BundleState.RUNNING, partitions={}
    )
    _, value = encode_control(assignment)
    with pytest.raises(SchemaError, match="cannot be read"):
        decode_control(f"bundle-{number}".encode(), value)
