"""Links that are cut lose nothing and say nothing; those that refuse break off."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from mm2.demo.broker_settings import HOST, free_ports
from tests.harness.chaos.proxy import Link, Links
from tests.support.eventually import PATIENCE_S, eventually

_SILENCE_S = 0.1


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server((HOST, 0)) as found:
        found.settimeout(PATIENCE_S)
        yield found


@pytest.fixture
def link(server: socket.socket) -> Iterator[tuple[Link, int]]:
    (port,) = free_ports(1)
    with Links() as links:
        yield links.open(port, server.getsockname()[1]), port


def test_a_cut_link_keeps_what_is_sent_until_it_is_whole_again(
    server: socket.socket, link: tuple[Link, int]
) -> None:
    way, port = link
    with closing(socket.create_connection((HOST, port), PATIENCE_S)) as client:
        client.sendall(b"before")
        there, _ = server.accept()
        with closing(there):
            there.settimeout(PATIENCE_S)
            assert there.recv(100) == b"before"
            way.cut()
            client.sendall(b"meanwhile")
            there.settimeout(_SILENCE_S)
            with pytest.raises(TimeoutError):
                there.recv(100)
            there.settimeout(PATIENCE_S)
            way.heal()
            assert there.recv(100) == b"meanwhile"
            there.sendall(b"answer")
            assert client.recv(100) == b"answer"


def test_new_connections_over_a_cut_link_arrive_later(
    server: socket.socket, link: tuple[Link, int]
) -> None:
    way, port = link
    way.cut()
    with closing(socket.create_connection((HOST, port), PATIENCE_S)):
        server.settimeout(_SILENCE_S)
        with pytest.raises(TimeoutError):
            server.accept()
        server.settimeout(PATIENCE_S)
        way.heal()
        there, _ = server.accept()
        there.close()


def test_a_link_that_refuses_breaks_connections_off_until_it_is_whole(
    server: socket.socket, link: tuple[Link, int]
) -> None:
    way, port = link
    with closing(socket.create_connection((HOST, port), PATIENCE_S)) as client:
        there, _ = server.accept()
        way.refuse()
        with closing(there):
            assert _is_broken_off(client)
            assert _is_broken_off(there)
    with closing(socket.create_connection((HOST, port), PATIENCE_S)) as another:
        assert _is_broken_off(another)
    way.heal()
    eventually(lambda: _echo(server, port))


def _is_broken_off(end: socket.socket) -> bool:
    end.settimeout(PATIENCE_S)
    try:
        return end.recv(100) == b""
    except ConnectionResetError:
        return True


def _echo(server: socket.socket, port: int) -> bool:
    with closing(socket.create_connection((HOST, port), PATIENCE_S)) as client:
        server.settimeout(1)
        try:
            there, _ = server.accept()
        except TimeoutError as error:
            raise AssertionError("not whole yet") from error
        with closing(there):
            there.sendall(b"!")
            return client.recv(1) == b"!"
