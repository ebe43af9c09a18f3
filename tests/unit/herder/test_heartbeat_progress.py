"""What heartbeats say, as a record of the progress topic."""

from __future__ import annotations

import json

import pytest

from mm2.errors import SchemaError
from mm2.protocol.heartbeat_progress import (
    HeartbeatProgress,
    WayProgress,
    decode_heartbeats,
    encode_heartbeats,
)
from mm2.protocol.progress_records import is_of_bundle

_PROGRESS = HeartbeatProgress(
    time_ms=30,
    last_ms=20,
    ways=(
        WayProgress(topic="A.heartbeats", way=("A", "B"), hops=1, last_ms=10, age_ms=20),
        WayProgress(topic="A.C.heartbeats", way=("C", "A", "B"), hops=2),
    ),
)


def test_reports_come_back_as_they_were() -> None:
    key, value = encode_heartbeats(_PROGRESS)
    assert decode_heartbeats(value) == _PROGRESS
    assert json.loads(value)["version"] == 1
    assert not is_of_bundle(key), "those who follow the tasks pass it over"


def test_fields_of_newer_releases_are_passed_over() -> None:
    fields = json.loads(encode_heartbeats(_PROGRESS)[1])
    fields["new"] = fields["ways"][0]["new"] = 1
    assert decode_heartbeats(json.dumps(fields).encode()) == _PROGRESS


@pytest.mark.parametrize(
    "value", [None, b"", b"[]", b"{}", b'{"time_ms":1,"last_ms":1,"ways":[{"topic":"t"}]}']
)
def test_damaged_reports_are_told(value: bytes | None) -> None:
    with pytest.raises(SchemaError, match="heartbeats cannot be read"):
        decode_heartbeats(value)
