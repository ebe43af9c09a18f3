"""What counts as missing, repeated and out of order in a copy of numbered records."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.harness.chaos.ledger import Seen, Toll, toll_of


def _seen(numbers: Iterable[int]) -> Seen:
    seen = Seen()
    for number in numbers:
        seen.see(number, 0.0, 0.0)
    return seen


@pytest.mark.parametrize(
    ("copy", "missing", "repeated", "disordered"),
    [
        ([0, 1, 2], 0, 0, 0),
        ([0, 1, 2, 1, 2, 3], 0, 2, 0),
        ([0, 1, 3], 1, 0, 1),
        ([0, 1, 3, 2], 0, 0, 1),
        ([0, 1, 2, 0, 2, 3], 0, 2, 1),
        ([2], 2, 0, 1),
        ([0, 0, 0], 0, 2, 0),
        ([0, 1, 2, 0, 5], 2, 1, 1),
    ],
    ids=["whole", "again", "lost", "late", "mixed", "no-start", "thrice", "lost-after-rewind"],
)
def test_only_the_next_number_or_an_earlier_one_is_in_order(
    copy: list[int], missing: int, repeated: int, disordered: int
) -> None:
    seen = _seen(copy)
    assert (len(seen.missing), seen.repeated, seen.disordered) == (missing, repeated, disordered)


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), max_size=6))
def test_every_number_is_counted_once_and_the_rest_are_repeated(
    numbers: list[int], more: list[int]
) -> None:
    seen = _seen([*numbers, *more])
    assert (seen.next, seen.missing, seen.repeated) == (6, set(), len(more))


@given(st.lists(st.integers(0, 9)))
def test_all_below_next_was_seen_or_is_missing(numbers: list[int]) -> None:
    seen = _seen(numbers)
    assert set(numbers) | seen.missing == set(range(seen.next))


def test_gaps_end_with_new_records_only_and_begin_with_the_measurement() -> None:
    seen = Seen(newest_s=10.0)
    seen.see(0, 13.0, 1.0)
    seen.measure(14.0)
    seen.see(1, 16.0, 0.5)
    seen.see(0, 21.0, 9.0)
    seen.see(1, 22.0, 9.0)
    seen.see(2, 23.0, 2.0)
    assert (seen.gap_s, seen.delay_s) == (7.0, 2.0)


def test_tolls_are_summed_and_the_worst_is_kept() -> None:
    first = Seen(missing={1, 2}, repeated=3, disordered=1, gap_s=2.0, delay_s=5.0)
    second = Seen(missing={9}, repeated=1, disordered=0, gap_s=4.0, delay_s=1.0)
    found = toll_of([first, second])
    assert found == Toll(missing=3, repeated=4, disordered=1, gap_s=4.0, delay_s=5.0)
    since = found.since(Toll(missing=1, repeated=4, gap_s=9.0))
    assert since == Toll(missing=2, repeated=0, disordered=1, gap_s=4.0, delay_s=5.0)
