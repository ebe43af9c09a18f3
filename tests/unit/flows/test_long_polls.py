"""For how long a broker waits before it answers that there is no record, and what ends that."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from flows.source.fetch.fetch_spec import FetchSpec
from flows.source.fetch.long_polls import LongPolls
from flows.source.fetch.reading import NodeReading
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.remote_state import RemoteState
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.errors import Unavailable
from mm2.kafka.wire.requests.fetch import FetchAnswer
from mm2.kafka.wire.wire_client import WireClient
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_WHERE = TopicPartition(TopicName("t"), 0)
_NODE = 1
_ANSWER = FetchAnswer(0, 0, 0, [])


class _Broker:
    """
    Answers a fetch after some seconds, unless its connection is closed.

    Attributes:
        has_connection: whether it can be closed.
    """

    def __init__(
        self, *, min_bytes: int = 1, wait_ms: int = 500, timeout_ms: int = 30_000, rack: str = ""
    ) -> None:
        self.request_timeout_ms = timeout_ms
        self.closed = asyncio.Event()
        self.has_connection = True
        data = replace(sample_spec().data, fetch_wait_ms=wait_ms, fetch_min_bytes=min_bytes)
        spec = cast("FetchSpec", SimpleNamespace(data=data, rack=rack))
        self.polls = LongPolls(spec, cast("WireClient", self))

    def end_fetch(self, node: int) -> bool:
        assert node == _NODE
        if self.has_connection:
            self.closed.set()
        return self.has_connection

    async def _answer(self, takes_s: float) -> FetchAnswer:
        try:
            async with asyncio.timeout(takes_s):
                await self.closed.wait()
        except TimeoutError:
            return _ANSWER
        self.closed.clear()
        raise Unavailable("A", "the connection was closed")

    async def fetch(
        self, takes_s: float, *, change_s: float = 1_000, wait_ms: int = 5_000
    ) -> tuple[bool, float]:
        """Whether there is an answer, and after how many seconds, if something changes."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        change = loop.call_at(began + change_s, self.polls.end)
        answer = await self.polls.answer(_NODE, self._answer(takes_s), wait_ms)
        change.cancel()
        return answer is _ANSWER, round(loop.time() - began, 6)


@pytest.mark.parametrize(
    ("broker", "expected"),
    [
        pytest.param({}, 5_000, id="a-record-ends-the-wait"),
        pytest.param({"wait_ms": 9_000}, 9_000, id="never-shorter-than-the-user-says"),
        pytest.param({"min_bytes": 2}, 500, id="a-record-does-not-end-the-wait"),
        pytest.param({"timeout_ms": 3_000}, 1_500, id="the-answer-comes-in-time"),
        pytest.param({"rack": "here"}, 500, id="followers-are-read"),
    ],
)
def test_where_nothing_is_under_way_brokers_wait_for_longer(
    broker: dict[str, int], expected: int
) -> None:
    assert _Broker(**broker).polls.wait_ms(_NODE, is_idle=True) == expected  # type: ignore[arg-type]  # by names


def _reading(*, has_room: bool = True) -> tuple[NodeReading, MirroredPartition]:
    """What is read from a node: one partition, from offset 10 on."""
    sender = PartitionSender(_WHERE)
    partition = MirroredPartition(_WHERE, sender, remote=RemoteState(is_there=True))
    partition.continue_from(9, Lineage())
    reading = NodeReading(1 << 20, lambda _: has_room)
    reading.assign([partition], 1, 0.0)
    return reading, partition


@pytest.mark.parametrize("has_room", [True, False])
@pytest.mark.parametrize("generation", [1, 2])
@pytest.mark.parametrize("queued", [0, 7])
def test_a_node_is_idle_if_all_partitions_are_fetched_and_no_records_may_come_back(
    *, has_room: bool, generation: int, queued: int
) -> None:
    reading, partition = _reading(has_room=has_room)
    partition.progress.queued = queued
    reading.sort()
    assert reading.is_idle(generation) == (has_room and generation == 1 and not queued)


def test_what_an_open_transaction_has_is_fetched_again_when_it_is_aborted() -> None:
    reading, partition = _reading()
    partition.progress.uncommitted = 1
    reading.sort()
    assert not reading.is_idle(1)
    assert reading.active == [], "there may be thousands, at each fetch"
    partition.fetch.go_back_before(3)
    partition.progress.uncommitted = 0
    reading.sort()
    assert reading.session.offset(_WHERE) == 3
    assert reading.is_idle(1)


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
    assert run(_Broker().fetch(takes_s, change_s=change_s)) == expected


def test_a_change_does_not_end_a_fetch_that_is_not_long() -> None:
    """Its answer may be large, and changes may come each second."""
    assert run(_Broker().fetch(3, change_s=1, wait_ms=500)) == (True, 3.0)


def test_behind_a_fetch_that_was_ended_the_next_one_is_not_long() -> None:
    """Each second fetch brings what is there, however often something changes."""

    async def waits() -> list[int]:
        broker = _Broker()
        await broker.fetch(5, change_s=1)
        ended = broker.polls.wait_ms(_NODE, is_idle=True)
        await broker.fetch(0.1, wait_ms=ended)
        return [ended, broker.polls.wait_ms(_NODE, is_idle=True)]

    assert run(waits()) == [500, 5_000]


def test_a_fetch_that_is_not_sent_yet_is_ended_when_there_is_a_connection() -> None:
    async def ended() -> tuple[bool, float]:
        broker = _Broker()
        broker.has_connection = False
        loop = asyncio.get_running_loop()
        loop.call_later(2.1, setattr, broker, "has_connection", True)
        return await broker.fetch(5, change_s=1)

    assert run(ended()) == (False, 2.2)


def test_the_next_fetch_is_not_ended_by_an_earlier_change() -> None:
    async def both() -> tuple[bool, float]:
        broker = _Broker()
        await broker.fetch(0.2, change_s=0.1)
        return await broker.fetch(5)

    assert run(both()) == (True, 5.0)


def test_a_broker_that_fails_by_itself_is_told_of() -> None:
    async def failing() -> None:
        broker = _Broker()
        broker.closed.set()
        await broker.fetch(5)

    with pytest.raises(Unavailable):
        run(failing())
