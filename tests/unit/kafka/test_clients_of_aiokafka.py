"""aiokafka's consumers and producers talk by way of our connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError

from mm2.demo.broker_settings import HOST
from mm2.kafka.connecting import connected
from mm2.kafka.wire.node_channel import Traffic
from mm2.kafka.wire.nodes import NodesClient
from tests.support.fenced_broker import fenced_broker


@pytest.fixture
async def client() -> AsyncIterator[NodesClient]:
    async with fenced_broker() as broker:
        broker.is_fenced = False
        client = NodesClient(bootstrap_servers=f"{HOST}:{broker.port}")
        await client.bootstrap()
        yield client
        await client.close()


@pytest.mark.parametrize("kind", [AIOKafkaConsumer, AIOKafkaProducer])
async def test_a_silent_bootstrap_server_does_not_hold_them_up(
    kind: type[AIOKafkaConsumer | AIOKafkaProducer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.shuffle", lambda _: None)
    monkeypatch.setattr("mm2.kafka.wire.nodes._NEXT_AFTER_S", 0.01)
    monkeypatch.setattr("mm2.kafka.wire.nodes._CONNECT_WITHIN_S", 300)
    async with (
        fenced_broker() as broker,
        await asyncio.start_server(_say_nothing, HOST, 0) as mute,
    ):
        broker.is_fenced = False
        ports = [mute.sockets[0].getsockname()[1], broker.port]
        client = kind(bootstrap_servers=[f"{HOST}:{port}" for port in ports])
        async with asyncio.timeout(30):
            await connected(client)
        await client.stop()


async def test_the_same_metadata_are_not_asked_for_without_a_pause(client: NodesClient) -> None:
    """aiokafka's consumers would, while a partition has no leader or is not there."""
    began = asyncio.get_running_loop().time()
    assert [await client.force_metadata_update() for _ in range(4)] == [True] * 4
    assert asyncio.get_running_loop().time() - began > 0.29


async def test_who_waits_for_metadata_hears_that_the_client_is_closed(client: NodesClient) -> None:
    await client.force_metadata_update()
    waiting = client.force_metadata_update()
    await client.close()
    async with asyncio.timeout(30):
        assert not await waiting
    with pytest.raises(KafkaConnectionError, match="closed"):
        await client.bootstrap()


async def test_a_connection_that_was_closed_is_made_again(client: NodesClient) -> None:
    (node,) = [each.nodeId for each in client.cluster.brokers()]
    assert not client.close_connection(node, Traffic.FETCH), "there is none yet"
    for _ in range(2):
        assert await client.ready(node, group=Traffic.FETCH)
        assert client.close_connection(node, Traffic.FETCH)
        assert not client.close_connection(node, Traffic.FETCH)


async def _say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()
