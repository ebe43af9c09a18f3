"""Records of the progress topic: round trips, and what damage ends in."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.json_text import read_json
from mm2.errors import SchemaError
from mm2.protocol.progress_records import (
    BundleProgress,
    GapReport,
    PaceProgress,
    PartitionProgress,
    decode_progress,
    encode_progress,
)

_number = st.integers(-1, 1 << 50)
_partition = st.builds(
    PartitionProgress,
    topic=st.text(max_size=6),
    partition=_number,
    remote=st.text(max_size=6),
    records=_number,
    bytes=_number,
    position=_number,
    end=_number,
    lag=_number,
    latency_ms=_number,
    lost=_number,
    diverged=_number,
    gaps=st.lists(
        st.builds(
            GapReport,
            kind=st.text(max_size=9),
            first=_number,
            end=_number,
            time_ms=_number,
            is_open=st.booleans(),
        ),
        max_size=2,
    ).map(tuple),
    error=st.none() | st.text(max_size=9),
)
_bundle = st.builds(
    BundleProgress,
    bundle=st.integers(0, 99),
    epoch=_number,
    generation=_number,
    time_ms=_number,
    pid=_number,
    partitions=st.lists(_partition, max_size=3).map(tuple),
    pace=st.builds(
        PaceProgress,
        byte_rate_limit=st.none() | st.floats(1, 1e12),
        source_throttled_ms=_number,
        target_throttled_ms=_number,
    ),
)


def _example() -> BundleProgress:
    partition = PartitionProgress(topic="t", partition=3, remote="A.t", records=5)
    return BundleProgress(
        bundle=2, epoch=7, generation=1, time_ms=9, pid=1, partitions=(partition,)
    )


@given(_bundle)
def test_reports_survive(progress: BundleProgress) -> None:
    key, value = encode_progress(progress)
    assert key == b"bundle-%d" % progress.bundle
    assert decode_progress(value) == progress


@given(_bundle)
def test_releases_that_read_with_another_library_read_the_same(progress: BundleProgress) -> None:
    _, value = encode_progress(progress)
    fields = {"version": 1, **msgspec.to_builtins(progress)}
    assert read_json(value) == json.loads(json.dumps(fields))


def test_fields_of_a_newer_release_are_passed_over() -> None:
    fields = json.loads(encode_progress(_example())[1])
    fields["version"], fields["mood"] = 2, "good"
    fields["partitions"][0]["colour"] = "red"
    assert decode_progress(json.dumps(fields).encode()) == _example()


def test_numbers_that_an_older_release_did_not_write_are_zero_or_unknown() -> None:
    fields = json.loads(encode_progress(_example())[1])
    fields["partitions"] = [{"topic": "t", "partition": 3, "remote": "A.t"}]
    (partition,) = decode_progress(json.dumps(fields).encode()).partitions
    assert (partition.records, partition.position, partition.end) == (0, -1, -1)
    assert partition.source == ("t", 3)


@pytest.mark.parametrize(
    "value",
    [None, b"", b"null", b"[]", b"7", b"{}", b"\xff", b'{"partitions":[4]}', b'{"partitions":4}'],
)
def test_damage_is_named(value: bytes | None) -> None:
    with pytest.raises(SchemaError, match="progress record cannot be read"):
        decode_progress(value)


@pytest.mark.parametrize("name", ["bundle", "epoch", "generation", "time_ms", "pid", "partitions"])
def test_a_report_without_a_field_is_refused(name: str) -> None:
    fields = json.loads(encode_progress(_example())[1])
    del fields[name]
    with pytest.raises(SchemaError, match=name):
        decode_progress(json.dumps(fields).encode())
