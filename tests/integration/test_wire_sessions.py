"""Fetch sessions with a real broker: only news are told, and lost sessions begin anew."""

from __future__ import annotations

import asyncio

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.fetch import FetchAnswer, FetchRequest
from mm2.kafka.wire.sessions import FetchSession, SessionStep
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, write_batch
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.raw import wire, write
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

_MOST = 1 << 20


def _request(step: SessionStep, *, wait_ms: int = 50) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=_MOST,
        read_committed=False,
        topics=step.topics,
        session=step.session,
        epoch=step.epoch,
        forgotten=step.forgotten,
        by_id=step.by_id,
    )


async def _fetched(client: WireClient, session: FetchSession) -> FetchAnswer:
    node = client.leader(TopicPartition(TopicName(next(iter(client._topics))), 0))
    assert node is not None
    answer = await client.fetch(node, _request(session.next()))
    session.answered(answer)
    return answer


async def test_a_broker_answers_with_news_only(cluster_a: Cluster, topic_name: str) -> None:
    create_topic(cluster_a.bootstrap, topic_name, 5)
    wheres = [TopicPartition(TopicName(topic_name), number) for number in range(5)]
    session = FetchSession(_MOST)
    async with wire(cluster_a.bootstrap, topic_name) as client:

        async def news() -> list[int]:
            answer = await _fetched(client, session)
            assert answer.error == Code.NONE
            assert [p.error for p in answer.partitions] == [Code.NONE] * len(answer.partitions)
            return [p.partition for p in answer.partitions if p.records]

        async def told() -> list[int]:
            return [p.partition for p in (await _fetched(client, session)).partitions]

        for where in wheres:
            session.fetch(where, 0)
        assert await eventually_async(told, until=lambda seen: seen == []) == []
        batch = write_batch([Plain(value=b"v")])
        await asyncio.to_thread(write, cluster_a.bootstrap, topic_name, batch, partition=3)
        assert await eventually_async(news) == [3]
        assert await news() == [3], "not moved, and so there is still news"
        session.fetch(wheres[3], 1)
        assert await news() == []
        session.fetch(wheres[3], 0)
        assert await news() == [3]
        session.drop(wheres[3])
        assert await news() == []


async def test_a_long_fetch_that_is_ended_is_followed_by_one_of_all_that_is_wanted_now(
    cluster_a: Cluster, topic_name: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name, 2)
    batch = write_batch([Plain(value=b"v")])
    await asyncio.to_thread(write, cluster_a.bootstrap, topic_name, batch, partition=1)
    wheres = [TopicPartition(TopicName(topic_name), number) for number in range(2)]
    session = FetchSession(_MOST)
    async with wire(cluster_a.bootstrap, topic_name) as client:
        node = client.leader(wheres[0])
        assert node is not None
        session.fetch(wheres[0], 0)
        await _fetched(client, session)
        long = asyncio.ensure_future(client.fetch(node, _request(session.next(), wait_ms=600_000)))
        await asyncio.sleep(0)  # it is sent by now
        assert client.end_fetch(node)
        with pytest.raises(Unavailable):
            await long
        session.answered(None)
        session.fetch(wheres[1], 0)
        answer = await _fetched(client, session)
    assert [each.partition for each in answer.partitions if each.records] == [1]


async def test_a_session_that_was_lost_begins_anew(cluster_a: Cluster, topic_name: str) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    batch = write_batch([Plain(value=b"v")])
    await asyncio.to_thread(write, cluster_a.bootstrap, topic_name, batch)
    session = FetchSession(_MOST)
    session.fetch(TopicPartition(TopicName(topic_name), 0), 0)
    async with wire(cluster_a.bootstrap, topic_name) as client:
        assert (await _fetched(client, session)).session != 0
        session._session += 1
        assert (await _fetched(client, session)).error == Code.FETCH_SESSION_ID_NOT_FOUND
        (partition,) = (await _fetched(client, session)).partitions
        assert partition.records
        session._epoch += 1
        assert (await _fetched(client, session)).error == Code.INVALID_FETCH_SESSION_EPOCH
        (partition,) = (await _fetched(client, session)).partitions
        assert partition.records
