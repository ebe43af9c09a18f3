"""Whatever a record has for bytes, decoders answer, or raise the error of damaged records."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.errors import SchemaError
from mm2.protocol.checkpoint_progress import decode_checkpoint_progress
from mm2.protocol.control_codec import decode_control
from mm2.protocol.heartbeat_progress import decode_heartbeats
from mm2.protocol.progress_records import decode_progress

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_keys = st.sampled_from(
    [b"lease", b"flow", b"bundle-0", b"missing-t", b"config", b"settings", b"shares", b"restart-X"]
)
_FIELDS = {
    "epoch": 1,
    "owner": "n",
    "generation": 1,
    "state": "running",
    "drained": False,
    "topic": "t",
    "topics": [{"topic": "t", "remote": "A.t", "partitions": [0]}],
    "changes": {"topics": "x"},
    "id": "x",
    "byte_rate_limit": 1,
    "flush_interval_s": 1.5,
    "portions": {"0": 1},
    "bundle": 0,
    "time_ms": 1,
    "pid": 1,
    "partitions": [{"topic": "t", "partition": 0, "remote": "A.t", "gaps": []}],
    "pace": {"byte_rate_limit": 1},
    "groups": 1,
    "latencies": [],
    "last_ms": 1,
    "ways": [{"topic": "t", "way": ["A"], "hops": 1}],
}
_almost = st.builds(
    lambda name, value: json.dumps(_FIELDS | {name: value}).encode(),
    st.sampled_from(["version", *_FIELDS]),
    _json,
)
_values = st.binary() | _json.map(lambda value: json.dumps(value).encode()) | _almost


def _answers_or_refuses(decoder: Callable[..., object], *arguments: bytes) -> bool:
    try:
        decoder(*arguments)
    except SchemaError:
        return True
    return True


@given(key=_keys | st.binary(), value=_values)
def test_control_records_of_anybody(key: bytes, value: bytes) -> None:
    assert _answers_or_refuses(decode_control, key, value)


@pytest.mark.parametrize(
    "decoder", [decode_progress, decode_checkpoint_progress, decode_heartbeats]
)
@given(value=_values)
def test_progress_records_of_anybody(decoder: Callable[[bytes], object], value: bytes) -> None:
    assert _answers_or_refuses(decoder, value)


@given(_keys)
def test_the_record_that_is_changed_is_a_right_one(key: bytes) -> None:
    value = json.dumps(_FIELDS | {"state": "leading" if key == b"lease" else "running"}).encode()
    assert decode_control(key, value) is not None
