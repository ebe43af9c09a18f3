"""Progress records of the checkpoint flow."""

from __future__ import annotations

import json

import pytest

from mm2.errors import SchemaError
from mm2.protocol.checkpoint_progress import (
    CheckpointLatency,
    CheckpointProgress,
    decode_checkpoint_progress,
    encode_checkpoint_progress,
)
from mm2.protocol.progress_records import is_of_bundle

PROGRESS = CheckpointProgress(
    time_ms=7,
    groups=3,
    other_types=("shared",),
    active=("busy",),
    latencies=(
        CheckpointLatency(
            group="g", topic="A.t", partition=1, last_ms=5, min_ms=3, max_ms=9, avg_ms=4.5
        ),
    ),
)


def test_a_report_is_read_as_it_was_written() -> None:
    """C340."""
    key, value = encode_checkpoint_progress(PROGRESS)
    assert key == b"checkpoint"
    assert not is_of_bundle(key)
    assert decode_checkpoint_progress(value) == PROGRESS


def test_fields_of_a_newer_release_are_passed_over() -> None:
    fields = json.loads(encode_checkpoint_progress(PROGRESS)[1])
    fields["new"] = fields["latencies"][0]["new"] = 1
    assert decode_checkpoint_progress(json.dumps(fields).encode()) == PROGRESS


@pytest.mark.parametrize(
    "value", [None, b"", b"{", b"[]", b"{}", b'{"time_ms":1,"groups":1,"latencies":[{}]}']
)
def test_a_damaged_report_says_so(value: bytes | None) -> None:
    with pytest.raises(SchemaError):
        decode_checkpoint_progress(value)
