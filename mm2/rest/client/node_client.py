"""Asks the REST interface of a running node, for commands."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final

from aiohttp import (
    ClientConnectorCertificateError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
)

from mm2.config.rest_settings import LISTENERS, Listener, RestSettings
from mm2.core.json_text import read_json
from mm2.errors import ConfigError, Mm2Error
from mm2.kafka.security.tls import tls_context
from mm2.rest.listeners import OTHER_PORTS
from mm2.telemetry.recent_events import RecentEvent

_LATER: Final = 10**19
"""No event has such a number: nothing is answered, by nobody but nodes of ours."""

_TIMEOUT: Final = ClientTimeout(total=10)
_ANY_HOST: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not bound


class NodeError(Mm2Error):
    """A node cannot be asked; the message says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAddress:
    """
    Where a node is, and how to log in there.

    Attributes:
        url: of its REST interface, without a path.
        user: name and password; None for nodes that ask for none.
        tls: Java's ``ssl.*`` keys of a client.
    """

    url: str
    user: tuple[str, str] | None = field(default=None, repr=False)
    tls: Mapping[str, str] = field(default_factory=dict, repr=False)

    def tls_context(self) -> ssl.SSLContext | bool:
        """
        What checks the node's certificate; true where there is none.

        Raises:
            NodeError: stores cannot be read.
        """
        if not self.url.startswith("https:"):
            return True
        try:
            return tls_context(self.tls)
        except ConfigError as error:
            raise NodeError(str(error)) from error


def addresses_of(settings: RestSettings | None) -> list[NodeAddress]:
    """
    Where a node with these settings may be, seen from its own machine.

    Raises:
        NodeError: it has no REST interface, or takes any port that is free.
    """
    if settings is None or not settings.listeners:
        raise NodeError("The file has the REST interface off (rest.enabled): nothing can be asked.")
    found = [
        NodeAddress(url=str(replace(each, host=host)), tls=settings.tls)
        for each in _possible(settings)
        if each.port and (host := "localhost" if each.host in _ANY_HOST else each.host)
    ]
    if not found:
        message = f"{LISTENERS} has port 0, any that is free: name the node with --url; its log has"
        raise NodeError(f"{message} the address in the event rest.listening.")
    return found


def _possible(settings: RestSettings) -> Iterator[Listener]:
    for each in settings.listeners:
        others = range(1, OTHER_PORTS) if settings.by_default else ()
        yield each
        yield from (replace(each, port=each.port + more) for more in others)


async def first_that_answers(addresses: Iterable[NodeAddress]) -> NodeAddress:
    """
    The first address of a node.

    Raises:
        NodeError: a node asks for a login, or there is none at any of them.
    """
    problems: list[str] = []
    for each in addresses:
        try:
            await events_after(each, _LATER)
        except _NoNode as error:
            problems.append(str(error))
        else:
            return each
    more = f" Nor is there one at {len(problems) - 1} more ports." if len(problems) > 1 else ""
    message = f"{problems[0]}{more} Is a node running? Name another one with --url."
    raise NodeError(message)


class _NoNode(NodeError):
    """Nothing answers there, or something else does."""


async def events_after(address: NodeAddress, number: int) -> list[RecentEvent]:
    """
    Events of a node with higher numbers, the oldest first.

    Raises:
        NodeError: it cannot be asked.
    """
    found = await _ask(address, f"/events?after={number}")
    try:
        return [RecentEvent(**each) for each in found]
    except TypeError as error:
        raise _NoNode(f"{address.url} answers, but is no node of mm2.") from error


async def _ask(address: NodeAddress, path: str) -> Any:
    tls = address.tls_context()
    try:
        async with (
            ClientSession(timeout=_TIMEOUT, headers=_headers(address)) as session,
            session.get(f"{address.url}{path}", ssl=tls) as response,
        ):
            return await _json(address, response)
    except TimeoutError as error:
        raise _NoNode(f"{address.url} does not answer within {_TIMEOUT.total:g} s.") from error
    except ClientConnectorCertificateError as error:
        message = f"The certificate of {address.url} is not trusted ({_reason(error)}):"
        raise NodeError(f"{message} name a truststore in --command-config.") from error
    except (ClientError, OSError) as error:
        raise _NoNode(f"{address.url} does not answer: {_reason(error)}.") from error


async def _json(address: NodeAddress, response: ClientResponse) -> Any:
    if response.status == HTTPStatus.UNAUTHORIZED:
        what = "asks for a login: give --user" if address.user is None else "refuses the login"
        raise NodeError(f"{address.url} {what}.")
    if response.status == HTTPStatus.FORBIDDEN:
        raise NodeError(f"{address.url} refuses: {await response.text()}")
    if response.status not in {HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE}:
        message = f"{address.url} answers {response.status}: it is no node of mm2, or an older one."
        raise _NoNode(message)
    try:
        return read_json(await response.read())
    except ValueError as error:
        raise _NoNode(f"{address.url} answers, but is no node of mm2.") from error


def _headers(address: NodeAddress) -> dict[str, str]:
    if address.user is None:
        return {}
    encoded = base64.b64encode(":".join(address.user).encode()).decode()
    return {"Authorization": f"Basic {encoded}"}


def _reason(error: Exception) -> str:
    cause = getattr(error, "certificate_error", None) or error
    number = getattr(cause, "errno", None) or 0
    is_of_system = number > 0 and not isinstance(cause, ssl.SSLError)
    return os.strerror(number) if is_of_system else str(cause).rstrip(".")
