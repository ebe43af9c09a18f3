"""Which ports the REST interface takes, and what it does where they are taken."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from structlog.testing import capture_logs

from mm2.config.rest_settings import Listener, RestSettings
from mm2.errors import FatalError
from mm2.rest.listeners import OTHER_PORTS, Bound, advertised_url, bind

HOST = "127.0.0.1"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else listens on, with one after it that is likely free."""
    with closing(socket.create_server((HOST, 0))) as other:
        yield int(other.getsockname()[1])


def _bound(settings: RestSettings) -> Listener:
    (found,) = bind(settings)
    found.close()
    return found.listener


def test_any_free_port_is_taken_where_zero_is_asked_for() -> None:
    listener = _bound(RestSettings(listeners=(Listener("http", HOST, 0),), by_default=False))
    assert listener.port > 0


def test_another_port_is_taken_where_nobody_has_asked_for_one(taken: int) -> None:
    listener = _bound(RestSettings(listeners=(Listener("http", HOST, taken),), by_default=True))
    assert taken < listener.port < taken + OTHER_PORTS


def test_no_port_is_no_reason_to_stop_where_nobody_has_asked_for_one(
    taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mm2.rest.listeners.OTHER_PORTS", 1)
    with capture_logs() as logs:
        assert bind(RestSettings(listeners=(Listener("http", HOST, taken),))) == ()
    assert [each["event"] for each in logs] == ["rest.not_listening"]


def test_a_port_that_was_asked_for_and_is_taken_stops_the_start(taken: int) -> None:
    first, second = Listener("http", HOST, 0), Listener("http", HOST, taken)
    settings = RestSettings(listeners=(first, second), by_default=False)
    with pytest.raises(FatalError, match=rf"listeners: cannot listen on http://{HOST}:{taken}"):
        bind(settings)


def test_a_host_that_is_not_ours_stops_the_start() -> None:
    settings = RestSettings(listeners=(Listener("http", "192.0.2.1", 0),), by_default=False)
    with pytest.raises(FatalError, match="cannot listen on http://192"):
        bind(settings)


def test_no_host_is_every_interface() -> None:
    (found,) = bind(RestSettings(listeners=(Listener("http", "", 0),), by_default=False))
    with closing(socket.create_connection((HOST, found.listener.port), timeout=60)):
        found.close()


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        (RestSettings(), "http://a:1"),
        (RestSettings(advertised_scheme="HTTPS"), "https://b:2"),
        (RestSettings(advertised_host="front", advertised_port=80), "http://front:80"),
    ],
)
def test_the_advertised_url_is_that_of_a_listener(settings: RestSettings, url: str) -> None:
    bound = [Bound(Listener("https", "b", 2), ()), Bound(Listener("http", "a", 1), ())]
    assert advertised_url(bound, settings) == url


def test_the_advertised_url_names_this_host_where_the_listener_names_none() -> None:
    found = advertised_url([Bound(Listener("http", "", 1), ())], RestSettings())
    assert found == f"http://{socket.getfqdn()}:1"
    assert advertised_url([], RestSettings()) == ""
