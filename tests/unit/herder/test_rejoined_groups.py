"""When a node has its groups look whether flows are spread evenly."""

from __future__ import annotations

import asyncio

import pytest

from mm2.herder.election.group_election import Election, NodeAssignments
from mm2.protocol.member_metadata import Decision, decode_member, encode_decision
from tests.support.configs import config_of


def _election(share: NodeAssignments, *, may_lead: bool = True) -> Election:
    return Election(
        config_of(),
        "topic",
        node="n1",
        share=share,
        may_lead=lambda: may_lead,
        decided=lambda decided: None,
    )


def test_a_node_looks_again_when_another_one_has_got_a_flow() -> None:
    """It may have become the one with the most."""
    share = NodeAssignments(eligible=frozenset({"A->B"}))
    election = _election(share)
    looks = []
    for leader in ("n2", "n2", "n3"):
        changed = share.changed
        election._voter.decided(encode_decision(Decision(leader=leader)))
        looks.append(changed.is_set())
    assert looks == [True, False, True]


def test_a_node_that_leaves_says_at_once_that_it_leads_no_more() -> None:
    """So the flow's next leader is known before this one has drained."""
    share = NodeAssignments(eligible=frozenset({"A->B", "B->A"}))
    for flow in ("A->B", "B->A"):
        share.give(flow, 3)
    election = _election(share)
    said = decode_member(election._voter.subscription_user_data(), "id")
    assert (dict(said.leads), set(said.eligible)) == ({"A->B": 3, "B->A": 3}, {"A->B", "B->A"})
    share.unregister("A->B")
    said = decode_member(election._voter.subscription_user_data(), "id")
    assert (dict(said.leads), set(said.eligible)) == ({"B->A": 3}, {"B->A"})
    share.register("A->B")
    assert decode_member(election._voter.subscription_user_data(), "id").eligible == {
        "A->B",
        "B->A",
    }


def test_a_node_that_may_not_lead_claims_nothing() -> None:
    share = NodeAssignments(eligible=frozenset({"A->B", "B->A"}))
    share.give("A->B", 3)
    said = decode_member(_election(share, may_lead=False)._voter.subscription_user_data(), "id")
    assert not said.leads
    assert said.eligible == {"B->A"}


def test_a_node_says_whether_it_is_warm() -> None:
    share = NodeAssignments(eligible=frozenset({"A->B"}), is_warm=False)
    election = _election(share)
    assert not decode_member(election._voter.subscription_user_data(), "id").is_warm
    share.tell_warmth(True)
    assert decode_member(election._voter.subscription_user_data(), "id").is_warm
    assert decode_member(
        _election(NodeAssignments(eligible=frozenset()))._voter.subscription_user_data(), "id"
    ).is_warm


def test_a_node_that_starves_claims_nothing_until_it_is_warm() -> None:
    share = NodeAssignments(eligible=frozenset({"A->B", "B->A"}))
    share.give("A->B", 3)
    election = _election(share)
    share.tell_warmth(False)
    said = decode_member(election._voter.subscription_user_data(), "id")
    assert (dict(said.leads), set(said.eligible), said.is_warm) == ({}, set(), False)
    share.tell_warmth(True)
    said = decode_member(election._voter.subscription_user_data(), "id")
    assert (dict(said.leads), set(said.eligible), said.is_warm) == (
        {"A->B": 3},
        {"A->B", "B->A"},
        True,
    )


async def test_a_node_has_its_groups_look_again_whenever_it_is_warm_or_starves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    share = NodeAssignments(eligible=frozenset({"A->B"}), is_warm=False)
    election = _election(share)
    looks: asyncio.Queue[bool] = asyncio.Queue()
    monkeypatch.setattr(election, "rejoin", lambda: looks.put_nowait(share.is_warm))
    looking = asyncio.create_task(election._look_at_warmth())
    for is_warm in (True, False, True):
        await asyncio.sleep(0)
        share.tell_warmth(is_warm)
        assert await looks.get() is is_warm
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)
