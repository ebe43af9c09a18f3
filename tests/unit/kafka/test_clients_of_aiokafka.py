"""aiokafka's consumers and producers talk by way of our connections."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from mm2.demo.broker_settings import HOST
from mm2.kafka.connecting import connected
from tests.support.fenced_broker import fenced_broker


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


async def _say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()
