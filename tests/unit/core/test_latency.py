"""Latencies as Kafka's metrics have them (C340)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.latency import Latency, LatencyStats


def test_the_last_minute_counts() -> None:
    latency = Latency(10, 0)
    latency.record(30, 1_000)
    assert latency.stats(1_000) == LatencyStats(last=30, least=10, most=30, mean=20.0)
    latency.record(20, 40_000)
    assert latency.stats(40_000) == LatencyStats(last=20, least=10, most=30, mean=20.0)
    # What is older than a minute is gone, a sample at a time.
    assert latency.stats(60_000) == LatencyStats(last=20, least=20, most=20, mean=20.0)


def test_long_after_the_last_one_that_one_is_told() -> None:
    latency = Latency(10, 0)
    latency.record(30, 1_000)
    assert latency.stats(1_000_000) == LatencyStats(last=30, least=30, most=30, mean=30.0)
    latency.record(5, 1_000_000)
    assert latency.stats(1_000_000) == LatencyStats(last=5, least=5, most=5, mean=5.0)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 50_000)), min_size=1))
def test_what_is_told_lies_between_what_was_seen(values: list[tuple[int, int]]) -> None:
    now, seen = 0, list[tuple[int, int]]()
    latency = Latency(values[0][0], now)
    seen.append((now, values[0][0]))
    for value, after in values[1:]:
        now += after
        latency.record(value, now)
        seen.append((now, value))
    stats = latency.stats(now)
    recent = [value for at, value in seen if at > now - 30_000]
    assert stats.last == seen[-1][1]
    assert min(v for _, v in seen) <= stats.least <= min(recent)
    assert max(recent) <= stats.most <= max(v for _, v in seen)
    assert stats.least <= stats.mean <= stats.most
