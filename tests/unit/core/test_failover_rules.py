"""Whether groups may move, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.checks import Check, Verdict, is_go
from mm2.core.failover.group_checks import group_checks
from mm2.core.failover.move_checks import (
    checkpoint_checks,
    drain_check,
    heartbeat_check,
    last_contact_check,
    lost_records_check,
    no_groups_check,
    origin_reachable_check,
)
from mm2.core.failover.moving_group import MovingGroup, MovingPartition, offsets_to_write
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.group_sync_rules import Order
from mm2.core.translation.offset_translation import MappedOffset

ORIGIN = TopicPartition(TopicName("orders"), 0)
COPY = TopicPartition(TopicName("A.orders"), 0)


def place(
    translated: MappedOffset | None = MappedOffset(40, exact=True),  # noqa: B008 - it is frozen
    *,
    to_copy: int = 0,
    current: int | None = None,
    start: int = 0,
    end: int = 100,
    age_ms: int | None = None,
) -> MovingPartition:
    return MovingPartition(
        origin=ORIGIN,
        destination=COPY,
        committed=50,
        translated=translated,
        to_copy=to_copy,
        target_offset=current,
        start=start,
        end=end,
        metadata="m",
        checkpoint_age_ms=age_ms,
    )


def facts(
    *places: MovingPartition,
    origin: str | None = "EMPTY",
    destination: str | None = None,
    left: int = 0,
) -> MovingGroup:
    behind = tuple(TopicPartition(TopicName("local"), n) for n in range(left))
    return MovingGroup(
        group="g",
        origin_state=origin,
        destination_state=destination,
        partitions=places,
        not_mirrored=behind,
    )


def stopping(found: Iterable[Check]) -> list[str]:
    return [each.name for each in found if each.verdict is Verdict.NO_GO]


def only(found: Iterable[Check], name: str) -> Check:
    (check,) = [each for each in found if each.name == name]
    return check


def test_an_idle_group_with_exact_offsets_may_move() -> None:
    checks = list(group_checks(facts(place()), planned=True))
    assert {each.verdict for each in checks} == {Verdict.GO}
    assert is_go(checks, strict=True)
    assert offsets_to_write(facts(place())) == {COPY: CommittedOffset(40, "m")}


@pytest.mark.parametrize("state", [None, "EMPTY", "DEAD"])
def test_a_group_without_members_may_move(state: str | None) -> None:
    checks = list(group_checks(facts(place(), origin=state, destination=state), planned=True))
    assert not stopping(checks)


@pytest.mark.parametrize("state", ["STABLE", "PREPARING_REBALANCE", "UNKNOWN"])
def test_a_group_with_members_where_it_comes_from_must_be_forced(state: str) -> None:
    checks = list(group_checks(facts(place(), origin=state), planned=True))
    assert stopping(checks) == ["origin"]
    assert not is_go(checks)
    assert is_go(checks, forced=True)


def test_a_group_with_members_where_it_goes_cannot_be_forced() -> None:
    checks = list(group_checks(facts(place(), destination="STABLE"), planned=True))
    assert stopping(checks) == ["destination"]
    assert not is_go(checks, forced=True)


def test_the_state_on_a_lost_cluster_is_not_known() -> None:
    check = only(group_checks(facts(place(), origin=None), planned=False), "origin")
    assert check.verdict is Verdict.CAUTION


@pytest.mark.parametrize(
    ("planned", "reason"),
    [(True, "has no offsets of mirrored topics"), (False, "has no checkpoints")],
)
def test_a_group_that_stands_nowhere_cannot_move(*, planned: bool, reason: str) -> None:
    checks = list(group_checks(facts(), planned=planned))
    assert only(checks, "offsets").reason == reason
    assert not is_go(checks, forced=True)


def test_what_is_not_mirrored_is_named() -> None:
    check = only(group_checks(facts(place(), left=7), planned=True), "offsets")
    assert check.verdict is Verdict.CAUTION
    assert check.reason.endswith("local-3, local-4 and 2 more")


def test_what_is_not_copied_yet_stops_a_move_and_is_not_translated() -> None:
    behind = facts(place(MappedOffset(30, exact=False), to_copy=5))
    checks = list(group_checks(behind, planned=True))
    assert stopping(checks) == ["copied"]
    assert not [each for each in checks if each.name == "translation"]


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("translated", [None, MappedOffset(-1, exact=False)])
def test_what_cannot_be_translated_begins_at_the_start_if_forced(
    *, planned: bool, translated: MappedOffset | None
) -> None:
    unknown = facts(place(translated, start=10))
    checks = list(group_checks(unknown, planned=planned))
    assert stopping(checks) == ["translation"]
    assert "up to 90 records are read again" in (only(checks, "translation").cost or "")
    assert offsets_to_write(unknown)[COPY].offset == 10


@pytest.mark.parametrize(("planned", "expected"), [(True, Verdict.NO_GO), (False, Verdict.CAUTION)])
def test_approximate_offsets_will_do_only_when_the_cluster_is_lost(
    *, planned: bool, expected: Verdict
) -> None:
    checks = list(group_checks(facts(place(MappedOffset(40, exact=False))), planned=planned))
    check = only(checks, "translation")
    assert check.verdict is expected
    assert check.cost == "up to 60 records are read again"


def test_a_copy_that_is_not_there_yet_stops_a_move_for_good() -> None:
    checks = list(group_checks(facts(replace(place(), exists=False)), planned=True))
    assert stopping(checks) == ["copied"]
    assert not is_go(checks, forced=True)


def test_a_partition_without_a_checkpoint_begins_at_the_start() -> None:
    unread = replace(place(MappedOffset(10, exact=False), start=10), origin=None, committed=-1)
    check = only(group_checks(facts(unread), planned=False), "unplaced")
    assert check.verdict is Verdict.CAUTION
    assert check.reason == "there is no checkpoint: the group begins at the start of the log"


def test_a_group_that_is_further_there_is_not_set_back() -> None:
    checks = list(group_checks(facts(place(current=41)), planned=True))
    assert stopping(checks) == ["progress"]
    assert only(checks, "progress").cost == "up to 1 records are read again"
    assert not stopping(group_checks(facts(place(current=40)), planned=True))
    assert not stopping(group_checks(facts(place(current=3)), planned=True))


@pytest.mark.parametrize(("start", "end", "written"), [(41, 100, 41), (0, 39, 39)])
def test_offsets_outside_of_the_log_stop_a_move(start: int, end: int, written: int) -> None:
    outside = facts(place(start=start, end=end))
    checks = list(group_checks(outside, planned=False))
    assert stopping(checks) == ["log"]
    assert offsets_to_write(outside)[COPY].offset == written


@given(
    st.none() | st.builds(MappedOffset, st.integers(-1, 120), st.booleans()),
    st.integers(0, 50),
    st.integers(0, 70),
)
def test_nothing_but_an_exact_offset_in_the_log_moves_as_planned(
    translated: MappedOffset | None, start: int, length: int
) -> None:
    moved = facts(place(translated, start=start, end=start + length))
    goes = is_go(group_checks(moved, planned=True))
    assert goes == (
        translated is not None
        and translated.exact
        and start <= translated.offset <= start + length
        and translated.offset >= 0
    )
    assert start <= offsets_to_write(moved)[COPY].offset <= start + length


@pytest.mark.parametrize(
    ("age_ms", "needed", "expected", "reason"),
    [
        (1000, True, Verdict.GO, "the last one is 1.0 s old"),
        (30_000, True, Verdict.GO, "the last one is 30.0 s old"),
        (30_001, False, Verdict.CAUTION, "the last one is 30.0 s old"),
        (180_000, True, Verdict.CAUTION, "does the flow run?"),
        (None, False, Verdict.CAUTION, "there are none"),
    ],
)
def test_heartbeats_tell_whether_the_flow_runs(
    age_ms: int | None, *, needed: bool, expected: Verdict, reason: str
) -> None:
    check = heartbeat_check("A->B", age_ms, most_ms=30_000, is_needed=needed)
    assert check.verdict is expected
    assert reason in check.reason


@pytest.mark.parametrize(
    ("age_ms", "expected", "reason"),
    [
        (None, Verdict.CAUTION, "is not known"),
        (30_000, Verdict.CAUTION, "last contact was 30.0 s ago: is it lost"),
        (180_000, Verdict.GO, "last contact was 3 min"),
    ],
)
def test_a_cluster_that_was_in_contact_just_now_may_live(
    age_ms: int | None, expected: Verdict, reason: str
) -> None:
    check = last_contact_check("A", age_ms, most_ms=30_000)
    assert check.verdict is expected
    assert reason in check.reason


def test_copies_without_a_checkpoint_are_named() -> None:
    unplaced = replace(facts(place()), unplaced=(TopicName("A.payments"),))
    check = only(group_checks(unplaced, planned=False), "unplaced")
    assert check.verdict is Verdict.CAUTION
    assert "A.payments" in check.reason


def test_a_drain_is_complete_when_no_partition_is_behind() -> None:
    assert drain_check("A->B", {}).verdict is Verdict.GO
    assert drain_check("A->B", {ORIGIN: 0}).verdict is Verdict.GO
    behind = drain_check("A->B", {ORIGIN: 3, COPY: 0})
    assert behind.stops(forced=False)
    assert "up to 3 records are not copied: orders-0;" in behind.reason


@pytest.mark.parametrize("answer", ["answers", "answers, but refuses us"])
def test_a_cluster_that_answers_is_lost_only_if_the_user_says_so(answer: str) -> None:
    """To force other checks does not say so."""
    assert origin_reachable_check("A", None, assume_lost=False).verdict is Verdict.GO
    lives = origin_reachable_check("A", answer, assume_lost=False)
    assert lives.stops(forced=True)
    assert lives.reason.startswith(f"{answer}: ")
    assert origin_reachable_check("A", answer, assume_lost=True).verdict is Verdict.CAUTION


@pytest.mark.parametrize("planned", [True, False])
def test_a_move_of_no_group_at_all_is_none(*, planned: bool) -> None:
    assert no_groups_check("A->B", planned=planned).stops(forced=True)


def test_share_and_streams_groups_do_not_move() -> None:
    """Nobody says whether they have members."""
    other = replace(facts(place(), origin=None), is_of_other_type=True)
    checks = list(group_checks(other, planned=True))
    assert stopping(checks) == ["type"]
    assert not is_go(checks, forced=True)


@pytest.mark.parametrize(
    ("order", "ahead", "behind"),
    [
        (Order.GIVEN, 40, 40),
        (Order.EARLIER, 40, 40),
        (Order.UNKNOWN, 40, 30),
        (Order.UNSURE, 40, 30),
        (Order.LATER, 50, 30),
    ],
)
def test_after_a_disaster_the_later_commit_counts_and_in_doubt_the_earlier_place(
    order: Order, ahead: int, behind: int
) -> None:
    """Its checkpoint says 40; what was only synced has not been read."""
    for current, offset in ((50, ahead), (40, 40), (30, behind), (None, 40)):
        lost = replace(place(current=current), origin=None, order=order)
        assert is_go(list(group_checks(facts(lost), planned=False)))
        assert lost.new_offset == offset
        written = offsets_to_write(facts(lost))
        expected = {COPY: CommittedOffset(offset, "m")}
        assert written == ({} if offset == current != 40 else expected)


@pytest.mark.parametrize(
    ("order", "current", "offset", "words"),
    [
        (Order.GIVEN, 50, 40, "than 40: a flow synced that offset, and the group has read nothing"),
        (Order.EARLIER, 50, 40, "than 40: it had committed that before it went back"),
        (Order.LATER, 30, 30, "stays there at 30, not at 40: that was committed later"),
        (Order.UNSURE, 30, 30, "stays there at 30, not at 40: that was committed at about the"),
        (Order.LATER, 50, None, "than 40: that was committed later"),
        (Order.UNSURE, 50, None, "than 40: both were committed at about the same time"),
        (Order.UNKNOWN, 50, None, "whether it has read so far there, or has gone back since"),
    ],
)
def test_a_planned_move_says_truly_why_a_group_stands_elsewhere_there(
    order: Order, current: int, offset: int | None, words: str
) -> None:
    moving = replace(place(current=current), order=order)
    checks = list(group_checks(facts(moving), planned=True))
    assert words in only(checks, "progress").reason
    is_refused = offset is None or order is Order.UNSURE
    assert stopping(checks) == (["progress"] if is_refused else [])
    assert moving.new_offset == (40 if offset is None else offset)


@pytest.mark.parametrize("current", [30, 50])
def test_a_group_that_was_only_synced_where_it_comes_from_stays_where_it_has_read(
    current: int,
) -> None:
    moving = replace(place(current=current), order=Order.LATER, is_synced=True)
    checks = list(group_checks(facts(moving), planned=True))
    assert "where it comes from, a flow has synced its offset" in only(checks, "progress").reason
    assert not stopping(checks)
    assert offsets_to_write(facts(moving)) == {}


def test_a_group_that_stays_where_the_log_has_lost_records_goes_on_at_its_start() -> None:
    """Its own offset would be left to auto.offset.reset."""
    moving = replace(place(current=10, start=20), order=Order.LATER)
    assert offsets_to_write(facts(moving)) == {COPY: CommittedOffset(20, "m")}


def test_checkpoints_cost_what_was_committed_after_them() -> None:
    places = [place(age_ms=1500), place(age_ms=7_200_000), place()]
    (check,) = checkpoint_checks(facts(*places))
    assert check.reason == "the last ones are 1.5 s to 2 h 0 min old"
    assert not list(checkpoint_checks(facts(place())))


@pytest.mark.parametrize(
    ("lag", "reason"),
    [
        (None, "is not known"),
        ({ORIGIN: 0}, "nothing was behind"),
        ({ORIGIN: 2, COPY: 3}, "5 records were not copied"),
    ],
)
def test_what_is_lost_is_said(lag: dict[TopicPartition, int] | None, reason: str) -> None:
    check = lost_records_check("A->B", lag)
    assert check.verdict is Verdict.CAUTION
    assert reason in check.reason
