"""Counts of a partition over all tasks that ever had it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.copy_totals import CopyTotal, Counts, TaskCounts


def _said(
    run: str, records: int, *, position: int, first: int = -1, at_ms: int = 0, lost: int = 0
) -> TaskCounts:
    counts = Counts(records=records, bytes=10 * records, lost=lost)
    return TaskCounts(run=run, counts=counts, position=position, first=first, at_ms=at_ms)


def test_the_next_task_counts_on() -> None:
    total = CopyTotal()
    for said in (
        _said("1.0.7", 3, position=2, first=0),
        _said("1.0.7", 5, position=4, first=0),
    ):
        total.take(said)
    total.ended("1.0.7")
    total.take(_said("2.0.9", 0, position=4))
    total.take(_said("2.0.9", 2, position=6, first=5))
    assert total.counts == Counts(records=7, bytes=70)
    assert total.copied == (7, 70)


def test_a_task_that_gets_the_partition_back_counts_from_zero() -> None:
    total = CopyTotal()
    total.take(_said("1.0.7", 5, position=4, first=0))
    total.take(_said("1.0.7", 1, position=5, first=5))
    assert total.counts.records == 6


def test_what_a_killed_task_did_not_tell_counts() -> None:
    total = CopyTotal()
    total.take(_said("1.0.7", 5, position=4, first=0))
    total.take(_said("2.0.9", 0, position=3))
    total.take(_said("2.0.9", 10, position=19, first=10))
    assert total.counts.records == 20


def test_what_a_killed_task_did_not_tell_counts_before_anything_new_comes() -> None:
    total = CopyTotal()
    total.take(_said("1.0.7", 5, position=4, first=0))
    total.take(_said("2.0.9", 0, position=9))
    assert total.counts.records == 10
    total.take(_said("2.0.9", 1, position=10, first=10))
    assert total.counts.records == 11
    total.take(_said("3.0.9", 1, position=11, first=11))
    assert total.counts.records == 12


def test_what_was_lost_meanwhile_was_not_copied() -> None:
    total = CopyTotal()
    total.take(_said("1.0.7", 5, position=4, first=0))
    total.take(_said("2.0.9", 10, position=19, first=10, lost=5))
    assert total.counts.records == 15


def test_where_a_task_has_told_all_a_jump_is_no_copy() -> None:
    total = CopyTotal()
    total.take(_said("1.0.7", 5, position=4, first=0))
    total.ended("1.0.7")
    total.take(_said("2.0.9", 1, position=100, first=100))
    assert total.counts.records == 6


def _stored(run: str, before: int, records: int, *, position: int, at_ms: int) -> CopyTotal:
    told = _said(run, records, position=position, first=0, at_ms=at_ms)
    return CopyTotal(before=Counts(records=before), last=told)


def test_what_was_stored_before_the_reports_that_are_read_counts() -> None:
    total = CopyTotal()
    total.restore(_stored("1.0.7", 100, 5, position=104, at_ms=10))
    total.take(_said("1.0.7", 8, position=107, first=100, at_ms=20))
    total.take(_said("2.0.9", 2, position=109, first=108, at_ms=30))
    assert total.counts.records == 110


def test_the_order_of_reading_does_not_matter() -> None:
    total = CopyTotal()
    total.take(_said("1.0.7", 8, position=107, first=100, at_ms=20))
    total.restore(_stored("1.0.7", 100, 5, position=104, at_ms=10))
    assert total.counts.records == 108


def test_reports_of_a_task_that_nothing_was_stored_of_are_added() -> None:
    total = CopyTotal()
    total.take(_said("2.0.9", 2, position=111, first=110, at_ms=30))
    total.restore(_stored("1.0.7", 100, 5, position=104, at_ms=10))
    assert total.counts.records == 112, "100 and 5 stored, 5 untold, and 2"
    total.restore(_stored("1.0.7", 100, 5, position=104, at_ms=10))
    assert total.counts.records == 112, "once"


def test_what_is_stored_later_wins_over_older_reports() -> None:
    total = CopyTotal()
    total.take(_said("1.0.7", 8, position=107, first=100, at_ms=20))
    total.restore(_stored("2.0.9", 300, 5, position=304, at_ms=40))
    assert total.counts.records == 305


@given(
    st.integers(0, 4),
    st.integers(0, 3),
)
def test_reports_may_overlap_with_what_was_stored(place: int, stored_at: int) -> None:
    """Whenever a leader stored, and whenever that is read among the reports, it counts once."""
    said = [
        _said("1.0.7", 5, position=4, first=0, at_ms=10),
        _said("1.0.7", 8, position=7, first=0, at_ms=20),
        _said("2.0.9", 0, position=9, at_ms=30),
        _said("2.0.9", 3, position=12, first=10, at_ms=40),
    ]
    stored = CopyTotal(before=Counts(records=100))
    for each in said[: stored_at + 1]:
        stored.take(each)
    total = CopyTotal()
    for number, each in enumerate(said):
        if number == place:
            total.restore(_copy(stored))
        total.take(each)
    total.restore(_copy(stored))
    for each in said:
        total.take(each)
    assert total.counts.records == 113, "100, 8, 2 untold, and 3"


def _copy(total: CopyTotal) -> CopyTotal:
    """As it is read: without what only this process knows."""
    return CopyTotal(
        before=total.before,
        last=total.last,
        unreported=total.unreported,
        is_over=total.is_over,
        open_at=total.open_at,
    )
