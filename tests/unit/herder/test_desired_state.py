"""What operators say about a flow: round trips, damage, and what holds after all of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.model import CHECKPOINT_CONNECTOR, CONNECTORS, SOURCE_CONNECTOR
from mm2.errors import ConfigErrors, SchemaError
from mm2.herder.control.alteration_writer import known_alterations
from mm2.kafka.logs.read_log import Record
from mm2.protocol.command_records import (
    Alterations,
    ConnectorState,
    DesiredConnectorState,
    LiveSettings,
    RestartCommand,
)
from mm2.protocol.control_backlog import (
    KnownAlterations,
    desired_state_of,
    newer_alterations,
)
from mm2.protocol.control_codec import ControlRecord, NewerRecord, decode_control, encode_control
from mm2.protocol.control_records import DesiredFlowState, FlowState
from mm2.protocol.desired_state import DesiredState

_entries: st.SearchStrategy[ControlRecord] = st.one_of(
    st.builds(
        DesiredConnectorState,
        connector=st.sampled_from(CONNECTORS),
        state=st.sampled_from(ConnectorState),
        reason=st.text(),
        time_ms=st.integers(0, 1 << 50),
    ),
    st.builds(
        Alterations,
        changes=st.dictionaries(st.text(), st.none() | st.text()),
        time_ms=st.integers(0, 1 << 50),
        read=st.none() | st.integers(-1, 1 << 50),
    ),
    st.builds(
        RestartCommand,
        connector=st.sampled_from(CONNECTORS),
        task=st.none() | st.integers(0, 1000),
        id=st.text(),
        time_ms=st.integers(0, 1 << 50),
    ),
    st.builds(
        LiveSettings,
        epoch=st.integers(0, 1 << 50),
        byte_rate_limit=st.integers(-1, 1 << 50),
        flush_interval_s=st.floats(0, 1e9),
        transaction_s=st.none() | st.floats(0, 1e9),
    ),
)


@given(_entries)
def test_every_kind_survives(entry: ControlRecord) -> None:
    assert decode_control(*encode_control(entry)) == entry


@given(_entries, st.text(min_size=1).filter(lambda name: name not in {"id", "task"}))
def test_fields_of_newer_releases_are_passed_over(entry: ControlRecord, name: str) -> None:
    key, value = encode_control(entry)
    assert decode_control(key, json.dumps({name: 1, **json.loads(value)}).encode()) == entry


@pytest.mark.parametrize("key", [None, b"limit", b"configs", b"config-x", b"connector", b"lease-x"])
def test_kinds_that_are_not_known_are_passed_over(key: bytes | None) -> None:
    assert decode_control(key, b'{"version":1}') is None


def test_a_tombstone_says_nothing() -> None:
    assert decode_control(b"config", None) is None


@pytest.mark.parametrize("key", [b"config", b"settings", b"restart-X", b"connector-X"])
@pytest.mark.parametrize("value", [b"", b"{}", b"[]", b"7", b'{"state":"odd","changes":[]}'])
def test_damage_is_said(key: bytes, value: bytes) -> None:
    with pytest.raises(SchemaError, match="control record"):
        decode_control(key, value)


@pytest.mark.parametrize("key", [b"config", b"connector-X"])
def test_what_holds_in_a_newer_release_is_told_from_damage(key: bytes) -> None:
    """Who does not understand it must not lead (``ControlTopicState.newer``)."""
    with pytest.raises(NewerRecord, match="version 2"):
        decode_control(key, b'{"version":2,"changes":{},"state":"running"}')


@pytest.mark.parametrize("key", [b"settings", b"restart-X"])
def test_what_passes_in_a_newer_release_is_passed_over(key: bytes) -> None:
    with pytest.raises(SchemaError, match="version 2") as caught:
        decode_control(key, b'{"version":2,"id":"1","epoch":1}')
    assert not isinstance(caught.value, NewerRecord)


def _wanted(connector: str, state: ConnectorState, reason: str = "") -> DesiredConnectorState:
    return DesiredConnectorState(connector=connector, state=state, reason=reason)


def test_everything_runs_until_somebody_says_something() -> None:
    desired = DesiredState()
    assert {desired.state_of(each) for each in CONNECTORS} == {ConnectorState.RUNNING}
    assert desired.reason_of(SOURCE_CONNECTOR) == ""
    assert desired.then(None) == desired


def test_the_last_word_about_each_connector_counts() -> None:
    desired = DesiredState()
    for state in (ConnectorState.STOPPED, ConnectorState.PAUSED):
        desired = desired.then(_wanted(CHECKPOINT_CONNECTOR, state, state.value))
    assert desired.state_of(CHECKPOINT_CONNECTOR) is ConnectorState.PAUSED
    assert desired.reason_of(CHECKPOINT_CONNECTOR) == "paused"
    assert desired.state_of(SOURCE_CONNECTOR) is ConnectorState.RUNNING


def test_a_stopped_flow_stops_its_source_connector_only() -> None:
    desired = (
        DesiredState()
        .then(_wanted(SOURCE_CONNECTOR, ConnectorState.PAUSED, "p"))
        .then(DesiredFlowState(state=FlowState.STOPPED, reason="s"))
    )
    assert desired.state_of(SOURCE_CONNECTOR) is ConnectorState.STOPPED
    assert desired.reason_of(SOURCE_CONNECTOR) == "s"
    assert desired.state_of(CHECKPOINT_CONNECTOR) is ConnectorState.RUNNING
    resumed = desired.then(DesiredFlowState(state=FlowState.RUNNING))
    assert resumed.state_of(SOURCE_CONNECTOR) is ConnectorState.PAUSED
    assert resumed.reason_of(SOURCE_CONNECTOR) == "p"


def test_commands_and_damage_leave_what_holds_alone() -> None:
    altered = Alterations(changes={"tasks.max": "3"}, time_ms=5)
    pairs = [
        encode_control(DesiredFlowState(state=FlowState.STOPPED, reason="r")),
        encode_control(altered),
        encode_control(RestartCommand(connector=SOURCE_CONNECTOR, id="1")),
        (b"config", b"damaged"),
        (b"bundle-0", b"damaged"),
    ]
    records = [
        Record(topic="t", partition=0, offset=n, timestamp_ms=0, key=key, value=value, headers=())
        for n, (key, value) in enumerate(pairs)
    ]
    desired = desired_state_of(records)
    assert desired.alterations == altered
    assert desired.flow.reason == "r"


@pytest.mark.parametrize(
    ("key", "value", "newer"),
    [
        (b"config", b'{"version":2}', "control record 'config' is of version 2, we know 1"),
        (b"config", b'{"version":1,"changes":{}}', None),
        (b"config", b"damaged", None),
        (b"connector-c", b'{"version":2}', None),
    ],
)
def test_what_a_newer_release_has_altered_is_not_taken_for_nothing(
    key: bytes, value: bytes, newer: str | None
) -> None:
    record = Record(topic="t", partition=0, offset=0, timestamp_ms=0, key=key, value=value)
    assert newer_alterations(record) == newer
    known = KnownAlterations().then(record)
    if newer is None:
        assert known_alterations(known) == Alterations(changes={})
    else:
        with pytest.raises(ConfigErrors, match="only such a one can alter it: control record"):
            known_alterations(known)
