"""Moving averages of what partitions carry."""

from __future__ import annotations

import pytest

from mm2.core.balancing.loads import Loads
from mm2.core.model import TopicName, TopicPartition

A = TopicPartition(TopicName("a"), 0)


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
