"""A log that nobody leads, or whose leader is silent, holds up nobody who asks about others."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.demo.broker_settings import HOST
from mm2.errors import Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.groups.offset_calls import OffsetAt
from tests.support.eventually import eventually_async
from tests.support.fenced_broker import END, LED, FencedBroker, fenced_broker

_LED, _OTHER = (TopicPartition(TopicName(LED), number) for number in (0, 1))
_NOBODY = -1


def _admin(broker: FencedBroker, *leaders: int) -> Admin:
    broker.is_fenced = False
    broker.leaders = list(leaders)
    return Admin("F", {"bootstrap.servers": f"{HOST}:{broker.port}"})


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for some of the answers only does so for a moment."""
    monkeypatch.setattr("mm2.kafka.logs.log_ends._SOON_S", 0.5)


async def test_who_can_do_without_some_is_told_of_the_others() -> None:
    async with fenced_broker() as broker:
        admin = _admin(broker, 1, _NOBODY)
        assert await eventually_async(partial(_known, admin)) == {_LED: END}
        await admin.close()


async def test_a_silent_leader_is_not_waited_for_longer_than_that() -> None:
    async with (
        fenced_broker() as broker,
        await asyncio.start_server(_say_nothing, HOST, 0) as mute,
    ):
        broker.others = {2: mute.sockets[0].getsockname()[1]}
        admin = _admin(broker, 2, 1)
        assert await eventually_async(partial(_known, admin)) == {_OTHER: END}
        await admin.close()


async def test_who_needs_all_waits_until_each_has_a_leader() -> None:
    async with fenced_broker() as broker:
        admin = _admin(broker, 1, _NOBODY)
        asking = asyncio.create_task(admin.list_offsets([_LED, _OTHER], OffsetAt.LATEST))
        await broker.has_told.wait()
        broker.leaders = [1, 1]
        assert await asking == {_LED: END, _OTHER: END}
        assert broker.told == [0, 1], "what is known is not asked for again"
        await admin.close()


async def test_nothing_at_all_is_a_failure_that_tells_why() -> None:
    async with fenced_broker() as broker:
        admin = _admin(broker, _NOBODY)

        async def reason() -> str:
            with pytest.raises(Unavailable) as failure:
                await admin.known_offsets([_LED], OffsetAt.LATEST)
            return str(failure.value)

        await eventually_async(reason, until=lambda found: f"{LED}-0 has no leader" in found)
        await admin.close()


async def _known(admin: Admin) -> dict[TopicPartition, int]:
    """What one call tells; on a slow machine nothing at all may come in so short a time."""
    return await admin.known_offsets([_LED, _OTHER], OffsetAt.LATEST)


async def _say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()
