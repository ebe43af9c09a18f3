"""Rates that are held, whatever the size of the lumps."""

from __future__ import annotations

import pytest

from mm2.core.token_bucket import TokenBucket


def test_a_full_bucket_allows_a_burst_and_fills_again() -> None:
    bucket = TokenBucket(100, 2, 0)
    assert bucket.allowance(0) == 200
    bucket.spend(200, 0)
    assert bucket.allowance(0) == 0
    assert bucket.allowance(0.5) == 50
    assert bucket.allowance(60) == 200


def test_a_debt_is_paid_before_anything_is_allowed() -> None:
    bucket = TokenBucket(100, 1, 0)
    bucket.spend(600, 0)
    assert bucket.delay(0) == pytest.approx(5.01)
    assert bucket.allowance(4.9) == 0
    assert bucket.delay(4.9, 50) == pytest.approx(0.6)


def test_what_never_fits_is_waited_for_until_the_bucket_is_full() -> None:
    bucket = TokenBucket(100, 1, 0)
    bucket.spend(50, 0)
    assert bucket.delay(0, 10_000) == pytest.approx(0.5)
    assert bucket.delay(0.5, 10_000) == 0


def test_another_rate_counts_from_now_on() -> None:
    bucket = TokenBucket(100, 1, 0)
    bucket.spend(300, 0)
    bucket.change(1000, 1)
    assert bucket.delay(1, 1) == pytest.approx(1.001)
    assert bucket.allowance(2.5) == 500


def test_a_rate_of_nothing_still_goes_on() -> None:
    bucket = TokenBucket(0, 1, 0)
    bucket.spend(1, 0)
    assert bucket.delay(0) == 1
    bucket.change(-5, 0)
    assert bucket.rate == 1


def test_a_clock_that_steps_back_takes_nothing_away() -> None:
    bucket = TokenBucket(100, 1, 10)
    bucket.spend(100, 10)
    assert bucket.allowance(9) == 0
    assert bucket.allowance(10.5) == 50
