"""Records of Connect's config topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.connect.config_records import (
    Base,
    ConnectorConfig,
    ConnectorTarget,
    Entry,
    Restart,
    TargetState,
    decode,
    decode_base,
    encode,
    encode_base,
)
from mm2.errors import SchemaError

_CONFIGS = st.none() | st.dictionaries(st.text(), st.text())
_ENTRIES = st.one_of(
    st.builds(ConnectorConfig, st.text(), _CONFIGS),
    st.builds(ConnectorTarget, st.text(), st.none() | st.sampled_from(TargetState)),
    st.builds(Restart, st.text(), st.booleans(), st.booleans()),
)


@given(_ENTRIES)
def test_what_is_written_can_be_read(entry: Entry) -> None:
    assert decode(*encode(entry)) == entry


@given(st.none() | st.builds(Base, st.integers(-1), st.integers(0)))
def test_what_entries_were_made_from_stands_in_headers(base: Base | None) -> None:
    assert decode_base([("other", None), *encode_base(base)]) == base


@pytest.mark.parametrize("value", [None, b"", b"1", b"a,b", b"1,2,3"])
def test_headers_of_others_say_nothing(value: bytes | None) -> None:
    assert decode_base([("mm2.base", value)]) is None


@pytest.mark.parametrize(
    ("entry", "key", "value"),
    [
        (ConnectorConfig("a", {"k": "v"}), b"connector-a", b'{"properties":{"k":"v"}}'),
        (ConnectorConfig("a", None), b"connector-a", None),
        (
            ConnectorTarget("a", TargetState.STOPPED),
            b"target-state-a",
            b'{"state":"PAUSED","state.v2":"STOPPED"}',
        ),
        (
            ConnectorTarget("a", TargetState.STARTED),
            b"target-state-a",
            b'{"state":"STARTED","state.v2":"STARTED"}',
        ),
        (
            Restart("a", include_tasks=True, only_failed=False),
            b"restart-connector-a",
            b'{"include-tasks":true,"only-failed":false}',
        ),
    ],
)
def test_records_are_those_of_connect(entry: Entry, key: bytes, value: bytes | None) -> None:
    assert encode(entry) == (key, value)
    assert decode(key, value) == entry


def test_records_of_workers_before_stopped_connectors_came_are_understood() -> None:
    assert decode(b"target-state-a", b'{"state":"PAUSED"}') == ConnectorTarget(
        "a", TargetState.PAUSED
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"task-a-0", b'{"properties":{}}'),
        (b"commit-a", b'{"tasks":1}'),
        (b"session-key", b'{"key":"x"}'),
        (b"restart-connector-a", None),
        (None, b"{}"),
    ],
)
def test_connects_other_records_mean_nothing_here(key: bytes | None, value: bytes | None) -> None:
    assert decode(key, value) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"connector-a", b"{"),
        (b"connector-a", b"{}"),
        (b"connector-a", b'{"properties":[]}'),
        (b"target-state-a", b'{"state":"LOST"}'),
        (b"target-state-a", b"[]"),
        (b"restart-connector-a", b"{}"),
    ],
)
def test_damaged_records_are_named(key: bytes, value: bytes) -> None:
    with pytest.raises(SchemaError, match=key.decode()):
        decode(key, value)
