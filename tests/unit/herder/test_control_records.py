"""Records of the control topic: round trips, and what damage ends in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import SchemaError
from mm2.protocol.control_codec import NewerRecord, decode_control, encode_control, encode_gap
from mm2.protocol.control_records import (
    Assignment,
    BundleState,
    DesiredFlowState,
    FlowState,
    Lease,
    LeaseState,
    MissingTopic,
)
from mm2.protocol.progress_records import GapReport

_topics = st.text(max_size=6).map(TopicName)
_partitions = st.dictionaries(
    st.builds(TopicPartition, _topics, st.integers(0, 50)), _topics, max_size=8
)
_assignments = st.builds(
    Assignment,
    index=st.integers(0, 200),
    epoch=st.integers(0, 1 << 40),
    generation=st.integers(0, 1 << 40),
    state=st.sampled_from(BundleState),
    partitions=_partitions,
)


@given(_assignments)
def test_assignments_survive(assignment: Assignment) -> None:
    assert decode_control(*encode_control(assignment)) == assignment


@given(
    st.builds(
        Lease,
        epoch=st.integers(0, 1 << 40),
        owner=st.text(),
        state=st.sampled_from(LeaseState),
        time_ms=st.integers(0, 1 << 50),
        lasts_ms=st.integers(0, 1 << 30),
        digest=st.text(),
        release=st.text(),
    )
)
def test_leases_survive(lease: Lease) -> None:
    assert decode_control(*encode_control(lease)) == lease


@given(
    st.builds(
        DesiredFlowState,
        state=st.sampled_from(FlowState),
        reason=st.text(),
        time_ms=st.integers(0, 1 << 50),
        by=st.text(),
    )
)
def test_what_operators_want_survives(wanted: DesiredFlowState) -> None:
    assert decode_control(*encode_control(wanted)) == wanted


@given(st.builds(MissingTopic, topic=_topics, epoch=st.integers(0, 1 << 40)))
def test_wishes_for_topics_survive(missing: MissingTopic) -> None:
    assert decode_control(*encode_control(missing)) == missing


def test_gaps_are_kept_for_people_and_nobody_acts_on_them() -> None:
    where = TopicPartition(TopicName("t-1"), 2)
    report = GapReport(kind="records-expired", first=3, end=5, time_ms=7)
    key, value = encode_gap(where, report)
    assert key == b"gap-records-expired-2-t-1"
    assert json.loads(value) == {
        "version": 1,
        "topic": "t-1",
        "partition": 2,
        "kind": "records-expired",
        "first": 3,
        "end": 5,
        "time_ms": 7,
        "is_open": False,
    }
    assert decode_control(key, value) is None


def test_partitions_of_one_topic_are_listed_together() -> None:
    """Thousands of partitions must fit into one record."""
    partitions = {TopicPartition(TopicName("t"), n): TopicName("A.t") for n in (2, 0, 1)}
    _, value = encode_control(
        Assignment(index=3, epoch=7, generation=1, state=BundleState.RUNNING, partitions=partitions)
    )
    assert json.loads(value)["topics"] == [{"topic": "t", "remote": "A.t", "partitions": [0, 1, 2]}]


def test_the_key_names_the_bundle() -> None:
    key, _ = encode_control(Assignment(index=12, epoch=1, generation=1, state=BundleState.STOPPED))
    assert key == b"bundle-12"


@pytest.mark.parametrize(
    ("key", "value"),
    [(None, b"{}"), (b"lease", None), (b"bundle-0", None), (b"something-new", b'{"version":9}')],
)
def test_tombstones_and_unknown_kinds_are_nothing(key: bytes | None, value: bytes | None) -> None:
    assert decode_control(key, value) is None


def test_fields_of_a_newer_release_are_passed_over() -> None:
    key, value = encode_control(Lease(epoch=4, owner="n"))
    newer = json.dumps({**json.loads(value), "more": [1]}).encode()
    assert decode_control(key, newer) == Lease(epoch=4, owner="n")


@pytest.mark.parametrize("value", [b"", b"{", b"[]", b"5", b"{}", b"\xff", b'{"epoch":"x"}'])
@pytest.mark.parametrize("key", [b"lease", b"bundle-0", b"missing-t"])
def test_damage_is_named(key: bytes, value: bytes) -> None:
    with pytest.raises(SchemaError, match=f"control record '{key.decode()}' cannot be read"):
        decode_control(key, value)


@pytest.mark.parametrize(
    "change",
    [
        {"state": "dancing"},
        {"topics": 4},
        {"topics": [4]},
        {"topics": [{"topic": "t"}]},
        {"topics": [{"topic": "t", "remote": "r", "partitions": 4}]},
        {"generation": None},
    ],
)
def test_a_damaged_assignment_is_refused(change: dict[str, object]) -> None:
    key, value = encode_control(
        Assignment(index=0, epoch=1, generation=1, state=BundleState.RUNNING)
    )
    with pytest.raises(SchemaError, match="bundle-0"):
        decode_control(key, json.dumps({**json.loads(value), **change}).encode())


def test_a_bundle_without_a_number_is_refused() -> None:
    with pytest.raises(SchemaError, match="bundle-x"):
        decode_control(b"bundle-x", b"{}")


def test_a_lease_of_the_first_release_counts_until_somebody_else_leads() -> None:
    lease = decode_control(b"lease", b'{"version":1,"epoch":7,"owner":"n"}')
    assert lease == Lease(epoch=7, owner="n")
    assert isinstance(lease, Lease)
    assert not lease.is_released
    assert lease.lasts_ms == 0


@pytest.mark.parametrize("key", [b"lease", b"bundle-3", b"flow", b"missing-t"])
def test_what_a_newer_release_writes_is_told_from_damage(key: bytes) -> None:
    with pytest.raises(NewerRecord, match="version 2"):
        decode_control(key, b'{"version":2}')


@pytest.mark.parametrize(
    ("value", "lease"),
    [
        (b'{"version":2,"epoch":7,"owner":"n","state":"dancing"}', Lease(epoch=7, owner="n")),
        (b'{"version":2,"epoch":"x","owner":"n"}', None),
        (b'{"version":2,"owner":"n"}', None),
    ],
)
def test_whom_a_lease_of_a_newer_release_names_is_read_all_the_same(
    value: bytes, lease: Lease | None
) -> None:
    with pytest.raises(NewerRecord) as raised:
        decode_control(b"lease", value)
    assert raised.value.lease == lease


def test_of_other_records_of_a_newer_release_nothing_is_read() -> None:
    with pytest.raises(NewerRecord) as raised:
        decode_control(b"bundle-3", b'{"version":2,"epoch":7,"owner":"n"}')
    assert raised.value.lease is None


def test_kinds_of_newer_releases_are_passed_over() -> None:
    assert decode_control(b"mood-1", b'{"version":9}') is None
