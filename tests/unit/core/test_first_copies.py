"""The arithmetic of a first copy: percent, bytes left, rate and time left."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mm2.core.first_copy import first_copy_progress
from mm2.core.model import NO_OFFSET


@dataclass(frozen=True)
class _Partition:
    start: int = 0
    end: int = 100
    lag: int | None = 60
    lag_per_s: float = -4.0
    records_per_s: float = 5.0
    bytes_per_s: float = 500.0
    record_bytes: float | None = 100.0


def test_a_copy_under_way_tells_how_far_it_is() -> None:
    found = first_copy_progress([_Partition(), _Partition(start=100, end=200, lag=20)])
    assert found.percent == 60
    assert (found.records_left, found.bytes_left) == (80, 8000)
    assert (found.records_per_s, found.bytes_per_s) == (10, 1000)
    assert found.eta_s == 10


def test_records_that_are_written_meanwhile_put_the_end_off() -> None:
    """Forty records are copied a second, and thirty come in: the lag shrinks by ten."""
    found = first_copy_progress([_Partition(lag=100, lag_per_s=-10, records_per_s=40)])
    assert found.eta_s == 10


@pytest.mark.parametrize("grows_per_s", [0.0, 3.0])
def test_a_copy_that_does_not_come_nearer_has_no_end(grows_per_s: float) -> None:
    assert first_copy_progress([_Partition(lag_per_s=grows_per_s)]).eta_s is None


def test_only_a_complete_copy_is_at_100_percent() -> None:
    almost = first_copy_progress([_Partition(end=100_000, lag=1)])
    assert (almost.percent, almost.is_behind) == (99, False)
    done = first_copy_progress([_Partition(lag=0, lag_per_s=0.0, records_per_s=0.0)])
    assert (done.percent, done.bytes_left, done.eta_s, done.is_behind) == (100, 0, 0, False)


@pytest.mark.parametrize(
    "unknown", [_Partition(start=NO_OFFSET), _Partition(end=NO_OFFSET), _Partition(lag=None)]
)
def test_the_percentage_is_unknown_while_a_log_is(unknown: _Partition) -> None:
    assert first_copy_progress([_Partition(), unknown]).percent is None


def test_bytes_are_estimated_by_what_was_copied_elsewhere() -> None:
    new = _Partition(record_bytes=None, lag=10)
    assert first_copy_progress([_Partition(lag=0), new]).bytes_left == 1000
    assert first_copy_progress([new]).bytes_left is None


def test_what_retention_takes_away_is_not_left_twice() -> None:
    """The task counts a lag from before the source's first record that is still there."""
    assert first_copy_progress([_Partition(start=90, end=100, lag=60)]).percent == 0


def test_an_empty_topic_and_no_topic_are_complete() -> None:
    empty = _Partition(start=0, end=0, lag=0, lag_per_s=0.0)
    for partitions in ([], [empty]):
        found = first_copy_progress(partitions)
        assert (found.percent, found.eta_s, found.is_behind) == (100, 0, False)
