"""What an instance says in its group, and what it decides for it."""

from __future__ import annotations

from mm2.core.offset_manager.ensemble import Ensemble, Instance, JoiningInstance
from mm2.offset_manager.voter import LogVoter
from mm2.protocol.ensemble_records import (
    decode_ensemble,
    decode_joining,
    encode_joining,
)

ME = Instance(name="me", host="h", port=1)
OTHER = Instance(name="other", host="h", port=2)


def _voter(heard: list[Ensemble], leads: frozenset[int] = frozenset()) -> LogVoter:
    return LogVoter(ME, partitions=4, leads=lambda: leads, brokers={1}, decided=heard.append)


def test_an_instance_says_who_it_is_and_what_it_leads_now() -> None:
    said = decode_joining(_voter([], frozenset({2, 3})).subscription_user_data())
    assert said == JoiningInstance(instance=ME, leads=frozenset({2, 3}))


def test_each_log_partition_gets_a_leader_that_keeps_what_it_has() -> None:
    voter = _voter([], frozenset({0, 1}))
    said = {
        "m-1": voter.subscription_user_data(),
        "m-2": encode_joining(JoiningInstance(instance=OTHER, leads=frozenset({3}))),
    }
    member, decision = voter.decide(said)
    made = decode_ensemble(decision)
    assert member in said
    assert made is not None
    assert made.led_by("me") == {0, 1}
    assert made.led_by("other") == {2, 3}


def test_members_that_say_nothing_that_can_be_read_lead_nothing() -> None:
    voter = _voter([])
    _, decision = voter.decide({"m-1": voter.subscription_user_data(), "m-2": b"{", "m-3": b""})
    made = decode_ensemble(decision)
    assert made is not None
    assert [each.name for each in made.instances] == ["me"]
    assert made.led_by("me") == {0, 1, 2, 3}
    _, alone = voter.decide({"m-2": b"nothing"})
    assert decode_ensemble(alone) is not None


def test_decisions_are_heard_and_what_is_none_is_passed_over() -> None:
    heard: list[Ensemble] = []
    voter = _voter(heard)
    _, decision = voter.decide({"m-1": voter.subscription_user_data()})
    voter.decided(b"nothing")
    voter.decided(decision)
    assert [each.led_by("me") for each in heard] == [{0, 1, 2, 3}]
