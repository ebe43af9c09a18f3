"""Clients that take a cancellation for their own keep nobody from ending."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from mm2.kafka.cancelling import cancellable
from tests.support.virtual_time import run


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


def test_what_passes_over_a_cancellation_and_waits_again_is_cancelled_again() -> None:
    """As often as it takes, and no sooner than a client may take to close."""
    at: list[float] = []

    async def passes_over() -> None:
        for _ in range(3):
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            at.append(asyncio.get_running_loop().time())
        await asyncio.sleep(4)
        at.append(asyncio.get_running_loop().time())

    async def main() -> None:
        part = asyncio.ensure_future(cancellable(passes_over()))
        await asyncio.sleep(0)
        part.cancel()
        await asyncio.wait({part})
        assert part.cancelled()

    run(main())
    assert [round(each - at[0]) for each in at] == [0, 5, 10, 14]


async def test_who_is_cancelled_twice_waits_no_longer() -> None:
    once, twice = asyncio.Event(), asyncio.Event()

    async def passes_over() -> None:
        for cancelled in (once, twice):
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            cancelled.set()

    part = asyncio.ensure_future(cancellable(passes_over()))
    await asyncio.sleep(0)
    part.cancel()
    await once.wait()
    part.cancel()
    await asyncio.wait({part})
    assert part.cancelled()
    await twice.wait()


async def test_what_a_part_raises_while_it_ends_is_nobody_s_error() -> None:
    async def fails() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ConnectionError("while it ends")

    part = asyncio.ensure_future(cancellable(fails()))
    await asyncio.sleep(0)
    part.cancel()
    await asyncio.wait({part})
    assert part.cancelled()
