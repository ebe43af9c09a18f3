"""Clients that take a cancellation for their own keep nobody from ending."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from mm2.kafka.cancelling import cancellable


class _Client:
    """Ends its task as aiokafka's clients do when they are stopped."""

    def __init__(self) -> None:
        self.is_stopping = asyncio.Event()
        self.is_stopped = False
        self._may_end = asyncio.Event()

    async def stop(self) -> None:
        self.is_stopping.set()
        with suppress(asyncio.CancelledError):
            await self._may_end.wait()
        self.is_stopped = True


async def test_who_is_cancelled_while_a_client_stops_ends() -> None:
    client, gone_on = _Client(), False

    async def part_of_a_flow() -> None:
        nonlocal gone_on
        await cancellable(client.stop())
        gone_on = True

    part = asyncio.ensure_future(part_of_a_flow())
    await client.is_stopping.wait()
    part.cancel()
    await asyncio.wait({part})

    assert part.cancelled()
    assert client.is_stopped
    assert not gone_on


async def test_errors_of_a_client_are_heard() -> None:
    async def start() -> None:
        raise ConnectionError("nobody there")

    with pytest.raises(ConnectionError, match="nobody there"):
        await cancellable(start())
