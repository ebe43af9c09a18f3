"""Many clients that log in at the same time, in virtual time."""

from __future__ import annotations

import asyncio
import socket
from typing import cast

import pytest

from mm2.offset_manager.server.client_connection import ClientConnection
from mm2.offset_manager.server.connection_slots import LOG_IN_LIMIT, ConnectionSlots
from tests.support.virtual_time import run

CLIENTS = 2000
FEWER = 600
MOST = 1000
"""That have not logged in, as by default."""
CPU_S = 0.003
STEPS = 3
"""Of a log-in; each is a round trip, and a part of the work of the processor."""
ROUND_TRIP_S = 0.05
RETRY_S = 0.5
LOG_IN_S = 30.0


class NoSocket:
    """Stands for the socket of a connection that is simulated."""

    def shutdown(self, _how: int) -> None:
        """Nobody is there to be told."""


def connection(host: str) -> ClientConnection:
    return ClientConnection(cast("socket.socket", NoSocket()), host)


class Instance:
    """An instance that has just started, with the real slots for connections."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.slots = ConnectionSlots(has_newcomers=True, clock=loop.time)
        self._processor = asyncio.Lock()
        self.aborted = 0

    def _connection(self, host: str) -> ClientConnection | None:
        while (limit := self.slots.limit_reached(host)) is not None:
            if not self.slots.make_room(host, limit):
                return None
        client = connection(host)
        self.slots.enter(client)
        return client

    async def _logs_in(self) -> None:
        for _ in range(STEPS):
            await asyncio.sleep(ROUND_TRIP_S)
            async with self._processor:
                await asyncio.sleep(CPU_S / STEPS)

    async def good_client(self, host: str) -> None:
        """Connects until it has logged in."""
        while True:
            if (client := self._connection(host)) is not None:
                client.serving = asyncio.create_task(self._logs_in())
                await asyncio.wait([client.serving])
                if not client.serving.cancelled():
                    self.slots.logged_in(client)
                    return
                self.aborted += 1
            await asyncio.sleep(RETRY_S)

    async def silent_client(self, host: str, patience_s: float) -> None:
        """Connects again and again, and says nothing."""
        while True:
            if (client := self._connection(host)) is not None:
                client.serving = asyncio.create_task(asyncio.sleep(patience_s))
                await asyncio.wait([client.serving])
                self.slots.leave(client)
            else:
                await asyncio.sleep(RETRY_S)


async def took(instance: Instance, count: int, addresses: int) -> float:
    """Until all good clients have logged in, in parts of the work that this is."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    async with asyncio.timeout(60), asyncio.TaskGroup() as clients:
        for number in range(count):
            clients.create_task(instance.good_client(f"good-{number % addresses}"))
    return (loop.time() - begun) / (count * CPU_S)


@pytest.mark.parametrize("addresses", [1, 2, 20, CLIENTS])
def test_all_clients_of_an_instance_that_starts_again_log_in(addresses: int) -> None:
    async def main() -> None:
        instance = Instance()
        assert await took(instance, CLIENTS, addresses) < 1.5
        assert instance.aborted < CLIENTS / 20
        assert len(instance.slots.clients) == CLIENTS

    run(main())


@pytest.mark.parametrize("patience_s", [LOG_IN_S, 1.0])
@pytest.mark.parametrize("addresses", [1, 20])
def test_one_address_keeps_no_others_from_logging_in(addresses: int, patience_s: float) -> None:
    """Whether it keeps its connections, or makes new ones before they are old."""

    async def main() -> None:
        instance = Instance()
        hostile = [
            asyncio.create_task(instance.silent_client("hostile", patience_s))
            for _ in range(2 * MOST)
        ]
        await asyncio.sleep(RETRY_S)
        assert instance.slots.limit_reached("good-0") is not None
        assert await took(instance, FEWER, addresses) < 2
        for each in hostile:
            each.cancel()

    run(main())


def test_who_takes_too_long_gives_way_to_an_address_that_has_fewer() -> None:
    now = [0.0]
    slots = ConnectionSlots(30, has_newcomers=True, most_before_log_in=2, clock=lambda: now[0])

    async def main() -> None:
        first, second, third = [connection(host) for host in "abc"]
        slots.enter(first)
        now[0] = 1.0
        slots.enter(second)
        now[0] = 14.9
        assert not slots.make_room("c", LOG_IN_LIMIT)
        now[0] = 15.0
        assert not slots.make_room("a", LOG_IN_LIMIT)
        assert slots.make_room("c", LOG_IN_LIMIT)
        slots.enter(third)
        assert slots.clients == {second, third}

    run(main())


async def test_who_is_refused_takes_no_connection_from_who_has_logged_in() -> None:
    slots = ConnectionSlots(3, has_newcomers=True, most_before_log_in=2)
    honest, *begun = [connection(host) for host in "abb"]
    for each in (honest, *begun):
        slots.enter(each)
    slots.logged_in(honest)
    with slots.idle(honest):
        assert slots.limit_reached("b") == LOG_IN_LIMIT
        assert not slots.make_room("b", LOG_IN_LIMIT)
    assert slots.clients == {honest, *begun}
