"""Questions to a cluster end when their time is over, and when who asks is cancelled."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from mm2.errors import Unavailable
from mm2.kafka.link import Link
from mm2.kafka.wire.metadata import MetadataRequest
from tests.support.fenced_broker import FencedBroker, fenced_broker


def _link(broker: FencedBroker) -> Link:
    return Link("F", {"bootstrap.servers": f"127.0.0.1:{broker.port}"})


async def _connected(broker: FencedBroker) -> Link:
    broker.is_fenced = False
    link = _link(broker)
    await link.send(None, "ask for brokers", MetadataRequest(()))
    return link


async def test_who_is_cancelled_while_a_connection_is_closed_ends() -> None:
    async with fenced_broker() as broker:
        link = await _connected(broker)
        closing = asyncio.create_task(link.close())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait({closing})
        assert closing.cancelled()


async def test_who_asks_ends_although_an_attempt_takes_the_deadline_for_its_own() -> None:
    link, attempts = Link("F", {"bootstrap.servers": "127.0.0.1:1"}), 0

    async def attempt() -> None:
        nonlocal attempts
        attempts += 1
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        raise Unavailable("F", "it is closed")

    with pytest.raises(Unavailable, match="it is closed"):
        await link.insist("ask", attempt, within_s=0.01)
    assert attempts == 1
