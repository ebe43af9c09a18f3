"""Connections of clients from when they are accepted, which is before the handshake of TLS."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import uvloop
from structlog.testing import capture_logs

from mm2.errors import FatalError
from mm2.kafka.security.tls import server_tls_context
from mm2.offset_manager.server import accepting, client_listener
from mm2.offset_manager.server.accepting import Accepting, listening_sockets
from mm2.offset_manager.server.connection_slots import ConnectionSlots
from tests.support import virtual_time
from tests.support.certificates import PASSWORD, Certified
from tests.support.listening_server import SIZE, Listening, answering

pytestmark = pytest.mark.timeout(60)

ANSWER = b"answer"
RUNS = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(scope="module")
def authority() -> Certified:
    return Certified.authority("authority")


@pytest.fixture(scope="module")
def server_side(authority: Certified, tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    path: Path = tmp_path_factory.mktemp("stores") / "server.p12"
    store = {
        "ssl.keystore.location": str(authority.issue("server").keystore(path, authority)),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
    }
    return server_tls_context(store, client_auth="none")


async def _asks(at: Listening, authority: Certified) -> bytes:
    """The answer to a client of another address that does the handshake."""
    trusting = ssl.create_default_context(cadata=authority.certificate_pem)
    trusting.check_hostname = False
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", at.port, ssl=trusting, local_addr=("127.0.0.2", 0)
    )
    writer.write(SIZE.pack(1) + b"x")
    try:
        return await reader.read(len(ANSWER))
    finally:
        writer.close()


async def _has_ended(client: socket.socket) -> bool:
    try:
        return await asyncio.get_running_loop().sock_recv(client, 1) == b""
    except ConnectionResetError:
        return True


@RUNS
def test_who_does_not_do_the_handshake_makes_room_for_who_does(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    authority: Certified,
    server_side: ssl.SSLContext,
) -> None:
    answering(monkeypatch, ANSWER)

    async def main() -> None:
        slots = ConnectionSlots(30, has_newcomers=True, most_before_log_in=3)
        async with Listening(monkeypatch, slots, tls=server_side) as at:
            with ExitStack() as clients, capture_logs():
                silent = [clients.enter_context(await at.client()) for _ in range(8)]
                for each in silent[3:]:
                    assert await _has_ended(each)
                assert await _asks(at, authority) == ANSWER
                assert await _has_ended(silent[2])
                assert len(at.slots.clients) <= 4
                at.server.close()
                for each in silent[:2]:
                    assert await _has_ended(each)

    run(main())


@RUNS
def test_a_handshake_that_does_not_go_on_is_given_up(
    run: Run, monkeypatch: pytest.MonkeyPatch, server_side: ssl.SSLContext
) -> None:
    monkeypatch.setattr(client_listener, "_LOG_IN_S", 0.1)

    async def main() -> None:
        async with Listening(monkeypatch, tls=server_side) as at:
            with capture_logs() as logged, await at.client() as silent:
                assert await _has_ended(silent)
                await at.ended.get()
            assert not at.slots.clients
        (warning,) = [each for each in logged if each["log_level"] == "warning"]
        assert warning["error"] == "there was no log-in, or no handshake, within 0.1 s"

    run(main())


@RUNS
def test_who_speaks_no_tls_is_disconnected_without_a_word(
    run: Run, monkeypatch: pytest.MonkeyPatch, server_side: ssl.SSLContext
) -> None:
    async def main() -> None:
        async with Listening(monkeypatch, tls=server_side) as at:
            with capture_logs() as logged, await at.client(bytes(100)):
                await at.ended.get()
            assert not at.slots.clients
            assert logged == []

    run(main())


async def test_connections_are_accepted_again_once_files_may_be_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, ANSWER)
    monkeypatch.setattr(accepting, "_NO_FILE_S", 0)
    loop = asyncio.get_running_loop()
    accept, failed = loop.sock_accept, asyncio.Event()

    async def fails_once(listening: socket.socket) -> tuple[socket.socket, Any]:
        if not failed.is_set():
            failed.set()
            raise OSError(errno.EMFILE, "Too many open files")
        return await accept(listening)

    monkeypatch.setattr(loop, "sock_accept", fails_once)
    async with Listening(monkeypatch) as at:
        with await at.client(SIZE.pack(1) + b"x") as client:
            assert await loop.sock_recv(client, len(ANSWER)) == ANSWER
    assert failed.is_set()


@pytest.mark.parametrize(
    ("error", "pause_s"),
    [
        *((each, 1) for each in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)),
        *((each, 0) for each in (errno.ECONNABORTED, errno.EPROTO, errno.EHOSTUNREACH)),
    ],
)
def test_an_error_of_one_connection_keeps_no_others_waiting(
    monkeypatch: pytest.MonkeyPatch, error: int, pause_s: int
) -> None:
    async def main() -> None:
        loop, served = asyncio.get_running_loop(), asyncio.Event()
        accepted = iter([OSError(error, "no"), (socket.socket(), ("127.0.0.1", 1))])

        async def accept(_: socket.socket) -> Any:
            found = next(accepted, None)
            if isinstance(found, OSError):
                raise found
            return found or await asyncio.Future()

        async def serve(client: socket.socket, _address: str) -> None:
            client.close()
            served.set()

        monkeypatch.setattr(loop, "sock_accept", accept)
        listening = Accepting([socket.socket()], serve)
        await served.wait()
        listening.close()
        assert loop.time() == pause_s

    virtual_time.run(main())


@RUNS
@pytest.mark.parametrize(
    "end", [socket.socket.close, lambda one: one.shutdown(socket.SHUT_RDWR)], ids=["close", "shut"]
)
def test_accepting_ends_when_its_socket_has(run: Run, end: Callable[[socket.socket], None]) -> None:
    async def serve(*_: object) -> None:
        raise AssertionError

    async def main() -> None:
        (one,) = listening_sockets("127.0.0.1", 0)
        end(one)
        listening = Accepting([one], serve)
        await asyncio.gather(*listening._accepting)
        listening.close()

    run(main())


async def test_a_port_that_is_taken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Listening(monkeypatch) as at:
        with pytest.raises(FatalError, match=rf"127\.0\.0\.1:{at.port}: Address already in use"):
            await at.server.serve("127.0.0.1", at.port)


@pytest.mark.parametrize("lacking", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
def test_a_family_of_addresses_that_the_machine_lacks_is_left_out(
    monkeypatch: pytest.MonkeyPatch, lacking: int
) -> None:
    both = [
        (family, socket.SOCK_STREAM, 6, "", (host, 0))
        for family, host in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1"))
    ]
    create = socket.create_server

    def without_newer(address: Any, *, family: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(lacking, "none")
        return create(address, family=family)

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
    monkeypatch.setattr(socket, "create_server", without_newer)
    (one,) = listening_sockets("", 0)
    with one:
        assert one.getsockname()[0] == "127.0.0.1"
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both[:1])
    with pytest.raises(OSError, match="none"):
        listening_sockets("", 0)


def test_no_port_stays_taken_when_another_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []
    create = socket.create_server

    def one_alone(address: Any, *, family: int) -> socket.socket:
        if made:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        made.append(create(address, family=family))
        return made[0]

    addresses = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{n}", 0)) for n in (1, 2)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
    monkeypatch.setattr(socket, "create_server", one_alone)
    with pytest.raises(OSError, match="already in use"):
        listening_sockets("here", 0)
    assert made[0].fileno() == -1
