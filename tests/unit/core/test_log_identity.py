"""The header that ties a position to the logs it was taken from."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.positions.log_identity import HEADER, Lineage

_LINEAGES = st.builds(
    Lineage,
    topic_id=st.none() | st.uuids(),
    remote_id=st.none() | st.uuids(),
    leader_epoch=st.integers(-1, 2**31 - 1),
    remote_end=st.integers(-1, 2**62),
    caught_up_ms=st.integers(-1, 2**62),
    cut_at=st.none() | st.integers(0, 2**62),
)


@given(_LINEAGES)
def test_a_lineage_is_read_as_it_was_written(lineage: Lineage) -> None:
    assert Lineage.of([("other", b"x"), (HEADER, lineage.encode())]) == lineage


@given(_LINEAGES)
def test_what_a_later_release_adds_is_passed_over(lineage: Lineage) -> None:
    fields = json.loads(lineage.encode())
    assert Lineage.decode(json.dumps(fields | {"version": 2, "more": [1]}).encode()) == lineage


@pytest.mark.parametrize(
    "value",
    [b"", b"null", b"[]", b"{}", b"\xff", b'{"topic":7,"remote":null,"epoch":1,"caughtUp":1}'],
)
def test_of_a_damaged_header_nothing_is_known(value: bytes) -> None:
    assert Lineage.decode(value) == Lineage()


@pytest.mark.parametrize("headers", [[], [("other", b"x")], [(HEADER, None)]])
def test_of_a_position_without_the_header_nothing_is_known(
    headers: list[tuple[str, bytes | None]],
) -> None:
    assert Lineage.of(headers) == Lineage()


def test_an_id_or_an_epoch_tells_a_log() -> None:
    assert Lineage(topic_id=UUID(int=1)).is_known
    assert Lineage(leader_epoch=0).is_known
    assert not Lineage(remote_id=UUID(int=1), caught_up_ms=5).is_known
