"""Moving averages of what partitions carry."""

from __future__ import annotations

import pytest

from mm2.core.balancing.loads import BundleLoads, Loads
from mm2.core.model import TopicName, TopicPartition

A, B, C = (TopicPartition(TopicName("a"), number) for number in range(3))


def test_a_steady_rate_is_found() -> None:
    loads = Loads(10_000)
    for second in range(100):
        loads.observe(A, run=1, total=second * 5000, at_ms=second * 1000)
    assert loads.rates(99_000)[A] == pytest.approx(5000, rel=0.1)


def test_what_nobody_reports_on_fades() -> None:
    loads = Loads(1000)
    loads.observe(A, run=1, total=1000, at_ms=0)
    assert loads.rates(0)[A] == 1000
    assert loads.rates(1000)[A] == pytest.approx(368, rel=0.01)
    assert loads.rates(60_000)[A] < 1


def test_a_new_run_counts_from_zero() -> None:
    loads = Loads(1000)
    loads.observe(A, run=1, total=5000, at_ms=0)
    loads.observe(A, run=2, total=300, at_ms=0)
    assert loads.rates(0)[A] == 5300


def test_reports_out_of_order_do_not_turn_time_back() -> None:
    loads = Loads(1000)
    loads.observe(A, run=1, total=1000, at_ms=5000)
    loads.observe(A, run=1, total=1500, at_ms=0)
    assert loads.rates(5000)[A] == 1500
    assert loads.rates(0)[A] == 1500


def test_bundles_carry_what_their_partitions_carry_together() -> None:
    loads, bundles = Loads(10_000), BundleLoads(10_000)
    for second in range(60):
        at_ms = second * 1000
        added = [
            loads.observe(each, run=1, total=second * each.partition * 700, at_ms=at_ms)
            for each in (A, B, C)
        ]
        bundles.add(0, sum(added[:2]), at_ms=at_ms)
        bundles.add(1, sum(added[2:]), at_ms=at_ms)
    rates = loads.rates(61_000)
    assert bundles.rates(61_000) == pytest.approx({0: rates[A] + rates[B], 1: rates[C]})


def test_reports_of_bundles_out_of_order_do_not_turn_time_back() -> None:
    bundles = BundleLoads(1000)
    bundles.add(0, 1000, at_ms=5000)
    bundles.add(0, 500, at_ms=0)
    assert bundles.rates(5000) == {0: 1500}
    assert bundles.rates(6000)[0] == pytest.approx(552, rel=0.01)
