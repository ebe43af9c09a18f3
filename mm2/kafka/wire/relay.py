"""
Sends requests that a client has encoded to brokers, and gives back what they answer, undecoded.

Each client has connections of its own: brokers know fetch sessions, quotas and log-ins by the
connection, and a fetch that waits for records holds up what comes behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Final, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.client_errors import translated
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.connection import Connection
from mm2.kafka.wire.frame import Frame, FrameResponse, Payload
from mm2.kafka.wire.node_channel import CONNECTION_SETTINGS
from mm2.kafka.wire.requests.metadata import BrokerMetadata

_CONNECTION_SETTINGS: Final = frozenset(CONNECTION_SETTINGS) - {"client_id"}


@dataclass(frozen=True, slots=True)
class EncodedRequest:
    """
    A request in a version that is not flexible (KIP-482).

    Attributes:
        api: Kafka's number of what it asks for.
        version: of its format.
        body: what follows its header.
    """

    api: int
    version: int
    body: memoryview


class _Undecoded(FrameResponse):
    """An answer of any kind."""

    body: memoryview

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Keeps what follows the header."""
        response = cls()
        response.body = frame.view[frame.at :]
        return response


class _Encoded(Payload):
    """A request of any kind."""

    RESPONSE_TYPE: ClassVar[type[Response]] = _Undecoded


@cache
def _kind(api: int, version: int) -> Any:
    return type("_Encoded", (_Encoded,), {"API_KEY": api, "API_VERSION": version})


class _AsItIs(Request[_Encoded]):
    """A request whose version is known."""

    API_KEY: ClassVar[int] = -1

    def __init__(self, request: EncodedRequest) -> None:
        self._request = request

    def prepare(self, _versions: Mapping[int, tuple[int, int]]) -> Any:
        """The broker answers a version that it does not know with an error."""
        return _kind(self._request.api, self._request.version)(self._request.body)

    def build(self, request_struct_class: type[_Encoded]) -> _Encoded:
        """Is not called: there is nothing to choose from."""
        raise AssertionError(request_struct_class)


class RelaySettings:
    """
    How connections are made.

    Args:
        alias: of the cluster.
        properties: Java's, of its clients.
    """

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self.alias = alias
        found = aiokafka_settings(properties)
        self._common = {key: found[key] for key in _CONNECTION_SETTINGS & found.keys()}

    def of_user(self, user: str, password: str) -> dict[str, Any]:
        """Keyword arguments of a connection that logs in as a user of the cluster."""
        return {**self._common, "sasl_plain_username": user, "sasl_plain_password": password}

    def common(self) -> dict[str, Any]:
        """Keyword arguments of a connection that logs in as the properties say."""
        return dict(self._common)


class Relay:
    """
    The connections of one client.

    Args:
        alias: of the cluster.
        settings: keyword arguments of each connection.
    """

    def __init__(self, alias: str, settings: Mapping[str, Any]) -> None:
        self._alias = alias
        self._settings = settings
        self._connections: dict[int, Connection] = {}

    async def connect(self, broker: BrokerMetadata, client_id: str = "") -> Connection:
        """
        A connection to a broker.

        Args:
            client_id: what the client calls itself, by which brokers know quotas.

        Raises:
            AuthenticationFailed: the broker does not let the client in.
            ClusterError: it is not there.
        """
        connection = self._connections.get(broker.node)
        if connection is None or not connection.connected():
            name: dict[str, Any] = {"client_id": client_id} if client_id else {}
            connection = Connection(broker.host, broker.port, **{**self._settings, **name})
            with translated(self._alias, f"connect to {broker.host}:{broker.port}"):
                await connection.connect()
            self._connections[broker.node] = connection
        if connection.must_renew:
            with translated(self._alias, "log in again"):
                await connection.renew()
        return connection

    async def forward(
        self, broker: BrokerMetadata, request: EncodedRequest, client_id: str
    ) -> memoryview:
        """
        What a broker answers, behind the header.

        Raises:
            ClusterError: it does not answer.
        """
        answer: _Undecoded = await self.ask(broker, _AsItIs(request), client_id)
        return answer.body

    async def ask(self, broker: BrokerMetadata, request: object, client_id: str = "") -> Any:
        """
        What a broker answers.

        Raises:
            ClusterError: it does not.
        """
        connection = await self.connect(broker, client_id)
        with translated(self._alias, f"ask {broker.host}:{broker.port} for a client"):
            return await connection.send(request)

    def close(self) -> None:
        """Closes all connections."""
        for each in self._connections.values():
            each.close()
