"""What nodes tell a flow's group, and what it answers, survive; what is damaged harms nobody."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.leadership.placement import Member
from mm2.protocol.member_metadata import (
    Decision,
    decision,
    decode_decision,
    decode_member,
    encode_decision,
    encode_member,
    names_of_one_cluster,
)

_MEMBERS = st.builds(
    Member,
    node=st.text(),
    leads=st.dictionaries(st.text(), st.integers(0, 1 << 40)),
    eligible=st.frozensets(st.text()),
    release=st.text(),
    digest=st.text(),
    is_warm=st.booleans(),
)
_DAMAGED = st.binary() | st.sampled_from([b"[]", b"1", b"{}", b'{"node":"n","leads":[]}', b"null"])


@given(_MEMBERS)
def test_members_survive(member: Member) -> None:
    assert decode_member(encode_member(member), "id") == member


@given(_DAMAGED)
def test_a_member_that_cannot_be_understood_has_its_id_only(data: bytes) -> None:
    assert decode_member(data, "id") == Member(node="id")


@given(st.builds(Decision, leader=st.text(), nodes=st.dictionaries(st.text(), st.text())))
def test_decisions_survive(decided: Decision) -> None:
    assert decode_decision(encode_decision(decided)) == decided


@given(_DAMAGED | st.none())
def test_a_damaged_decision_is_none(data: bytes | None) -> None:
    assert decode_decision(data) is None


def test_what_a_newer_release_adds_is_passed_over() -> None:
    member = Member(node="n", leads={"A->B": 3}, eligible=frozenset({"A->B"}))
    fields = json.loads(encode_member(member))
    data = json.dumps({**fields, "version": 2, "moods": ["calm"]}).encode()
    assert decode_member(data, "id") == member


def test_a_decision_names_all_nodes() -> None:
    members = [Member(node="n1", digest="x"), Member(node="n2")]
    assert decision("n1", members) == Decision(leader="n1", nodes={"n1": "x", "n2": ""})


def test_a_member_of_a_release_that_does_not_say_so_is_warm() -> None:
    assert decode_member(b'{"version":1,"node":"n"}', "id").is_warm


def test_flows_of_one_process_that_share_a_group_name_their_targets() -> None:
    nodes = ["h/1/S", "h/1/T", "h/2/T", "other/1/X"]
    assert names_of_one_cluster("h/1/T", nodes) == ["S", "T"]
    assert names_of_one_cluster("h/2/T", nodes) == ["T"]
    assert names_of_one_cluster("h/1", ["h/1", "h/2"]) == [], "workers of Connect"
