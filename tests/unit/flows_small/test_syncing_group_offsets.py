"""Offsets of groups on the target, set from what is known of them (behaviours section 9)."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from flows.checkpoint.checkpoint_store import CheckpointStore
from flows.checkpoint.group_offset_sync import GroupOffsetSync
from mm2.core.internal_records import Checkpoint
from mm2.core.translation.runs import Logs
from mm2.kafka.groups.group_model import Group, GroupState, GroupType
from tests.support.fake_groups import FakeGroups
from tests.support.followed import G1, G2, G3, at, checkpoint, following
from tests.support.virtual_time import run


def syncing(target: FakeGroups, *known: Checkpoint) -> GroupOffsetSync:
    groups = following(FakeGroups("A"))
    groups.current = frozenset(each.group for each in known)
    return GroupOffsetSync(target, groups, CheckpointStore(known))


def committed(target: FakeGroups, group: str) -> dict[str, int]:
    return {where.topic: each.offset for where, each in target.offsets.get(group, {}).items()}


def test_idle_groups_go_forward_and_nothing_is_ever_deleted() -> None:
    """C299-C303, C306-C309."""
    target = FakeGroups("B")
    target.put(G1, {at("A.t1"): 100, at("A.t2"): 51, at("own"): 7})
    target.put(G2, {at("A.t1"): 200}, epoch=4)
    sync = syncing(
        target,
        checkpoint(G1, 101, "A.t1"),
        checkpoint(G1, 51, "A.t2"),
        checkpoint(G1, 3, "A.t3"),
        checkpoint(G2, 101, "A.t1"),
        checkpoint(G3, 9, "A.t1"),
    )
    with capture_logs() as events:
        run(sync.round())
    assert committed(target, G1) == {"A.t1": 101, "A.t2": 51, "A.t3": 3, "own": 7}
    assert committed(target, G2) == {"A.t1": 200}
    assert committed(target, G3) == {"A.t1": 9}
    assert {(each["event"], each["group"]) for each in events} == {
        ("group_offsets.synced", G1),
        ("group_offsets.synced", G3),
    }


def test_a_group_is_not_given_what_its_copy_does_not_have_yet() -> None:
    """The copy was made anew, and with the old one the broker has forgotten the groups' offsets."""
    target = FakeGroups("B", ends={at("A.t1"): 4, at("A.t2"): 51})
    target.put(G1)
    sync = syncing(target, *(checkpoint(G1, 51, topic) for topic in ("A.t1", "A.t2", "A.t3")))
    with capture_logs() as events:
        run(sync.round())
    assert committed(target, G1) == {"A.t2": 51, "A.t3": 51}
    assert [(each["event"], each.get("partitions")) for each in events] == [
        ("group_offsets.beyond_log", 1),
        ("group_offsets.synced", 2),
    ]
    target.ends[at("A.t1")] = 51
    run(sync.round())
    assert committed(target, G1)["A.t1"] == 51


def test_a_group_is_not_given_offsets_of_a_copy_that_is_gone() -> None:
    """However long the new one is by now."""
    ids: dict[str, UUID | None] = {f"A.t{n}": UUID(int=n) for n in (1, 2)}
    target = FakeGroups("B", ends={at("A.t1"): 99, at("A.t2"): 99}, ids=ids)
    target.put(G1)
    known = [
        replace(checkpoint(G1, 51, topic), logs=Logs(remote=UUID(int=1)))
        for topic in ("A.t1", "A.t2", "A.t3")
    ]
    run(syncing(target, *known).round())
    assert committed(target, G1) == {"A.t1": 51, "A.t3": 51}


def test_a_target_that_does_not_tell_its_topics_is_given_offsets_all_the_same() -> None:
    """It decides on writing."""
    target = FakeGroups("B", ends={at("A.t"): 99}, tells_topics=False)
    target.put(G1)
    with capture_logs() as events:
        run(syncing(target, replace(checkpoint(G1, 5), logs=Logs(remote=UUID(int=1)))).round())
    assert committed(target, G1) == {"A.t": 5}
    assert [each["event"] for each in events] == [
        "topic_ids.unknown",
        "group_offsets.ends_unknown",
        "group_offsets.synced",
    ]


@pytest.mark.parametrize("state", [each for each in GroupState if each is not GroupState.EMPTY])
def test_a_group_with_members_is_named_once_and_left_alone(state: GroupState) -> None:
    """C304, C309, KAFKA-19794 (C424)."""
    target = FakeGroups("B")
    target.put(G1, {at("A.t"): 1}, state)
    sync = syncing(target, checkpoint(G1, 5))
    with capture_logs() as events:
        run(sync.round())
        run(sync.round())
    assert committed(target, G1) == {"A.t": 1}
    assert [each["event"] for each in events] == ["group_offsets.active"]
    assert sync.active == {G1}
    target.put(G1)
    run(sync.round())
    assert (committed(target, G1), sync.active) == ({"A.t": 5}, frozenset())


def test_a_group_about_which_nothing_is_known_is_left_alone() -> None:
    """C300, C309: Java takes it for new, and may set it back (C424)."""
    target = FakeGroups("B", failing={G1})
    target.put(G1, {at("A.t"): 90})
    sync = syncing(target, checkpoint(G1, 5), checkpoint(G2, 6))
    with capture_logs() as events:
        run(sync.round())
    target.failing = set()
    assert (committed(target, G1), committed(target, G2)) == ({"A.t": 90}, {"A.t": 6})
    assert [each["event"] for each in events if each["log_level"] == "warning"] == [
        "group_offsets.not_described"
    ]


def test_a_member_that_joins_in_the_last_instant_keeps_its_group() -> None:
    """KAFKA-19794 (C424): the broker refuses us, and that is all."""
    target = FakeGroups("B")
    target.put(G1, {at("A.t"): 1})
    target.before_commit = lambda: target.put(G1, state=GroupState.PREPARING_REBALANCE)
    with capture_logs() as events:
        run(syncing(target, checkpoint(G1, 5)).round())
    assert committed(target, G1) == {"A.t": 1}
    assert [each["event"] for each in events] == ["group_offsets.refused"]


@pytest.mark.parametrize(
    ("state", "epoch", "offset", "reason"),
    [
        (GroupState.STABLE, 3, 5, "members have joined"),
        (GroupState.EMPTY, 5, 5, "members have come and gone"),
        (GroupState.EMPTY, 3, 9, "other offsets were committed"),
    ],
)
def test_what_others_did_meanwhile_is_reported(
    state: GroupState, epoch: int, offset: int, reason: str
) -> None:
    """KAFKA-19794 (C424): what was looked at right before is looked at again right after."""
    target = FakeGroups("B")
    target.put(G1, {at("A.t"): 1}, epoch=3)
    target.after_commit = lambda: target.put(G1, {at("A.t"): offset}, state, epoch)
    with capture_logs() as events:
        run(syncing(target, checkpoint(G1, 5)).round())
    assert [(each["event"], each.get("reason")) for each in events] == [
        ("group_offsets.synced", None),
        ("group_offsets.raced", reason),
    ]


def test_a_group_of_another_type_is_named_once_and_left_alone() -> None:
    """Brokers would let offsets of an empty streams group be set."""
    target = FakeGroups("B", others=[Group(G1, GroupState.EMPTY, GroupType.STREAMS)])
    sync = syncing(target, checkpoint(G1, 5))
    with capture_logs() as events:
        run(sync.round())
        run(sync.round())
    assert target.offsets == {}
    assert [each["event"] for each in events] == ["group_offsets.other_type"]
