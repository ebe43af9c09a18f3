"""Who is in a group, as its coordinator answers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import NotAuthorized
from mm2.kafka.groups.coordinator_answers import members_of_group
from mm2.kafka.groups.group_model import GroupMember, GroupMembers, GroupState


def _answer(*fields: object, code: int = 0) -> SimpleNamespace:
    return SimpleNamespace(groups=[(code, "g", *fields)])


def test_consumers_tell_what_they_were_given_and_what_their_assignor_says() -> None:
    metadata = ConsumerProtocolMemberMetadata(0, ["t"], b"mine").encode()
    assignment = ConsumerProtocolMemberAssignment(0, [("t", [0, 2])], b"").encode()
    members = [("m-1", "node", "/10.0.0.1", metadata, assignment), ("m-2", "n", "/h", b"", b"")]
    assert members_of_group("B", _answer("Stable", "consumer", "mm2", members)) == GroupMembers(
        state=GroupState.STABLE,
        protocol_type="consumer",
        members=(
            GroupMember(
                member_id="m-1",
                client_id="node",
                host="/10.0.0.1",
                user_data=b"mine",
                assigned=tuple(TopicPartition(TopicName("t"), n) for n in (0, 2)),
                subscribed=(TopicName("t"),),
            ),
            GroupMember(member_id="m-2", client_id="n", host="/h"),
        ),
    )


def test_what_workers_of_connect_say_is_not_looked_into() -> None:
    answer = _answer("Stable", "connect", "sessioned", [("m", "c", "/h", b"\1\2", b"\3")])
    (member,) = members_of_group("B", answer).members
    assert (member.user_data, member.assigned) == (b"", ())


def test_a_group_that_is_not_there_has_nobody() -> None:
    assert members_of_group("B", _answer("", "", "", [], code=69)).state is GroupState.DEAD
    dead = members_of_group("B", _answer("Dead", "", "", []))
    assert (dead.state, dead.members) == (GroupState.DEAD, ())


def test_who_may_not_ask_is_told() -> None:
    with pytest.raises(NotAuthorized, match="describe group g"):
        members_of_group("B", _answer("", "", "", [], code=30))


@pytest.mark.parametrize(
    "data", [b"\xff", b"\0\0\x7f\xff\xff\xff", b"\0\0\0\0\0\1\0\1\xff\0\0\0\0"]
)
def test_a_member_that_says_what_cannot_be_read_is_shown_all_the_same(data: bytes) -> None:
    answer = _answer("Stable", "consumer", "mm2", [("m", "c", "/h", data, data)])
    assert members_of_group("B", answer).members == (
        GroupMember(member_id="m", client_id="c", host="/h"),
    )
