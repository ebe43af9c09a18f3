"""The number of tasks with ``tasks.max=auto``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.balancing.auto_task_count import AutoTaskCount
from mm2.core.model import TopicName, TopicPartition

_PARTITION = TopicPartition(TopicName("t"), 0)
_EVERY_S = 60.0


class _Flow:
    """A flow whose tasks copy so many records per second, of what arrives and what is there."""

    def __init__(self, load: AutoTaskCount, lag: int, speed: Callable[[int], float]) -> None:
        self.load = load
        self._lag, self._speed = float(lag), speed
        self._copied = 0.0
        self._now = 0.0
        load.observe(_PARTITION, position=0, lag=lag)
        load.look(self._now)

    def run(self, looks: int, *, arrive: float = 0.0) -> list[int]:
        """The number of tasks after each look; ``arrive`` is in records per second."""
        found = []
        for _ in range(looks):
            there = self._lag + arrive * _EVERY_S
            copied = min(there, self._speed(self.load.tasks) * _EVERY_S)
            self._lag, self._copied = there - copied, self._copied + copied
            self._now += _EVERY_S
            self.load.observe(_PARTITION, position=round(self._copied), lag=round(self._lag))
            self.load.look(self._now)
            found.append(self.load.tasks)
        return found


def _each(tasks: int) -> float:
    return 1000.0 * tasks


def test_a_flow_that_is_behind_gets_twice_as_many_up_to_those_that_it_can_use() -> None:
    flow = _Flow(AutoTaskCount(most=6), 10**9, _each)
    assert flow.run(8) == [1, 2, 2, 4, 4, 6, 6, 6]


def test_tasks_that_do_not_help_go_again_and_are_not_tried_for_a_while() -> None:
    flow = _Flow(AutoTaskCount(most=8), 10**9, lambda _: 1000.0)
    assert flow.run(4) == [1, 2, 2, 1]
    assert set(flow.run(28)) == {1}
    assert 2 in flow.run(6)


def test_once_it_has_caught_up_it_keeps_what_twice_its_rate_needs() -> None:
    flow = _Flow(AutoTaskCount(most=8), 3_000_000, _each)
    assert max(flow.run(12)) == 8
    assert flow.run(12, arrive=1500.0)[-1] == 3
    assert flow.run(12)[-1] == 1


def test_a_flow_that_keeps_up_has_as_many_tasks_as_before() -> None:
    flow = _Flow(AutoTaskCount(most=8), 0, _each)
    assert set(flow.run(20, arrive=900.0)) == {1}


def test_a_flow_that_copies_nothing_gets_no_more() -> None:
    """As while its target is away."""
    flow = _Flow(AutoTaskCount(most=8), 10**6, lambda _: 0.0)
    assert set(flow.run(20)) == {1}


def test_the_tasks_of_an_earlier_leader_that_are_not_needed_go_one_by_one() -> None:
    flow = _Flow(AutoTaskCount(tasks=3, most=8), 0, _each)
    assert flow.run(5) == [3, 3, 3, 3, 2]
    assert flow.run(10)[-1] == 1


def test_a_partition_that_goes_back_has_copied_nothing() -> None:
    load = AutoTaskCount(most=8)
    for look, position in enumerate((-1, 500, 300, 900)):
        load.observe(_PARTITION, position=position, lag=0)
        load.look(look * _EVERY_S)
    assert load.rate == pytest.approx(10.0)


def test_tasks_that_have_become_slower_are_measured_anew() -> None:
    """What once was enough is not tried again and again."""
    speed = 10_000.0
    flow = _Flow(AutoTaskCount(most=8), 10**8, lambda tasks: speed * tasks)
    assert max(flow.run(12)) == 8
    flow.run(30)
    speed = 1_000.0
    flow.run(40, arrive=3500.0)
    assert len(set(flow.run(60, arrive=3500.0))) == 1


def test_partitions_that_are_gone_are_not_behind() -> None:
    gone = TopicPartition(TopicName("gone"), 0)
    load = AutoTaskCount(most=8)
    load.observe(_PARTITION, position=0, lag=0)
    load.observe(gone, position=0, lag=10**9)
    load.keep({_PARTITION})
    for look in range(10):
        load.observe(_PARTITION, position=60 * look, lag=0)
        load.observe(gone, position=look, lag=10**9)
        load.look(look * _EVERY_S)
    assert (load.tasks, load.lag) == (1, 0)


@given(
    most=st.integers(1, 50),
    steps=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**7)), max_size=60),
)
def test_there_are_never_fewer_than_one_or_more_than_may_be(
    most: int, steps: list[tuple[int, int]]
) -> None:
    load = AutoTaskCount(most=most)
    records = 0
    for number, (copied, lag) in enumerate(steps):
        records += copied
        load.observe(_PARTITION, position=records, lag=lag)
        before = load.tasks
        assert load.look(number * _EVERY_S) is (load.tasks != before)
        assert 1 <= load.tasks <= most
