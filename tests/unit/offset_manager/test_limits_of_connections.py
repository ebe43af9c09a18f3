"""How many clients may be connected, and who makes room for one more."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Sequence
from contextlib import ExitStack
from socket import socket

import pytest
from structlog.testing import capture_logs

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.errors import ConfigErrors
from mm2.offset_manager.serve import raise_open_files
from mm2.offset_manager.server import client_listener
from mm2.offset_manager.server.client_session import ClientSession
from mm2.offset_manager.server.connection_slots import (
    MOST_CONNECTIONS,
    MOST_CONNECTIONS_OF_A_HOST,
    ConnectionSlots,
)
from mm2.offset_manager.server.frame_budget import SMALL_BYTES
from mm2.offset_manager.server.sasl import LogIns
from tests.support.eventually import eventually_async
from tests.support.listening_server import LOG_IN, SIZE, Listening, answering

pytestmark = pytest.mark.timeout(30)

ANSWER = b"answer"
REQUEST = SIZE.pack(1) + b"x"
ELSEWHERE = "127.0.0.2"


async def answer_of(client: socket) -> bytes:
    """An answer; nothing from a connection that was closed."""
    try:
        return await asyncio.get_running_loop().sock_recv(client, len(ANSWER))
    except ConnectionResetError:
        return b""


async def asks(client: socket) -> bytes:
    await asyncio.get_running_loop().sock_sendall(client, REQUEST)
    return await answer_of(client)


async def answered(at: Listening, clients: ExitStack, host: str = "127.0.0.1") -> socket:
    """A client that has its answer, and is idle from then on."""
    client = clients.enter_context(await at.client(host=host))
    assert await asks(client) == ANSWER
    return client


async def test_the_one_that_was_idle_for_longest_makes_room_for_a_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, ANSWER)
    async with Listening(monkeypatch, ConnectionSlots(3)) as at:
        with ExitStack() as clients, capture_logs() as logged:
            first, second, third = [await answered(at, clients) for _ in range(3)]
            assert await asks(first) == ANSWER
            fourth = await answered(at, clients, ELSEWHERE)
            assert await answer_of(second) == b""
            assert [await asks(each) for each in (first, third, fourth)] == [ANSWER] * 3
            assert len(at.slots.clients) == 3
    (warning,) = [each for each in logged if each["log_level"] == "warning"]
    assert warning["event"] == "offset_manager.connections_at_limit"
    assert warning["client"] == ELSEWHERE
    assert warning["error"] == "max.connections is reached: the one idle for longest is closed"


async def test_one_address_takes_no_connections_from_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, ANSWER)
    async with Listening(monkeypatch, ConnectionSlots(10, 2)) as at:
        with ExitStack() as clients, capture_logs() as logged:
            honest = await answered(at, clients, ELSEWHERE)
            many = [await answered(at, clients) for _ in range(5)]
            assert await asks(honest) == ANSWER
            assert [await answer_of(each) for each in many[:3]] == [b""] * 3
            assert [await asks(each) for each in many[3:]] == [ANSWER] * 2
    (warning,) = [each for each in logged if each["log_level"] == "warning"]
    assert warning["error"].startswith("max.connections.per.ip is reached")


async def test_none_is_closed_with_a_request_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_answer = asyncio.Semaphore(0), asyncio.Event()

    async def late(_: ClientSession, _frame: bytes) -> Sequence[bytes]:
        begun.release()
        await may_answer.wait()
        return [ANSWER]

    monkeypatch.setattr(ClientSession, "answer", late)
    async with Listening(monkeypatch, ConnectionSlots(2)) as at:
        with ExitStack() as clients:
            busy = [clients.enter_context(await at.client(REQUEST)) for _ in range(2)]
            for _ in busy:
                await begun.acquire()
            refused = clients.enter_context(await at.client(REQUEST))
            assert await answer_of(refused) == b""
            may_answer.set()
            assert [await answer_of(each) for each in busy] == [ANSWER] * 2


async def logged_in(at: Listening, clients: ExitStack, host: str = "127.0.0.1") -> socket:
    client = clients.enter_context(await at.client(LOG_IN, host=host))
    assert await answer_of(client) == ANSWER
    return client


def metric(at: Listening, name: str) -> float:
    found = [line for line in at.metrics().splitlines() if line.startswith(f"mm2_{name} ")]
    return float(found[0].rpartition(" ")[2])


async def test_nobody_without_a_password_takes_connections_from_those_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, ANSWER)
    slots = ConnectionSlots(30, has_newcomers=True, most_before_log_in=3)
    async with Listening(monkeypatch, slots, LogIns()) as at:
        with ExitStack() as clients, capture_logs() as logged:
            honest = [await logged_in(at, clients) for _ in range(29)]
            for _ in range(10):
                await answered(at, clients, ELSEWHERE)
            assert [await asks(each) for each in honest] == [ANSWER] * 29
            assert metric(at, "offset_manager_connections") == 30
            closed = 'offset_manager_connections_closed_total{reason="no_room"}'
            assert metric(at, closed) == 9
    (warning,) = [each for each in logged if each["log_level"] == "warning"]
    assert warning["error"].startswith("max.connections is reached")


async def test_of_those_who_have_not_logged_in_the_address_with_most_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even with requests under way, which a client without a password can have at any time."""
    answering(monkeypatch, ANSWER)
    slots = ConnectionSlots(30, has_newcomers=True, most_before_log_in=4)
    async with Listening(monkeypatch, slots, LogIns()) as at:
        with ExitStack() as clients, capture_logs() as logged:
            newcomer = await answered(at, clients, ELSEWHERE)
            begun = [await answered(at, clients) for _ in range(3)]
            await asyncio.get_running_loop().sock_sendall(begun[2], SIZE.pack(9))
            await logged_in(at, clients, ELSEWHERE)
            assert await answer_of(begun[2]) == b""
            assert [await asks(each) for each in (newcomer, *begun[:2])] == [ANSWER] * 3
            assert len(at.slots.clients) == 4
    (warning,) = [each for each in logged if each["log_level"] == "warning"]
    assert warning["error"].startswith("a tenth of max.connections")
    assert warning["error"].endswith("one of the address that has most of these is closed")


async def test_a_log_in_that_is_under_way_goes_on_when_the_same_address_comes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, ANSWER)
    slots = ConnectionSlots(30, has_newcomers=True, most_before_log_in=2)
    async with Listening(monkeypatch, slots, LogIns()) as at:
        with ExitStack() as clients, capture_logs() as logged:
            begun = [await answered(at, clients) for _ in range(2)]
            refused = clients.enter_context(await at.client())
            assert await answer_of(refused) == b""
            assert [await asks(each) for each in begun] == [ANSWER] * 2
            await asyncio.get_running_loop().sock_sendall(begun[0], LOG_IN)
            assert await answer_of(begun[0]) == ANSWER
            await logged_in(at, clients)
    (warning,) = [each for each in logged if each["log_level"] == "warning"]
    assert "the new one, as no other address has many more of these" in warning["error"]


async def test_nothing_goes_on_for_who_has_made_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log-in that is tried at the cluster takes up a connection there."""
    begun, given_up = asyncio.Semaphore(0), asyncio.Semaphore(0)

    async def never(_: ClientSession, _frame: bytes) -> Sequence[bytes]:
        begun.release()
        try:
            return await asyncio.Future()
        finally:
            given_up.release()

    monkeypatch.setattr(ClientSession, "answer", never)
    slots = ConnectionSlots(30, has_newcomers=True, most_before_log_in=6)
    async with Listening(monkeypatch, slots, LogIns()) as at:
        with ExitStack() as clients, capture_logs():
            for host in ["127.0.0.1"] * 6 + [ELSEWHERE] * 3:
                clients.enter_context(await at.client(REQUEST, host=host))
                await begun.acquire()
            for _ in range(3):
                await given_up.acquire()
            assert given_up.locked()
            assert len(at.slots.clients) == 6


async def test_who_does_not_log_in_in_time_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, ANSWER)
    async with Listening(monkeypatch, log_ins=LogIns()) as at:
        with ExitStack() as clients, capture_logs() as logged:
            honest = await logged_in(at, clients)
            monkeypatch.setattr(client_listener, "_LOG_IN_S", 0.1)
            silent = await answered(at, clients)
            assert await answer_of(silent) == b""
            assert await asks(honest) == ANSWER
            closed = 'offset_manager_connections_closed_total{reason="no_log_in"}'
            assert metric(at, closed) == 1
    (warning,) = [each for each in logged if each["log_level"] == "warning"]
    assert warning["event"] == "offset_manager.request_given_up"
    assert warning["error"] == "there was no log-in, or no handshake, within 0.1 s"


async def test_who_has_not_logged_in_takes_no_memory_from_those_who_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, ANSWER)
    large = SIZE.pack(SMALL_BYTES + 1)
    async with Listening(monkeypatch, log_ins=LogIns()) as at:
        with ExitStack() as clients:
            refused = clients.enter_context(await at.client(large))
            assert await answer_of(refused) == b""
            honest = await logged_in(at, clients)
            await asyncio.get_running_loop().sock_sendall(honest, large)
            await eventually_async(
                lambda: asyncio.sleep(0, at.server.budget.held == SMALL_BYTES + 1)
            )
            assert metric(at, "offset_manager_request_bytes") == SMALL_BYTES + 1


async def test_connections_that_have_ended_take_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, ANSWER)
    async with Listening(monkeypatch, ConnectionSlots(2, 1)) as at:
        for _ in range(3):
            with ExitStack() as clients, capture_logs() as logged:
                await answered(at, clients)
            await at.ended.get()
            assert logged == []
        assert not at.slots.clients
        assert not at.slots._by_host


def test_the_limits_are_settings() -> None:
    servers = {"bootstrap.servers": "kafka:9092"}
    default = OffsetManagerSettings.of(servers)
    assert default.max_connections == MOST_CONNECTIONS
    assert default.max_connections_per_ip == MOST_CONNECTIONS_OF_A_HOST
    asked = {"max.connections": "20", "max.connections.per.ip": "2147483647"}
    found = OffsetManagerSettings.of({**servers, **asked})
    assert (found.max_connections, found.max_connections_per_ip) == (20, 2**31 - 1)
    assert found.properties == servers
    with pytest.raises(ConfigErrors, match=r"max\.connections"):
        OffsetManagerSettings.of({**servers, "max.connections": "10001"})


def test_as_many_files_may_be_open_as_the_hard_limit_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1] - 1, before[1]))
        raise_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
