"""How fast totals grow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.rates import WindowedRate


def _growth(*seen: tuple[int, int], run: str = "a") -> WindowedRate:
    growth = WindowedRate(10_000)
    for at_ms, total in seen:
        growth.observe(total, run=run, at_ms=at_ms)
    return growth


def test_what_was_added_in_the_window_counts() -> None:
    growth = _growth((0, 0), (5_000, 100), (20_000, 300))
    assert growth.rate(20_000) == pytest.approx(20)
    assert growth.rate(25_000) == pytest.approx(20)
    assert growth.rate(30_000) == 0, "nothing was reported since, so nothing was added"


def test_a_rate_of_less_than_a_window_is_over_what_is_known() -> None:
    assert _growth((1_000, 50), (3_000, 150)).rate(3_000) == pytest.approx(50)
    assert _growth((1_000, 50)).rate(1_000) == 0
    assert _growth((1_000, 50)).rate(2_000) == 0, "when these were added is not known"
    assert WindowedRate(10_000).rate(5_000) == 0


@pytest.mark.parametrize("since_ms", [0, 1, 15_000, 29_999])
def test_a_total_that_is_reported_more_seldom_has_a_longer_window(since_ms: int) -> None:
    growth = WindowedRate(10_000)
    for turn in range(5):
        growth.observe(300 * turn, run="a", at_ms=30_000 * turn, turn_ms=30_000)
    assert growth.rate(120_000 + since_ms) == pytest.approx(10)


def test_a_new_run_counts_from_zero() -> None:
    growth = _growth((0, 0), (5_000, 100))
    growth.observe(0, run="b", at_ms=6_000)
    growth.observe(40, run="b", at_ms=10_000)
    assert growth.rate(10_000) == pytest.approx(14)


def test_reports_out_of_order_count_as_of_the_newest() -> None:
    growth = _growth((0, 0), (5_000, 100))
    growth.observe(200, run="a", at_ms=4_000)
    assert growth.rate(10_000) == pytest.approx(20)


@given(st.lists(st.tuples(st.integers(1, 5_000), st.integers(0, 1_000)), min_size=1))
def test_a_window_is_never_credited_with_more_than_was_added(steps: list[tuple[int, int]]) -> None:
    growth, now_ms, total = _growth((0, 0)), 0, 0
    for passed_ms, added in steps:
        now_ms, total = now_ms + passed_ms, total + added
        growth.observe(total, run="a", at_ms=now_ms)
    assert 0 <= growth.rate(now_ms) * min(now_ms, 10_000) / 1000 <= total + 1e-6
