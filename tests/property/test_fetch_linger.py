"""Records that are gathered come once each, in order, and none of them waits for long."""

from __future__ import annotations

import asyncio
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from flows.source.fetch.fetch_linger import SELDOM, FetchLinger
from flows.source.fetch.fetch_state import FetchState
from flows.source.fetch.reading import NodeReading
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.remote_state import RemoteState
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.requests.fetch import FetchedPartition
from tests.support.virtual_time import run

_MOST_S = 0.005
_BURST_S = 0.2
_TICK_S = 0.0001
_FUZZ_S = 1e-9
_TICKS = st.integers(0, 200)


class _World:
    """
    A log to which records are written at some times, and a target with moods.

    Args:
        written: when each record is written, in ticks.
        lags: how long the target takes for one answer after the other, in ticks; again and again.
    """

    def __init__(self, written: list[int], lags: list[int]) -> None:
        self.written = [ticks * _TICK_S for ticks in written]
        self.lags = [ticks * _TICK_S for ticks in lags]
        where = TopicPartition(TopicName("t"), 0)
        self.partition = MirroredPartition(
            where,
            PartitionSender(where),
            fetch=FetchState(position=0),
            remote=RemoteState(is_there=True),
        )
        self.reading = NodeReading(1 << 20, lambda _: True)
        self.reading.assign([self.partition], 0, 0.0)
        self.freed = asyncio.Event()
        self.taken_at: list[float] = []
        self.answers = 0

    async def copied(self) -> list[float]:
        """When each record was taken."""
        loop = asyncio.get_running_loop()
        gathering = FetchLinger(self.reading, self.freed)
        while len(self.taken_at) < len(self.written):
            self.reading.sort()
            began = loop.time()
            await asyncio.sleep(max(0.0, self.written[len(self.taken_at)] - began))
            self._take()
            await gathering.wait(since=began)
        return self.taken_at

    def _take(self) -> None:
        """All that there is, as a broker answers."""
        loop, first = asyncio.get_running_loop(), len(self.taken_at)
        there = sum(at <= loop.time() + _FUZZ_S for at in self.written)
        self.taken_at += [loop.time()] * (there - first)
        answer = FetchedPartition("t", 0, 0, there, there, 0, (), memoryview(b""))
        assert self.reading.answered(answer) is self.partition
        self.partition.progress.enqueue(1)
        self.partition.fetch.move_to(there)
        loop.call_later(self.lags[self.answers % len(self.lags)], self._acknowledge)
        self.answers += 1

    def _acknowledge(self) -> None:
        self.partition.progress.enqueue(-1)
        self.freed.set()


@given(gaps=st.lists(_TICKS, min_size=1, max_size=40), lags=st.lists(_TICKS, min_size=1))
def test_no_record_waits_longer_than_a_moment_whatever_the_target_does(
    gaps: list[int], lags: list[int]
) -> None:
    world = _World(list(accumulate(gaps)), lags)
    taken = run(world.copied())
    for written, at in zip(world.written, taken, strict=True):
        assert written - _FUZZ_S <= at <= written + _MOST_S + _FUZZ_S


@given(gaps=st.lists(_TICKS, min_size=1, max_size=40))
def test_no_record_waits_for_a_target_that_is_faster_than_they_come(gaps: list[int]) -> None:
    world = _World(list(accumulate(max(1, gap) for gap in gaps)), [0])
    taken = run(world.copied())
    for written, at in zip(world.written, taken, strict=True):
        assert at - written < _FUZZ_S


@given(
    count=st.integers(1, 300),
    more=st.lists(st.integers(0, 20), min_size=1),
    lags=st.lists(_TICKS, min_size=1),
)
def test_records_that_come_seldom_wait_for_nothing_whatever_the_target_does(
    count: int, more: list[int], lags: list[int]
) -> None:
    least = 1 / SELDOM / _TICK_S
    world = _World(list(accumulate(int(least) + more[n % len(more)] for n in range(count))), lags)
    taken = run(world.copied())
    for written, at in zip(world.written, taken, strict=True):
        assert at - written < _FUZZ_S


@given(count=st.integers(400, 600), gap=st.integers(1, 10), lag=st.integers(10, 35))
def test_the_slower_the_target_answers_the_fewer_requests_it_gets(
    count: int, gap: int, lag: int
) -> None:
    world = _World(list(range(0, count * gap, gap)), [lag])
    run(world.copied())
    at_once = SELDOM * (_BURST_S + count * gap * _TICK_S)
    assert world.answers <= count * gap / lag + at_once + 2
