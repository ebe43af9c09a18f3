"""What brokers say of a log, and which gap follows from it."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.positions.log_identity import NEVER
from mm2.core.positions.source_gaps import (
    CatchingUp,
    Gap,
    GapKind,
    Pinned,
    deletion_retention_ms,
    out_of_range,
    recreated,
    truncated,
)

_OLD, _NEW = UUID(int=1), UUID(int=2)
_DAY = 86_400_000


@pytest.mark.parametrize(("known", "found"), [(None, _NEW), (_OLD, None), (_OLD, _OLD)])
def test_without_two_different_ids_nothing_is_concluded(
    known: UUID | None, found: UUID | None
) -> None:
    assert recreated(5, known=known, found=found, seen_end=9, start=0) is None


@pytest.mark.parametrize(("seen_end", "lost"), [(-1, 0), (3, 0), (5, 0), (9, 4)])
def test_of_a_recreated_topic_what_was_seen_and_not_copied_is_lost(
    seen_end: int, lost: int
) -> None:
    gap = recreated(5, known=_OLD, found=_NEW, seen_end=seen_end, start=2)
    assert gap is not None
    assert (gap.kind, gap.first, gap.resume) == (GapKind.TOPIC_RECREATED, 5, 2)
    assert (gap.lost, gap.diverged) == (lost, 0)


@pytest.mark.parametrize("epoch_end", [-1, 5, 6])
def test_a_log_that_reaches_the_position_in_our_epoch_is_whole(epoch_end: int) -> None:
    assert truncated(5, epoch_end=epoch_end, start=0) is None


@pytest.mark.parametrize(("start", "resume"), [(0, 3), (3, 3), (4, 4)])
def test_a_truncated_log_is_continued_where_it_was_cut(start: int, resume: int) -> None:
    gap = truncated(5, epoch_end=3, start=start)
    assert gap == Gap(kind=GapKind.LOG_TRUNCATED, first=3, end=5, resume=resume)
    assert (gap.lost, gap.diverged) == (0, 2)


@pytest.mark.parametrize("position", [2, 5, 9])
def test_a_position_inside_of_the_log_is_no_gap(position: int) -> None:
    assert out_of_range(position, start=2, end=9, same_topic=True, reset="earliest") is None


@pytest.mark.parametrize(("reset", "resume"), [("earliest", 7), ("latest", 9)])
def test_what_expired_is_lost_to_the_offset_where_copying_goes_on(reset: str, resume: int) -> None:
    gap = out_of_range(4, start=7, end=9, same_topic=True, reset=reset)
    assert gap == Gap(kind=GapKind.RECORDS_EXPIRED, first=4, end=resume, resume=resume)
    assert gap.lost == resume - 4


@pytest.mark.parametrize(
    ("same_topic", "reset", "resume"),
    [(True, "earliest", 9), (False, "earliest", 2), (False, "latest", 9), (True, "latest", 9)],
)
def test_a_log_that_ends_before_the_position_is_copied_anew_unless_it_is_the_same(
    *, same_topic: bool, reset: str, resume: int
) -> None:
    gap = out_of_range(12, start=2, end=9, same_topic=same_topic, reset=reset)
    assert gap == Gap(kind=GapKind.LOG_TRUNCATED, first=9, end=12, resume=resume)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.booleans(), st.booleans())
def test_copying_goes_on_inside_of_the_log(
    position: int,
    start: int,
    length: int,
    same_topic: bool,
    latest: bool,
) -> None:
    end = start + length
    reset = "latest" if latest else "earliest"
    gap = out_of_range(position, start=start, end=end, same_topic=same_topic, reset=reset)
    assert (gap is None) == (start <= position <= end)
    if gap is not None:
        assert start <= gap.resume <= end
        assert gap.first < gap.end


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({}, None),
        ({"cleanup.policy": "delete", "delete.retention.ms": "5"}, None),
        ({"cleanup.policy": "compact"}, _DAY),
        ({"cleanup.policy": "delete, compact", "delete.retention.ms": "5"}, 5),
    ],
)
def test_only_compacted_topics_let_tombstones_expire(
    settings: dict[str, str], kept: int | None
) -> None:
    assert deletion_retention_ms(settings) == kept


_KEPT_MS = 100


def _look(copy: CatchingUp, position: int, end: int, now_ms: int) -> Gap | None:
    return copy.look(position, end, now_ms=now_ms, retention_ms=_KEPT_MS)


def _begun(position: int, at_ms: int) -> CatchingUp:
    copy = CatchingUp()
    copy.begin(position, at_ms)
    return copy


def test_a_copy_that_has_been_behind_for_longer_than_tombstones_stay_says_so_once() -> None:
    copy = _begun(5, 1_000)
    assert _look(copy, 5, 9, 1_100) is None
    gap = _look(copy, 5, 9, 1_101)
    assert gap == Gap(kind=GapKind.TOMBSTONES_EXPIRED, first=5, end=9, resume=5)
    assert (gap.lost, gap.diverged) == (0, 0)
    assert _look(copy, 6, 9, 2_000) is None
    assert _look(copy, 9, 9, 3_000) is None
    assert _look(copy, 9, 10, 3_101) == Gap(
        kind=GapKind.TOMBSTONES_EXPIRED, first=9, end=10, resume=9
    )


def test_falling_behind_is_told_even_if_it_is_over_when_it_is_noticed() -> None:
    copy = _begun(5, 1_000)
    gap = _look(copy, 9, 9, 2_000)
    assert gap == Gap(kind=GapKind.TOMBSTONES_EXPIRED, first=5, end=9, resume=9)
    assert not copy.is_reported
    assert copy.caught_up_ms == 2_000


def test_a_copy_of_an_idle_topic_may_be_looked_at_seldom() -> None:
    copy = _begun(5, 1_000)
    assert _look(copy, 5, 5, 9_000) is None
    assert copy.caught_up_ms == 9_000


def test_a_copy_that_is_always_a_little_behind_is_not_overdue() -> None:
    copy = _begun(0, 0)
    for n in range(1, 50):
        assert _look(copy, 10 * n - 3, 10 * n, 40 * n) is None
    assert copy.caught_up_ms == 48 * 40


def test_nothing_is_said_of_a_copy_of_which_nothing_is_known() -> None:
    assert _look(CatchingUp(), 0, 9, 1_000) is None
    assert _look(_begun(0, NEVER), 0, 9, 1_000) is None


def test_a_transaction_that_stays_open_is_reported_once_until_it_ends() -> None:
    pinned = Pinned()
    assert not pinned.see(4, 6, 10.0)
    assert pinned.overdue(after_s=5, now_s=15.0) is None
    assert not pinned.see(4, 9, 14.0)
    gap = pinned.overdue(after_s=5, now_s=15.1)
    assert gap == Gap(kind=GapKind.TRANSACTION_HANGING, first=4, end=9, resume=4)
    assert pinned.overdue(after_s=5, now_s=20.0) is None
    assert pinned.see(9, 9, 21.0)
    assert not pinned.is_reported
    assert pinned.overdue(after_s=5, now_s=99.0) is None


def test_transactions_that_follow_each_other_are_not_one_that_hangs() -> None:
    pinned = Pinned()
    for n in range(20):
        assert not pinned.see(n, n + 3, float(n))
        assert pinned.overdue(after_s=5, now_s=n + 1.0) is None


def test_a_log_that_is_not_looked_at_may_have_moved_unseen() -> None:
    pinned = Pinned()
    pinned.see(4, 6, 10.0)
    pinned.restart(14.0)
    assert pinned.overdue(after_s=5, now_s=19.0) is None
    assert pinned.overdue(after_s=5, now_s=19.1) is not None
