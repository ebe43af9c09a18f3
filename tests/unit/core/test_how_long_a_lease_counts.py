"""A lease counts as long as its renewals are read as they are written."""

from __future__ import annotations

import pytest

from mm2.core.leadership.lease_timing import LeaseLife

LASTS_MS = 10_000


def test_it_counts_for_ever_while_nobody_says_how_long() -> None:
    life = LeaseLife()
    assert not life.renewed(0, 0)
    assert life.is_valid(1e12)


def test_it_counts_for_as_long_as_was_said_last() -> None:
    life = LeaseLife()
    life.renewed(LASTS_MS, 0)
    life.renewed(LASTS_MS, 9_999)
    assert life.is_valid(19_998)
    assert not life.is_valid(19_999)


@pytest.mark.parametrize(("apart_ms", "is_back"), [(999, False), (1_000, True)])
def test_it_comes_back_with_the_second_of_two_words_at_some_distance(
    apart_ms: int, is_back: bool
) -> None:
    life = LeaseLife()
    life.renewed(LASTS_MS, 0)
    assert not life.renewed(LASTS_MS, 60_000)
    assert life.renewed(LASTS_MS, 60_000 + apart_ms) == is_back
    assert life.is_valid(60_000 + apart_ms) == is_back
    assert not life.renewed(LASTS_MS, 62_000 + apart_ms) or not is_back
