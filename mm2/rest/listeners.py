"""
Binds ports and loads TLS and password files before start-up, so errors surface early.

Requests wait in the sockets until the server takes them over. Of the default port and those after
it the first that is free is taken, since several nodes may share a machine; a listener that the
user has named must be had. Imports no HTTP library, which takes long.
"""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import structlog

from mm2.config.rest_settings import LISTENERS, Listener, RestSettings
from mm2.errors import FatalError
from mm2.kafka.security.tls import server_tls_context
from mm2.rest.cors import Origins
from mm2.rest.passwords import Passwords

log = structlog.get_logger()

OTHER_PORTS: Final = 20
"""So many ports after the default one are tried when it is taken."""

_BACKLOG: Final = 128


@dataclass(frozen=True, slots=True)
class Bound:
    """
    One listener that was had.

    Attributes:
        listener: with the port that was really taken.
        sockets: one for each address of its host.
    """

    listener: Listener
    sockets: Sequence[socket.socket]

    def close(self) -> None:
        """Gives the port back."""
        for each in self.sockets:
            each.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSetup:
    """
    Where requests come in, and who is let in.

    Attributes:
        bound: the ports; none if none was to be had.
        tls: of https listeners; None if there are none.
        passwords: of those who may come in; None lets everybody in.
    """

    settings: RestSettings
    bound: Sequence[Bound] = ()
    metrics: Sequence[Bound] = ()
    tls: ssl.SSLContext | None = None
    passwords: Passwords | None = None
    origins: Origins


def prepare(settings: RestSettings) -> ServerSetup:
    """
    Takes the ports, and reads the files that the settings name.

    Raises:
        FatalError: a listener that was asked for cannot be had.
        ConfigError: stores of certificates, passwords or patterns of origins cannot be used.
    """
    found = read_files(settings)
    metrics = bind(replace(settings, listeners=settings.metrics_listeners, by_default=False))
    try:
        return replace(found, bound=bind(settings), metrics=metrics)
    except FatalError:
        for each in metrics:
            each.close()
        raise


def read_files(settings: RestSettings) -> ServerSetup:
    """
    Reads the files that the settings name, and takes no port.

    Raises:
        ConfigError: stores of certificates, passwords or patterns of origins cannot be used.
    """
    passwords = Passwords.of_file(settings.passwords_file) if settings.passwords_file else None
    origins = Origins(settings.origins, settings.methods)
    return ServerSetup(settings=settings, tls=_tls(settings), passwords=passwords, origins=origins)


def _tls(settings: RestSettings) -> ssl.SSLContext | None:
    listeners = *settings.listeners, *settings.metrics_listeners
    if all(listener.scheme == "http" for listener in listeners):
        return None
    return server_tls_context(settings.tls, client_auth=settings.client_auth)


def bind(settings: RestSettings) -> tuple[Bound, ...]:
    """
    Takes the ports; none, with a warning, if none of those that will do is free.

    Raises:
        FatalError: a listener that was asked for cannot be had.
    """
    bound: list[Bound] = []
    try:
        for listener in settings.listeners:
            bound += _default(listener) if settings.by_default else [_asked(listener)]
    except FatalError:
        for each in bound:
            each.close()
        raise
    return tuple(bound)


def advertised_url(bound: Sequence[Bound], settings: RestSettings) -> str:
    """The URL of this node for others, as Connect works it out; empty if it does not listen."""
    if not bound:
        return ""
    listeners = {each.listener.scheme: each.listener for each in reversed(bound)}
    scheme = (settings.advertised_scheme or "").lower()
    if not scheme:
        scheme = "http" if "http" in listeners else "https"
    listener = listeners.get(scheme, bound[0].listener)
    host = settings.advertised_host or listener.host
    if not host or host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = socket.getfqdn()
    return str(Listener(scheme, host, settings.advertised_port or listener.port))


def _asked(listener: Listener) -> Bound:
    try:
        return _bound(listener)
    except OSError as error:
        message = (
            f"{LISTENERS}: cannot listen on {listener}: {error.strerror}. Name a port that is free,"
            " or 0 for any; several nodes on one host need different ones."
        )
        raise FatalError(message) from error


def _default(listener: Listener) -> list[Bound]:
    for port in range(listener.port, listener.port + OTHER_PORTS):
        with suppress(OSError):
            return [_bound(Listener(listener.scheme, listener.host, port))]
    log.warning("rest.not_listening", listener=str(listener), ports_tried=OTHER_PORTS)
    return []


def _bound(listener: Listener) -> Bound:
    """
    Listens on every address of a host.

    Raises:
        OSError: the port is taken, or there is no address.
    """
    sockets: list[socket.socket] = []
    port = listener.port
    problem = OSError(errno.EADDRNOTAVAIL, "the host has no address here")
    for family, address in _addresses(listener.host):
        try:
            sockets.append(_listening(family, (address, port)))
        except OSError as error:
            problem = error
            if error.errno == errno.EADDRINUSE:
                break
        else:
            port = sockets[0].getsockname()[1]
    if not sockets or problem.errno == errno.EADDRINUSE:
        Bound(listener, sockets).close()
        raise problem
    return Bound(Listener(listener.scheme, listener.host, port), sockets)


def _addresses(host: str) -> Iterator[tuple[int, str]]:
    """
    The addresses of a host; of no host, every address.

    Raises:
        OSError: there is no such host.
    """
    if not host:
        family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        yield family, ""
        return
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    for family, *_, address in found:
        yield family, str(address[0])


def _listening(family: int, address: tuple[str, int]) -> socket.socket:
    both = family == socket.AF_INET6 and not address[0]
    found = socket.create_server(address, family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    found.setblocking(False)  # noqa: FBT003 - the library's signature
    return found
