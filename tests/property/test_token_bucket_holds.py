"""A rate is held over any time, lumps and pauses as they come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.token_bucket import TokenBucket

_STEPS = st.lists(st.tuples(st.floats(0, 10), st.integers(0, 5000)), max_size=60)


@given(rate=st.integers(1, 10_000), steps=_STEPS)
def test_never_more_than_the_rate_a_burst_and_one_lump(
    rate: int, steps: list[tuple[float, int]]
) -> None:
    bucket = TokenBucket(rate, 1.0, 0.0)
    now, done = 0.0, 0
    for pause, lump in steps:
        now += pause
        if bucket.allowance(now) >= 1:
            bucket.spend(lump, now)
            done += lump
        assert done <= rate * (now + 1.0) * 1.000001 + 5000


@given(rate=st.integers(1, 10_000), lumps=st.lists(st.integers(1, 5000), max_size=60))
def test_who_waits_as_told_is_always_let_on(rate: int, lumps: list[int]) -> None:
    bucket = TokenBucket(rate, 1.0, 0.0)
    now = 0.0
    for lump in lumps:
        now += bucket.delay(now)
        assert bucket.delay(now) < 1e-6
        bucket.spend(lump, now)
    assert now <= sum(lumps) / rate + len(lumps) / rate + 1e-6
