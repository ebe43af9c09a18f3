"""For how long a broker waits before it answers that there is no record, and what ends that."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from flows.source.fetch.long_polls import LongPolls, idle_wait_ms
from flows.source.fetch.reading import NodeReading
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.remote_state import RemoteState
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.errors import Unavailable
from mm2.kafka.wire.requests.fetch import FetchAnswer
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_DATA = sample_spec().data
_WHERE = TopicPartition(TopicName("t"), 0)


@pytest.mark.parametrize(
    ("wait_ms", "min_bytes", "timeout_ms", "expected"),
    [
        pytest.param(500, 1, 30_000, 5_000, id="a-record-ends-the-wait"),
        pytest.param(9_000, 1, 30_000, 9_000, id="never-shorter-than-the-user-says"),
        pytest.param(500, 2, 30_000, 500, id="a-record-does-not-end-the-wait"),
        pytest.param(500, 1, 3_000, 1_500, id="the-answer-comes-in-time"),
    ],
)
def test_where_nothing_is_under_way_brokers_wait_for_longer(
    wait_ms: int, min_bytes: int, timeout_ms: int, expected: int
) -> None:
    settings = replace(_DATA, fetch_wait_ms=wait_ms, fetch_min_bytes=min_bytes)
    assert idle_wait_ms(settings, timeout_ms) == expected


@pytest.mark.parametrize(
    ("error", "rack", "has_room", "expected"),
    [
        pytest.param(None, "", True, 5_000, id="all-are-fetched"),
        pytest.param(None, "here", True, 500, id="a-follower-is-read"),
        pytest.param(None, "", False, 20, id="a-partition-waits"),
        pytest.param("it is damaged", "", False, 500, id="a-partition-has-failed"),
    ],
)
def test_only_a_leader_all_of_whose_partitions_are_fetched_is_asked_to_wait_for_longer(
    error: str | None, rack: str, expected: int, *, has_room: bool
) -> None:
    sender = PartitionSender(_WHERE)
    partition = MirroredPartition(_WHERE, sender, remote=RemoteState(is_there=True))
    partition.continue_from(9, Lineage())
    partition.error = error
    reading = NodeReading(1 << 20, lambda _: has_room)
    reading.assign([partition], 1, 0.0)
    reading.sort()
    settings = replace(_DATA, fetch_wait_ms=500)
    assert reading.wait_ms(settings, 5_000, rack) == expected


_ANSWER = FetchAnswer(0, 0, 0, [])


class _Broker:
    """Answers a fetch after some seconds, unless its connection is closed."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()
        self.polls = LongPolls(0.5, lambda _: self.closed.set())

    async def fetch(self, takes_s: float) -> FetchAnswer:
        try:
            async with asyncio.timeout(takes_s):
                await self.closed.wait()
        except TimeoutError:
            return _ANSWER
        raise Unavailable("A", "the connection was closed")

    async def changed_after(self, change_s: float, *, takes_s: float) -> tuple[bool, float]:
        """Whether there is an answer, and after how many seconds."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        loop.call_at(began + change_s, self.polls.end)
        answer = await self.polls.answer(1, self.fetch(takes_s))
        return answer is _ANSWER, round(loop.time() - began, 6)


@pytest.mark.parametrize(
    ("change_s", "takes_s", "expected"),
    [
        pytest.param(3.0, 5.0, (False, 3.0), id="at-once"),
        pytest.param(0.1, 5.0, (False, 0.5), id="not-earlier-than-any-fetch"),
        pytest.param(0.1, 0.2, (True, 0.2), id="not-if-it-is-answered-meanwhile"),
    ],
)
def test_a_change_ends_a_long_fetch(
    change_s: float, takes_s: float, expected: tuple[bool, float]
) -> None:
    assert run(_Broker().changed_after(change_s, takes_s=takes_s)) == expected


def test_the_next_fetch_is_not_ended_by_an_earlier_change() -> None:
    async def both() -> bool:
        broker = _Broker()
        await broker.changed_after(0.1, takes_s=0.2)
        return await broker.polls.answer(1, broker.fetch(5)) is _ANSWER

    assert run(both())


def test_a_broker_that_fails_by_itself_is_told_of() -> None:
    async def failing() -> None:
        broker = _Broker()
        broker.closed.set()
        await broker.polls.answer(1, broker.fetch(5))

    with pytest.raises(Unavailable):
        run(failing())
