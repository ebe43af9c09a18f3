"""
One client: who it is, what it is answered from here, and what brokers answer it.

A client that has to log in does so at the cluster: its name and password are tried on a connection
to a broker, and all that it asks of brokers goes over connections that are logged in as it. With
SCRAM it shows first that it knows the password that our file has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final

import structlog

from mm2.core.offset_manager.commits import OffsetError
from mm2.core.offset_manager.ensemble import Instance
from mm2.errors import AuthenticationFailed, SchemaError, Unavailable
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.relay import Relay, RelaySettings
from mm2.kafka.wire.requests.metadata import BrokerMetadata
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server.client_rights import ClientRights
from mm2.offset_manager.server.cluster_view import Ask, ClusterView
from mm2.offset_manager.server.forwarded import (
    FORWARDED,
    ForwardedRequest,
    header_of_answer,
    read_forwarded,
)
from mm2.offset_manager.server.frame_budget import SMALL_BYTES
from mm2.offset_manager.server.messages import (
    ANSWERED,
    API_VERSIONS,
    FIND_COORDINATOR,
    LOG_IN,
    METADATA,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Answer,
    ClientRequest,
    read_request,
    write_answer,
)
from mm2.offset_manager.server.offset_answers import answer_offset_request
from mm2.offset_manager.server.offset_requests import read_offset_request
from mm2.offset_manager.server.sasl import LogIn, LogIns, authenticated_answer
from mm2.offset_manager.server.scram import LogInStep
from mm2.offset_manager.server.tally import Tally

log = structlog.get_logger()

_WHAT: Final = "ask for a client"
_OF_GROUPS: Final = 0
_UNSUPPORTED_VERSION: Final = 35
_INVALID_REQUEST: Final = 42
_BEFORE_LOG_IN: Final = frozenset({API_VERSIONS, *LOG_IN})
_MOST_BYTES: Final = 8 << 20

_NOT_AUTHORIZED: Final = 29
"""TOPIC_AUTHORIZATION_FAILED, upon which producers give up at once."""


class ClusterAccess:
    """
    How clients get at the cluster.

    Args:
        link: to the cluster, with the offset manager's own rights.
        settings: of connections that clients have to themselves.
        log_ins: how clients log in; None if they need not.

    Attributes:
        view: what clients are shown of the cluster.
        refused: logs of users with passwords of our file that the cluster refuses.
    """

    def __init__(
        self, link: ClusterClient, settings: RelaySettings, log_ins: LogIns | None = None
    ) -> None:
        self.view = ClusterView()
        self.log_ins = log_ins
        self.refused = Tally()
        self.settings = settings
        self.ask: Ask = partial(link.send, None, _WHAT)


class ClientSession:
    """
    Answers one client, request after request.

    Args:
        manager: keeps the offsets.
        access: to the cluster.
    """

    def __init__(self, manager: OffsetManager, access: ClusterAccess) -> None:
        self._manager = manager
        self._access = access
        self._versions = {**ANSWERED, **(LOG_IN if access.log_ins else {})}
        self._ask: Ask = access.ask
        self._relay: Relay | None = None
        self._rights: ClientRights | None = None
        self._last: BrokerMetadata | None = None
        self._log_in: LogIn | None = None
        if access.log_ins is None:
            self._relay = Relay(access.settings.alias, access.settings.common())

    @property
    def is_logged_in(self) -> bool:
        """Whether the client may ask for anything; also if nobody has to log in."""
        return self._relay is not None

    @property
    def most_bytes(self) -> int:
        """Of the next request; before the log-in so few that it takes no memory from others."""
        return _MOST_BYTES if self.is_logged_in else SMALL_BYTES

    def close(self) -> None:
        """Ends its connections to brokers."""
        if self._relay is not None:
            self._relay.close()

    async def answer(self, frame: bytes) -> Sequence[bytes | memoryview]:
        """
        The answer to a request, as it is sent.

        Args:
            frame: the request without its length.

        Raises:
            SchemaError: it cannot be read, or is not offered, or not before a log-in.
            ClusterError: the cluster does not answer.
        """
        if self._relay is None and int.from_bytes(frame[:2], "big") not in _BEFORE_LOG_IN:
            raise SchemaError("a request came before the log-in")
        forwarded = read_forwarded(frame)
        if forwarded is not None:
            body = await self._forward(forwarded)
            return [header_of_answer(forwarded, body), body]
        about_offsets = read_offset_request(frame)
        if about_offsets is not None:
            return [await answer_offset_request(self._manager, self._rights, about_offsets)]
        request = read_request(frame, self._versions)
        values = await self._values(request)
        if request.api == METADATA:  # of a large cluster it takes seconds
            return [await asyncio.to_thread(write_answer, request, values)]
        return [write_answer(request, values)]

    async def _forward(self, request: ForwardedRequest) -> memoryview:
        if self._relay is None:
            raise SchemaError(f"a request of kind {request.encoded.api} came before the log-in")
        broker = self._last
        if request.first is not None:
            broker = await self._access.view.leader(self._ask, request.first)
        if broker is None:
            raise Unavailable(self._access.settings.alias, f"nobody leads {request.first}")
        self._last = broker
        return await self._relay.forward(broker, request.encoded, request.client_id)

    async def _values(self, request: ClientRequest) -> Answer:
        if request.api == API_VERSIONS:
            return self._offered(request)
        if request.api == SASL_HANDSHAKE:
            return self._handshake(request)
        if request.api == SASL_AUTHENTICATE:
            return await self._authenticate(request)
        if request.api == METADATA:
            return await self._metadata(request)
        if request.api == FIND_COORDINATOR:
            return self._coordinator(request)
        return produce_answer(request)

    def _offered(self, request: ClientRequest) -> Answer:
        """Also to who asks in a version that is not known, as Kafka's brokers do (KIP-511)."""
        offered = {**FORWARDED, **self._versions}
        return {
            "error_code": OffsetError.NONE if request.is_known else _UNSUPPORTED_VERSION,
            "api_keys": [
                {"api_key": api, "min_version": oldest, "max_version": newest}
                for api, (oldest, newest) in sorted(offered.items())
            ],
        }

    def _handshake(self, request: ClientRequest) -> Answer:
        log_ins = self._access.log_ins
        if self._relay is not None or log_ins is None:
            raise SchemaError("a second log-in is not offered")
        found = log_ins.begin(request.body.mechanism)
        is_framed = request.version > 0
        self._log_in = found if is_framed else None
        return log_ins.handshake_answer(is_offered=found is not None, is_framed=is_framed)

    async def _authenticate(self, request: ClientRequest) -> Answer:
        if self._log_in is None or self._relay is not None:
            raise SchemaError("a log-in came before its handshake, or after another one")
        step = self._log_in(request.body.auth_bytes)
        if step is not None and step.who is not None and not await self._enter(*step.who):
            self._warn_of_refused(step)
            step = None
        if step is None:
            self._log_in = None  # who tries again connects again
        return authenticated_answer(step)

    def _warn_of_refused(self, step: LogInStep) -> None:
        """Only with SCRAM the password is that of our file, which then is not the cluster's."""
        if step.reply and step.who and (count := self._access.refused.due()):
            log.warning("offset_manager.user_refused", user=step.who[0], refused=count)

    async def _enter(self, user: str, password: str) -> bool:
        access = self._access
        alias = access.settings.alias
        broker = await access.view.any_broker(access.ask)
        if broker is None:
            raise Unavailable(alias, "there is no broker at which a client could log in")
        relay = Relay(alias, access.settings.of_user(user, password))
        try:
            await relay.connect(broker)
        except AuthenticationFailed:
            return False
        self._relay, self._ask = relay, partial(relay.ask, broker)
        self._rights = ClientRights(self._ask)
        return True

    async def _metadata(self, request: ClientRequest) -> Answer:
        asked = request.body.topics
        # In the oldest version, no topic means all of them.
        is_all = asked is None or (request.version == 0 and not asked)
        topics = None if is_all else [each.name or "" for each in asked]
        ensemble = self._manager.ensemble
        return await self._access.view.metadata_answer(self._ask, ensemble, topics)

    def _coordinator(self, request: ClientRequest) -> Answer:
        key: str = request.body.key
        is_group = getattr(request.body, "key_type", _OF_GROUPS) == _OF_GROUPS
        error: int = OffsetError.NONE if is_group else _INVALID_REQUEST
        instance = self._manager.coordinator(key) if is_group else None
        if instance is None or not instance.host:
            instance = Instance(name="nobody", host="", port=-1, node=-1)
            error = error or OffsetError.COORDINATOR_NOT_AVAILABLE
        return {
            "node_id": instance.node,
            "host": instance.host,
            "port": instance.port,
            "error_code": error,
            "error_message": None,
        }


def produce_answer(request: ClientRequest) -> Answer:
    """
    Says no for each partition: nobody writes with the offset manager's own rights.

    Raises:
        SchemaError: the client awaits no answer.
    """
    if request.body.acks == 0:
        raise SchemaError("records cannot be written here, and acks=0 lets nobody say so")
    return {
        "responses": [
            {
                "name": topic.name,
                "partition_responses": [
                    {
                        "index": each.index,
                        "error_code": _NOT_AUTHORIZED,
                        "base_offset": -1,
                        "record_errors": (),
                        "error_message": "An offset manager writes no records for clients.",
                    }
                    for each in topic.partition_data
                ],
            }
            for topic in request.body.topic_data
        ]
    }
