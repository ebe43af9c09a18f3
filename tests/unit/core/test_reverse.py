"""
Which offsets of groups are about copies, and what they become in the originals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

import pytest

from mm2.core.filters import build_topic_filter
from mm2.core.internal_records import Checkpoint
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy, build_policy
from mm2.core.topics.cycle_detection import should_replicate_topic
from mm2.core.translation.checkpoint_rules import CommittedOffset, checkpoints_for_group
from mm2.core.translation.offset_translation import MappedOffset
from mm2.core.translation.returned_groups import ReturningGroups, SyncedOffsets
from mm2.core.translation.reverse_translation import (
    BidirectionalRenaming,
    BidirectionalTranslator,
    Copies,
    TopicOrCopyFilter,
)
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs

A, B = ClusterAlias("A"), ClusterAlias("B")
THERE, BACK = SourceAndTarget(A, B), SourceAndTarget(B, A)
GROUP = GroupId("g")
IDENTITY = {"replication.policy.class": "IdentityReplicationPolicy"}


@dataclass(frozen=True)
class Known:
    """Answers one offset for each partition, in either direction."""

    offsets: Mapping[TopicPartition, MappedOffset] = field(default_factory=dict)
    ids: Mapping[TopicPartition, Logs] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)

    def explain(self, partition: TopicPartition, upstream: int) -> MappedOffset | None:
        del upstream
        return self.offsets.get(partition)

    def reverse(self, partition: TopicPartition, downstream: int) -> MappedOffset | None:
        del downstream
        return self.offsets.get(partition)

    def told_to(self, partition: TopicPartition) -> int | None:
        return self.ends.get(partition)

    def logs(self, partition: TopicPartition) -> Logs:
        return self.ids.get(partition, UNKNOWN_LOGS)


def _policy(flow: SourceAndTarget, **properties: str) -> ReplicationPolicy:
    aliases = {"source.cluster.alias": flow.source, "target.cluster.alias": flow.target}
    return build_policy({**aliases, **properties})


def _copies(topics: str = ".*", **properties: str) -> Copies:
    policy = _policy(THERE, **properties)
    accepts = partial(
        should_replicate_topic,
        flow=THERE,
        policy=policy,
        topic_filter=build_topic_filter({"topics": topics}),
        heartbeats_replication=False,
    )
    return Copies(A, policy, accepts)


def _at(topic: str, number: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), number)


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("A.orders", "orders"),
        ("A.C.orders", "C.orders"),
        ("orders", None),
        ("C.orders", None),
        ("C.A.orders", None),
        ("A.B.orders", None),
        ("A.mm2-offset-syncs.B.internal", None),
        ("A.__transactions", None),
        ("A.excluded", None),
    ],
)
def test_a_copy_is_what_the_flow_mirrors_under_the_name_it_gives(
    copy: str, original: str | None
) -> None:
    """Unwrapped by one name only: A has C's topic as C.orders (unlike C286)."""
    copies = _copies("(?!excluded).*")
    assert copies.original(TopicName(copy)) == original
    assert copies.original(TopicName(copy)) == original
    if original is not None:
        assert copies.copied_partition(_at(original, 3)) == _at(copy, 3)


def test_without_renaming_every_mirrored_topic_may_be_a_copy() -> None:
    copies = _copies("orders", **IDENTITY)
    assert copies.original_partition(_at("orders", 2)) == _at("orders", 2)
    assert copies.copied_partition(_at("orders", 2)) == _at("orders", 2)
    assert copies.original_partition(_at("local", 2)) is None
    assert copies.copied_partition(_at("local", 2)) is None


class Vague(ReplicationPolicy):
    """Takes every topic for a copy of A, and names the original of some only."""

    def format_remote_topic(self, source: ClusterAlias, topic: TopicName) -> TopicName:
        return TopicName(f"{source}.{topic}")

    def topic_source(self, topic: TopicName) -> ClusterAlias | None:
        return A if topic != "theirs" else None

    def upstream_topic(self, topic: TopicName) -> TopicName | None:
        return TopicName("one") if topic != "strange" else None


@pytest.mark.parametrize("topic", ["strange", "A.two", "theirs"])
def test_a_topic_that_the_policy_cannot_explain_is_no_copy(topic: str) -> None:
    copies = Copies(A, Vague(), lambda _: True)
    assert copies.original(TopicName("A.one")) == "one"
    assert copies.original(TopicName(topic)) is None


def test_offsets_in_copies_are_translated_back_and_others_on() -> None:
    onward = Known({_at("local"): MappedOffset(7, exact=True)})
    back = Known({_at("orders"): MappedOffset(40, exact=True)})
    both = BidirectionalTranslator(onward, back, _copies())
    assert both.explain(_at("A.orders"), 50) == MappedOffset(40, exact=True)
    assert both.explain(_at("local"), 5) == MappedOffset(7, exact=True)
    assert both.explain(_at("A.unknown"), 5) is None
    assert both.explain(_at("unknown"), 5) is None


def test_a_way_back_names_the_topics_the_other_way_round() -> None:
    here, there = UUID(int=1), UUID(int=2)
    onward = Known(ids={_at("local"): Logs(here, there)})
    back = Known(ids={_at("orders"): Logs(source=there, remote=here)})
    both = BidirectionalTranslator(onward, back, _copies())
    assert both.logs(_at("local")) == Logs(here, there)
    assert both.logs(_at("A.orders")) == Logs(here, there)
    assert both.logs(_at("A.unknown")) == UNKNOWN_LOGS


@pytest.mark.parametrize(("onward", "back", "expected"), [(60, 40, 40), (30, 40, 30), (-1, 40, -1)])
def test_where_both_directions_copy_a_topic_the_lower_offset_is_taken(
    onward: int, back: int, expected: int
) -> None:
    """With IdentityReplicationPolicy both ways, which mirrors in a circle (C159, C418)."""
    both = BidirectionalTranslator(
        Known({_at("orders"): MappedOffset(onward, exact=True)}),
        Known({_at("orders"): MappedOffset(back, exact=True)}),
        _copies(**IDENTITY),
    )
    assert both.explain(_at("orders"), 50) == MappedOffset(expected, exact=False)


@pytest.mark.parametrize(
    ("told_to", "expected"),
    [
        (None, None),
        (40, MappedOffset(40, exact=False)),
        (60, MappedOffset(60, exact=True)),
        (70, MappedOffset(60, exact=True)),
    ],
)
def test_what_the_opposite_flow_has_not_copied_yet_is_not_skipped(
    told_to: int | None, expected: MappedOffset | None
) -> None:
    onward = Known({_at("orders"): MappedOffset(60, exact=True)})
    back = Known(ends={} if told_to is None else {_at("orders"): told_to})
    both = BidirectionalTranslator(onward, back, _copies(**IDENTITY))
    assert both.explain(_at("orders"), 50) == expected
    assert both.explain(_at("local"), 50) is None


def test_without_exact_runs_nobody_waits_for_what_is_never_told() -> None:
    onward = Known({_at("orders"): MappedOffset(60, exact=True)})
    both = BidirectionalTranslator(onward, Known(), _copies(**IDENTITY), tells_all=False)
    assert both.explain(_at("orders"), 50) == MappedOffset(60, exact=True)


def test_topics_count_that_are_mirrored_or_copies() -> None:
    mirrored = build_topic_filter({"topics": "local"})
    assert TopicOrCopyFilter(mirrored, _copies("orders")).should_replicate_topic(
        TopicName("A.orders")
    )
    assert TopicOrCopyFilter(mirrored, _copies("orders")).should_replicate_topic(TopicName("local"))
    assert not TopicOrCopyFilter(mirrored, _copies("orders")).should_replicate_topic(
        TopicName("A.x")
    )
    assert TopicOrCopyFilter(None, _copies("orders")).should_replicate_topic(TopicName("A.orders"))
    assert not TopicOrCopyFilter(None, _copies("orders")).should_replicate_topic(TopicName("local"))


def test_checkpoints_of_a_flow_lead_its_groups_on_and_back() -> None:
    """C285, and what C286 promises but cannot keep without the opposite flow's syncs."""
    translator = BidirectionalTranslator(
        Known({_at("local"): MappedOffset(7, exact=True)}),
        Known(
            {_at("orders"): MappedOffset(40, exact=True), _at("C.t"): MappedOffset(3, exact=False)}
        ),
        _copies(),
    )
    found = checkpoints_for_group(
        GROUP,
        {
            _at("A.orders"): CommittedOffset(50, "note"),
            _at("A.C.t"): CommittedOffset(6),
            _at("local"): CommittedOffset(5),
            _at("other"): CommittedOffset(5),
        },
        renaming=BidirectionalRenaming(
            BACK, _policy(BACK), build_topic_filter({"topics": "local"}), _copies()
        ),
        translator=translator,
        last={},
    )
    assert list(found) == [
        Checkpoint(GROUP, _at("orders"), 50, 40, "note", exact=True),
        Checkpoint(GROUP, _at("C.t"), 6, 3),
        Checkpoint(GROUP, _at("B.local"), 5, 7, exact=True),
    ]


def _carried(*offsets: int) -> SyncedOffsets:
    carried = SyncedOffsets()
    for offset in offsets:
        carried.note(Checkpoint(GROUP, _at("A.orders"), 100 + offset, offset))
    carried.backlog_read()
    return carried


def _own_commits(carried: SyncedOffsets, offset: int, last: Checkpoint | None = None) -> bool:
    committed = {_at("A.orders"): CommittedOffset(offset), _at("local"): CommittedOffset(3)}
    known = {_at("A.orders"): last}
    found = ReturningGroups(_copies(), carried).own_commits(GROUP, committed, known.get)
    assert found.pop(_at("local")) == CommittedOffset(3)
    return bool(found)


def test_what_a_group_was_given_in_a_copy_is_not_carried_back() -> None:
    assert not _own_commits(_carried(50), 50)
    assert not _own_commits(_carried(50), 20)
    assert _own_commits(_carried(50), 51)
    assert _own_commits(_carried(), 0)


FIRST, SECOND, THIRD = (UUID(int=number) for number in range(1, 4))


@pytest.mark.parametrize(
    ("former", "told", "is_moved"),
    [
        (Logs(FIRST, SECOND), Logs(FIRST, THIRD), True),
        (Logs(THIRD, SECOND), Logs(FIRST, SECOND), False),
        (Logs(FIRST, SECOND), Logs(FIRST, SECOND), False),
        (Logs(FIRST, SECOND), UNKNOWN_LOGS, False),
        (UNKNOWN_LOGS, Logs(FIRST, SECOND), False),
    ],
    ids=["a copy made anew", "an original made anew", "a reset", "Java's", "after Java's"],
)
def test_what_a_group_was_given_in_a_former_copy_counts_no_more(
    former: Logs, told: Logs, *, is_moved: bool
) -> None:
    """It reads on to 20 in the new one, and was carried to 50 in the former."""
    carried = SyncedOffsets()
    carried.note(Checkpoint(GROUP, _at("A.orders"), 100, 50, logs=former))
    for offset in (0, 10):
        carried.note(Checkpoint(GROUP, _at("A.orders"), offset, offset, logs=told))
    carried.backlog_read()
    assert _own_commits(carried, 20) == is_moved
    assert not _own_commits(carried, 10)


@pytest.mark.parametrize(("original", "has_been"), [(FIRST, True), (THIRD, False)])
def test_a_group_has_been_as_far_as_it_came_in_the_original_that_there_is(
    original: UUID, *, has_been: bool
) -> None:
    """It has come back and gone on; then the copy is made anew, or the original, too."""
    carried = SyncedOffsets()
    carried.note(Checkpoint(GROUP, _at("A.orders"), 200, 190, logs=Logs(FIRST, SECOND)))
    carried.note(Checkpoint(GROUP, _at("A.orders"), 0, 0, logs=Logs(original, THIRD)))
    assert carried.has_been_at(GROUP, _at("A.orders"), 150) == has_been


def test_an_id_stays_known_while_checkpoints_tell_none() -> None:
    carried = SyncedOffsets()
    for offset, logs in ((50, Logs(FIRST, SECOND)), (60, UNKNOWN_LOGS), (5, Logs(FIRST, THIRD))):
        carried.note(Checkpoint(GROUP, _at("A.orders"), offset, offset, logs=logs))
    carried.backlog_read()
    assert carried.is_passed(GROUP, _at("A.orders"), 6)


def test_until_it_is_known_what_groups_were_given_none_is_on_its_way() -> None:
    assert not _own_commits(SyncedOffsets(), 50)


def test_a_group_that_is_set_back_at_the_source_is_not_brought_forward_again() -> None:
    """Its copy still stands where it was carried; the source's newer checkpoint says 10."""
    assert not _own_commits(_carried(50, 10), 50)


def test_a_group_on_its_way_may_go_back_in_the_copy() -> None:
    last = Checkpoint(GROUP, _at("orders"), 80, 70)
    assert _own_commits(_carried(50), 30, last)
    assert not _own_commits(_carried(80), 30, last)


def test_offsets_that_were_reset_are_passed_on_as_they_are() -> None:
    found = ReturningGroups(_copies(), _carried(50)).own_commits(
        GROUP, {_at("A.orders"): None}, lambda _: None
    )
    assert found == {_at("A.orders"): None}


def test_a_group_is_given_its_place_until_it_has_come_back_and_gone_on() -> None:
    back = Checkpoint(GROUP, _at("orders"), 51, 151)
    assert ReturningGroups(_copies(), _carried(50)).may_be_given(back)
    assert not ReturningGroups(_copies(), _carried(51)).may_be_given(back)
    onward = Checkpoint(GROUP, _at("B.local"), 5, 7)
    assert ReturningGroups(_copies(), _carried(51)).may_be_given(onward)


def test_a_group_that_was_set_back_after_its_return_is_not_brought_forward_again() -> None:
    """Read to 600 on B and returned there; what A->B knows of 600 is that 580 is safe."""
    carried = SyncedOffsets()
    carried.note(Checkpoint(GROUP, _at("A.orders"), 600, 580))
    carried.note(Checkpoint(GROUP, _at("A.orders"), 200, 200, exact=True))
    carried.backlog_read()
    returning = ReturningGroups(_copies(), carried)
    assert not returning.may_be_given(Checkpoint(GROUP, _at("orders"), 600, 581))
    assert returning.may_be_given(Checkpoint(GROUP, _at("orders"), 700, 681)), "it moved again"
