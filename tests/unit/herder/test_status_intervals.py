"""Large flows are looked at less often, but not while something happens in them."""

from __future__ import annotations

import asyncio

from mm2.core.model import TopicName, TopicPartition
from mm2.herder.status.status_keeper import AdaptiveInterval
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.seen_partition import SeenPartition
from mm2.protocol.control_records import DesiredFlowState, FlowState
from mm2.protocol.progress_records import PartitionProgress
from tests.support.virtual_time import run


def _picture(partitions: int) -> FlowSnapshot:
    snapshot = FlowSnapshot()
    for number in range(partitions):
        last = PartitionProgress(topic="t", partition=number, remote="A.t")
        snapshot.partitions[TopicPartition(TopicName("t"), number)] = SeenPartition(last, 0)
    return snapshot


async def _looks_within(seconds: float, looks: AdaptiveInterval, snapshot: FlowSnapshot) -> int:
    loop = asyncio.get_running_loop()
    end, count = loop.time() + seconds, 0
    while loop.time() < end:
        await looks.until_due(snapshot)
        count += 1
    return count


async def _calm(looks: AdaptiveInterval, snapshot: FlowSnapshot) -> None:
    """As at a start, where it is looked at each second for a while."""
    assert await _looks_within(20, looks, snapshot) == 20


def test_a_small_flow_is_looked_at_each_second() -> None:
    async def work() -> None:
        assert await _looks_within(60, AdaptiveInterval(), _picture(500)) == 60

    run(work())


def test_a_large_flow_in_which_nothing_happens_is_looked_at_less_often() -> None:
    async def work() -> None:
        looks, snapshot = AdaptiveInterval(), _picture(5000)
        await _calm(looks, snapshot)
        assert await _looks_within(60, looks, snapshot) == 6

    run(work())


def test_what_fails_or_is_to_rest_is_looked_at_within_a_second_and_until_it_is_over() -> None:
    async def work() -> None:
        looks, snapshot = AdaptiveInterval(), _picture(5000)
        await _calm(looks, snapshot)
        loop = asyncio.get_running_loop()
        began = loop.time()
        loop.call_later(3.5, looks.note_activity)
        await looks.until_due(snapshot)
        assert loop.time() - began == 4
        assert await _looks_within(19, looks, snapshot) == 19
        snapshot.desired = snapshot.desired.then(DesiredFlowState(state=FlowState.STOPPED))
        assert await _looks_within(20, looks, snapshot) == 20
        assert await _looks_within(60, looks, snapshot) == 6

    run(work())
