"""What all clients together may have an instance keep in memory of their requests."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from socket import socket
from typing import Final

import pytest
from structlog.testing import capture_logs

from mm2.offset_manager.server import client_listener, frame_budget
from mm2.offset_manager.server.connection_slots import MOST_CONNECTIONS
from mm2.offset_manager.server.frame_budget import LARGE_BYTES, SMALL_BYTES, FrameBudget
from tests.support.eventually import eventually_async
from tests.support.listening_server import SIZE, Listening, answering

pytestmark = pytest.mark.timeout(60)

KIB: Final = 1 << 10
LARGE: Final = 512 * KIB
TOTAL: Final = 4 * LARGE
ANSWER: Final = b"answer"
SMALL: Final = SIZE.pack(SMALL_BYTES) + bytes(SMALL_BYTES)
ELSEWHERE: Final = "127.0.0.2"


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@asynccontextmanager
async def listening(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Listening]:
    answering(monkeypatch, ANSWER)
    async with Listening(monkeypatch) as at:
        at.server.budget = FrameBudget(TOTAL)
        yield at


async def half_sent(at: Listening, clients: ExitStack, count: int, **where: str) -> list[socket]:
    """Clients that have begun a large request, and do not go on."""
    return [
        clients.enter_context(await at.client(SIZE.pack(LARGE), b"begun", **where))
        for _ in range(count)
    ]


async def answer_of(client: socket) -> bytes:
    return await asyncio.get_running_loop().sock_recv(client, len(ANSWER))


async def held(at: Listening, expected: int) -> None:
    await eventually_async(lambda: asyncio.sleep(0, at.server.budget.held == expected))


def test_small_and_large_requests_fit_the_documented_total() -> None:
    assert MOST_CONNECTIONS * SMALL_BYTES + LARGE_BYTES <= 256 << 20


async def test_unfinished_requests_take_no_more_memory_than_there_is_for_them(
    monkeypatch: pytest.MonkeyPatch, clients: ExitStack
) -> None:
    """All but the last byte of forty times as much as one host may have is on its way."""
    loop = asyncio.get_running_loop()
    request = memoryview(SIZE.pack(LARGE) + bytes(LARGE - 1))
    async with listening(monkeypatch) as at:
        connected = [clients.enter_context(await at.client()) for _ in range(80)]
        tracemalloc.start()
        try:
            sending = [asyncio.create_task(loop.sock_sendall(each, request)) for each in connected]
            await held(at, TOTAL // 2)
            for _ in range(200):
                await asyncio.sleep(0)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert TOTAL // 2 <= peak < TOTAL
        assert at.server.budget.held == TOTAL // 2
        for each in sending:
            each.cancel()


async def test_small_requests_are_answered_while_large_ones_take_up_the_memory(
    monkeypatch: pytest.MonkeyPatch, clients: ExitStack
) -> None:
    async with listening(monkeypatch) as at:
        await half_sent(at, clients, 20)
        await half_sent(at, clients, 20, host=ELSEWHERE)
        await held(at, TOTAL)
        honest = clients.enter_context(await at.client(SMALL, SMALL))
        assert await answer_of(honest) == ANSWER
        assert await answer_of(honest) == ANSWER
        assert at.server.budget.held == TOTAL


async def test_who_fills_the_memory_does_not_keep_other_hosts_waiting(
    monkeypatch: pytest.MonkeyPatch, clients: ExitStack
) -> None:
    async with listening(monkeypatch) as at:
        await half_sent(at, clients, 20)
        await held(at, TOTAL // 2)
        honest = await at.client(SIZE.pack(LARGE), bytes(LARGE), host=ELSEWHERE)
        assert await answer_of(clients.enter_context(honest)) == ANSWER


async def test_requests_that_do_not_go_on_are_given_up_and_others_are_answered(
    monkeypatch: pytest.MonkeyPatch, clients: ExitStack
) -> None:
    monkeypatch.setattr(client_listener, "_REQUEST_S", 0.2)
    async with listening(monkeypatch) as at:
        with capture_logs() as logged:
            hostile = await half_sent(at, clients, 6)
            honest = clients.enter_context(await at.client(SIZE.pack(LARGE), bytes(LARGE)))
            assert await answer_of(honest) == ANSWER
            for each in hostile:
                assert await answer_of(each) == b""
        await held(at, 0)
    (warning,) = [each for each in logged if each["log_level"] == "warning"]
    assert warning["event"] == "offset_manager.request_given_up"
    assert warning["error"] == f"{LARGE} bytes were not sent within 0.2 s"


async def test_who_waits_for_memory_for_too_long_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, clients: ExitStack
) -> None:
    async with listening(monkeypatch) as at:
        await half_sent(at, clients, 2)
        await held(at, TOTAL // 2)
        monkeypatch.setattr(frame_budget, "ROOM_S", 0.1)
        with capture_logs() as logged:
            (late,) = await half_sent(at, clients, 1)
            with suppress(ConnectionResetError):  # what it has sent was not read
                assert await answer_of(late) == b""
        assert at.server.budget.held == TOTAL // 2
    assert [each["error"] for each in logged] == [f"no memory for {LARGE} bytes within 0.1 s"]


async def test_connections_that_close_give_their_memory_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with listening(monkeypatch) as at:
        with ExitStack() as clients:
            await half_sent(at, clients, 20)
            await half_sent(at, clients, 20, host=ELSEWHERE)
            await held(at, TOTAL)
        await held(at, 0)
        for _ in range(40):
            await at.ended.get()
        assert not at.slots.clients
        assert at.server.budget.held == 0


async def test_a_client_that_sends_byte_by_byte_is_answered(
    monkeypatch: pytest.MonkeyPatch, clients: ExitStack
) -> None:
    async with listening(monkeypatch) as at:
        sent = [bytes([each]) for each in SIZE.pack(3) + b"abc" + SIZE.pack(1) + b"d"]
        honest = clients.enter_context(await at.client(*sent))
        assert await answer_of(honest) == ANSWER
        assert await answer_of(honest) == ANSWER


async def test_of_those_that_wait_the_host_that_holds_least_is_next() -> None:
    budget, order = FrameBudget(4 * LARGE), list[str]()

    async def one(host: str) -> None:
        async with budget.room(host, LARGE):
            order.append(host)

    async with asyncio.TaskGroup() as group, budget.room("a", LARGE), budget.room("b", 2 * LARGE):
        async with budget.room("d", LARGE):
            for host in ("b", "a", "c"):
                group.create_task(one(host))
            await asyncio.sleep(0)
            assert order == []
        await eventually_async(lambda: asyncio.sleep(0, len(order) == 2))
        assert order == ["c", "a"]
    assert order == ["c", "a", "b"]
    assert budget.held == 0


async def test_room_that_is_granted_to_who_has_just_gone_is_given_back() -> None:
    budget = FrameBudget(2 * LARGE)

    async def one() -> None:
        async with budget.room("a", LARGE):
            raise AssertionError("it was cancelled before")

    async with budget.room("a", LARGE):
        waiting = asyncio.create_task(one())
        await asyncio.sleep(0)
        waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert budget.held == 0
