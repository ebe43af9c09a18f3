"""A client that alone knows no broker of its cluster is replaced; one that may find some is not."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException
from structlog.testing import capture_logs

from mm2.core.model import GroupId
from mm2.errors import Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.groups import consumer
from mm2.kafka.groups.client_watch import ClientWatch
from mm2.kafka.groups.consumer import GroupConsumer
from tests.support.eventually import eventually
from tests.support.fenced_broker import LED, fenced_broker
from tests.support.virtual_time import run

_REPLACED = "stream.member_replaced"


class _Cluster:
    """Away while it is told so."""

    is_away = False

    async def cluster_id(self, *, within_s: float | None = None) -> str:
        if self.is_away:
            raise Unavailable("A", "no answer")
        return "id"


class _Client:
    """Counts how often it is looked at."""

    has_broker = False
    looks = 0

    async def knows_broker(self) -> bool:
        self.looks += 1
        return self.has_broker


async def _stuck_times(watch: ClientWatch, client: _Client, seconds: int) -> list[float]:
    """When the client was found stuck, in seconds from now."""
    clock = asyncio.get_running_loop().time
    begun, found = clock(), []
    while clock() < begun + seconds:
        if await watch.is_stuck(client.knows_broker):
            found.append(clock() - begun)
        await asyncio.sleep(1)
    return found


def test_a_client_that_alone_has_no_broker_is_replaced_and_the_next_one_given_as_long() -> None:
    watch = ClientWatch(_Cluster(), patience_s=45, every_s=10)
    assert run(_stuck_times(watch, _Client(), 115)) == [50, 110]


def test_a_client_that_finds_a_broker_in_time_stays() -> None:
    async def go() -> None:
        watch, client = ClientWatch(_Cluster(), patience_s=45, every_s=10), _Client()
        assert await _stuck_times(watch, client, 45) == []
        client.has_broker = True
        assert await _stuck_times(watch, client, 10) == []
        client.has_broker = False
        assert await _stuck_times(watch, client, 45) == []

    run(go())


def test_no_client_is_looked_at_while_the_cluster_is_away() -> None:
    async def go() -> None:
        cluster, client = _Cluster(), _Client()
        watch = ClientWatch(cluster, patience_s=45, every_s=10)
        assert await _stuck_times(watch, client, 40) == []
        cluster.is_away, looks = True, client.looks
        assert await _stuck_times(watch, client, 3600) == []
        assert client.looks == looks
        cluster.is_away = False
        assert await _stuck_times(watch, client, 55) == [50]

    run(go())


async def test_a_member_whose_client_dropped_all_brokers_has_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By default librdkafka looks for brokers again, as it should, but in a race forgets to."""
    made: list[Consumer] = []

    def client(settings: dict[str, Any], **more: Any) -> Consumer:
        made.append(Consumer({**settings, "metadata.recovery.strategy": "none"}, **more))
        return made[-1]

    monkeypatch.setattr(consumer, "Consumer", client)
    async with fenced_broker() as broker:
        broker.is_fenced = False
        properties = {"bootstrap.servers": f"127.0.0.1:{broker.port}"}
        admin = Admin("A", properties)
        watch = ClientWatch(admin, patience_s=0.2, every_s=0.1)
        owner: Any = SimpleNamespace()
        member = GroupConsumer("A", properties, group=GroupId("g"), owner=owner, watch=watch)
        await member.subscribe({LED})
        assert await _brokers(made[0]) == 1
        broker.is_fenced = True
        assert await _brokers(made[0]) == 0
        broker.is_fenced = False
        with pytest.raises(KafkaException, match="_TRANSPORT"):
            await _brokers(made[0], within_s=0.5)

        with capture_logs() as logs:
            running = asyncio.create_task(member.run(), name="member")
            await asyncio.to_thread(eventually, lambda: _REPLACED in [e["event"] for e in logs])
            assert await _brokers(made[1]) == 1
        running.cancel()
        await member.close()
        await admin.close()
    assert len(made) == 2


async def _brokers(client: Consumer, within_s: float = 20.0) -> int:
    found = await asyncio.to_thread(client.list_topics, LED, timeout=within_s)
    return len(found.brokers)
