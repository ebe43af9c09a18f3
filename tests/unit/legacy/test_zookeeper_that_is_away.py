"""Offsets in a ZooKeeper that does not answer for a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from flows.legacy import zookeeper_offsets
from flows.legacy.zookeeper_offsets import ZooKeeperOffsets
from mm2.config.legacy.zookeeper_keys import ZooKeeperSettings
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.errors import Unavailable
from tests.support.eventually import eventually_async
from tests.support.fake_zookeeper import FakeZooKeeper

A, B = (TopicPartition(TopicName("t"), number) for number in range(2))
PATH = "/consumers/g/offsets/t/0"


@pytest.fixture
def keeper(monkeypatch: pytest.MonkeyPatch) -> FakeZooKeeper:
    made = FakeZooKeeper()
    monkeypatch.setattr(zookeeper_offsets, "KazooClient", lambda **_: made)
    monkeypatch.setattr(zookeeper_offsets, "ZOOKEEPER_ANSWER_S", 0.05)
    return made


@asynccontextmanager
async def offsets(connect_timeout_s: float = 6) -> AsyncIterator[ZooKeeperOffsets]:
    settings = ZooKeeperSettings(
        connect="keeper:2181",
        session_timeout_s=6,
        connect_timeout_s=connect_timeout_s,
        is_alone=True,
    )
    store = ZooKeeperOffsets(settings, GroupId("g"))
    try:
        await store.start()
        yield store
    finally:
        await store.close()


async def test_offsets_are_made_and_replaced(keeper: FakeZooKeeper) -> None:
    async with offsets() as store:
        assert await store.commit({A: 3}) == {A}
        assert await store.commit({A: 4, B: 1}) == {A, B}
        assert await store.committed([A, B]) == {A: 4, B: 1}
    assert keeper.nodes[PATH] == (b"4", 1)


@pytest.mark.timeout(30)
async def test_neither_reads_nor_commits_wait_without_end(keeper: FakeZooKeeper) -> None:
    async with offsets() as store:
        keeper.answers = 0
        with pytest.raises(Unavailable, match=r"keeper:2181: no answer within 0\.05 s") as raised:
            await store.commit({A: 3})
        assert raised.value.retriable
        with pytest.raises(Unavailable):
            await store.committed([A])
        keeper.come_back()
        assert await store.commit({A: 4}) == {A}
        assert await store.committed([A]) == {A: 4}


@pytest.mark.timeout(30)
async def test_requests_do_not_pile_up_behind_one_that_is_not_answered(
    keeper: FakeZooKeeper,
) -> None:
    async with offsets() as store:
        keeper.answers = 0
        for offset in range(5):
            with pytest.raises(Unavailable):
                await store.commit({A: offset})
    assert keeper.answers == -1


@pytest.mark.timeout(30)
async def test_the_first_request_waits_for_the_first_connection(
    keeper: FakeZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper.answers = 0
    async with offsets() as store:
        with pytest.raises(Unavailable, match=r"keeper:2181: no connection within 0\.05 s"):
            await store.commit({A: 3})
        monkeypatch.setattr(zookeeper_offsets, "ZOOKEEPER_ANSWER_S", 20)
        commit = asyncio.create_task(store.commit({A: 3}))
        await asyncio.sleep(0)
        keeper.come_back()
        assert await commit == {A}


@pytest.mark.parametrize("before", [b"3", None])
async def test_a_write_that_comes_late_replaces_nothing_newer(
    keeper: FakeZooKeeper, before: bytes | None
) -> None:
    if before is not None:
        keeper.put(PATH, before)
    async with offsets() as store:
        keeper.answers = 1  # the read that comes before a write
        with pytest.raises(Unavailable):
            await store.commit({A: 5})
        keeper.put(PATH, b"9")  # who has the partition now
        keeper.come_back()
        assert await store.committed([A]) == {A: 9}


async def test_who_is_overtaken_between_reading_and_writing_has_not_committed(
    keeper: FakeZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = keeper.create_async

    def late(path: str, data: bytes, *, makepath: bool) -> object:
        keeper.put(PATH, b"9")
        return create(path, data, makepath=makepath)

    monkeypatch.setattr(keeper, "create_async", late)
    async with offsets() as store:
        assert await store.commit({A: 5, B: 1}) == {B}
        assert await store.committed([A, B]) == {A: 9, B: 1}


@pytest.mark.timeout(30)
async def test_a_server_that_is_away_at_the_start_is_named_until_it_answers(
    keeper: FakeZooKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zookeeper_offsets, "_WARN_AGAIN_S", 0.01)
    keeper.answers = 0
    with capture_logs() as logged:
        async with offsets(connect_timeout_s=0.01) as store:
            waiting = asyncio.create_task(store.until_connected())
            await eventually_async(lambda: asyncio.sleep(0, len(logged) > 1))
            assert not waiting.done()
            keeper.come_back()
            await waiting
            assert await store.commit({A: 3}) == {A}
    assert {each["event"] for each in logged} == {"stream.zookeeper_awaited"}
    assert "keeper:2181: no server has answered yet" in logged[0]["error"]


async def test_nothing_is_said_of_a_server_that_answers(keeper: FakeZooKeeper) -> None:
    assert keeper.answers
    with capture_logs() as logged:
        async with offsets() as store:
            await store.until_connected()
    assert logged == []
