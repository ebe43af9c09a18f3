"""Connections to a broker: when they are closed, how they log in, and how requests are numbered."""

from __future__ import annotations

import asyncio
import struct
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from hashlib import pbkdf2_hmac
from hmac import digest
from types import SimpleNamespace
from typing import Any, Final

import pytest
from aiokafka.conn import CloseReason
from aiokafka.errors import SaslAuthenticationFailed, UnsupportedSaslMechanismError
from aiokafka.protocol.admin import ApiVersionRequest, SaslAuthenticateRequest

from mm2.demo.broker_settings import HOST
from mm2.kafka.security.log_in import Credentials
from mm2.kafka.wire import connection as connections
from mm2.kafka.wire.connection import Connection
from mm2.kafka.wire.connection_failures import NotLetIn

_HANDSHAKE, _API_VERSIONS, _AUTHENTICATE = 17, 18, 36
_OFFER: Final = struct.pack(">ih", 1, 5) + b"PLAIN"
_SALT: Final = b"salt"
_ROUNDS: Final = 4096


class _Broker:
    """
    Answers what connections ask before anything else.

    Attributes:
        ids: of the requests.
        user: the only one that is let in, with the password "secret".
        session_ms: after which it wants another log-in; 0 for never.
        may_answer: what answers wait for, from the second one on.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.user = b"alice"
        self.session_ms = 0
        self.log_ins = 0
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = await reader.readexactly(size)
                api, _, correlation_id = struct.unpack(">hhi", request[:8])
                if self.ids:
                    await self.may_answer.wait()
                self.ids.append(correlation_id)
                data = struct.pack(">i", correlation_id) + self._answer(api, request)
                writer.write(struct.pack(">i", len(data)) + data)
        writer.close()

    def _answer(self, api: int, request: bytes) -> bytes:
        if api == _HANDSHAKE:
            is_offered = request.endswith(b"PLAIN")
            return struct.pack(">h", 0 if is_offered else 33) + _OFFER
        if api == _AUTHENTICATE:
            self.log_ins += 1
            is_right = request.endswith(b"\0".join([self.user, self.user, b"secret"]))
            return struct.pack(">hhiq", 0 if is_right else 58, -1, 0, self.session_ms)
        known = [(_HANDSHAKE, 0, 1), (_API_VERSIONS, 0, 0), (_AUTHENTICATE, 0, 1)]
        head = struct.pack(">hi", 0, len(known))
        return head + b"".join(struct.pack(">hhh", *each) for each in known)


@pytest.fixture
async def broker() -> AsyncIterator[_Broker]:
    broker = _Broker()
    async with await asyncio.start_server(broker.serve, HOST, 0) as server:
        broker.port = server.sockets[0].getsockname()[1]
        yield broker


@asynccontextmanager
async def _connected(broker: _Broker, **settings: Any) -> AsyncIterator[Connection]:
    connection = Connection(HOST, broker.port, **settings)
    await connection.connect()
    yield connection
    await connection.close()


def _closing() -> tuple[asyncio.Future[CloseReason | None], Callable[..., None]]:
    closed: asyncio.Future[CloseReason | None] = asyncio.get_running_loop().create_future()
    return closed, lambda _, reason: closed.set_result(reason)


def _plain(user: str = "alice", mechanism: str = "PLAIN") -> dict[str, str]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": "secret",
    }


async def test_a_connection_that_nobody_uses_is_closed(broker: _Broker) -> None:
    closed, on_close = _closing()
    async with _connected(broker, max_idle_ms=20, on_close=on_close) as connection:
        assert await closed is CloseReason.IDLE_DROP
        assert not connection.connected()


async def test_one_that_owes_an_answer_is_not(broker: _Broker) -> None:
    closed, on_close = _closing()
    async with _connected(broker, max_idle_ms=20, on_close=on_close) as connection:
        broker.may_answer.clear()
        answer = connection.send(ApiVersionRequest())
        asyncio.get_running_loop().call_later(0.2, broker.may_answer.set)
        assert (await answer).error_code == 0
        assert await closed is CloseReason.IDLE_DROP


async def test_one_without_such_a_time_stays(broker: _Broker) -> None:
    async with _connected(broker) as connection:
        assert connection.connected()
        closed = connection.close()
        await closed
        assert not connection.connected()


async def test_requests_are_numbered_anew_when_numbers_run_out(
    broker: _Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_IDS", range(1, 3))
    async with _connected(broker) as connection:
        for _ in range(3):
            await connection.send(ApiVersionRequest())
    assert broker.ids == [1, 2, 1, 2]


async def test_a_session_is_renewed(broker: _Broker) -> None:
    broker.session_ms = 1
    async with _connected(broker, **_plain()) as connection:
        assert broker.log_ins == 1
        broker.session_ms = 1 << 40
        await connection.renew()
        assert broker.log_ins == 2
        assert not connection.must_renew


async def test_one_that_is_not_renewed_is_closed(broker: _Broker) -> None:
    async with _connected(broker, **_plain()) as connection:
        broker.user = b"bob"
        with pytest.raises(SaslAuthenticationFailed):
            await connection.renew()
        assert not connection.connected()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (_plain("bob"), "refuses the user name or the password"),
        (_plain(mechanism="SCRAM-SHA-512"), r"does not offer .*=SCRAM-SHA-512.*\(it offers PLAIN"),
    ],
)
async def test_who_is_not_let_in_is_told_why(
    broker: _Broker, settings: dict[str, str], words: str
) -> None:
    connection = Connection(HOST, broker.port, **settings)  # type: ignore[arg-type]  # by name
    with pytest.raises(NotLetIn, match=words):
        await connection.connect()
    assert not connection.connected()


class _Scram:
    """A broker's side of a SCRAM log-in, which knows one password."""

    def __init__(self, mechanism: str, password: str) -> None:
        self._hash = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[mechanism]
        self._salted = pbkdf2_hmac(self._hash, password.encode(), _SALT, _ROUNDS)
        self._said = b""
        self.proof = b""

    async def ask(self, request: Any) -> Any:
        """Answers a request; its struct has what aiokafka sends."""
        if not isinstance(request, SaslAuthenticateRequest):
            return SimpleNamespace(error_code=0, enabled_mechanisms=["PLAIN"])
        (data,) = request.prepare({_AUTHENTICATE: (1, 1)}).to_object().values()
        said = self._first(data) if not self._said else self._last(data)
        return SimpleNamespace(error_code=0, error_message=None, sasl_auth_bytes=said)

    def _first(self, data: bytes) -> bytes:
        bare = data.removeprefix(b"n,,")
        nonce = bare.partition(b"r=")[2] + b"more"
        said = b"r=%s,s=%s,i=%d" % (nonce, b64encode(_SALT), _ROUNDS)
        self._said = b"%s,%s,c=biws,r=%s" % (bare, said, nonce)
        return said

    def _last(self, data: bytes) -> bytes:
        self.proof = b64decode(data.partition(b",p=")[2])
        key = digest(self._salted, b"Server Key", self._hash)
        return b"v=" + b64encode(digest(key, self._said, self._hash))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_the_broker_must_know_the_password(mechanism: str) -> None:
    credentials = Credentials(mechanism, "alice", "secret")
    right, wrong = _Scram(mechanism, "secret"), _Scram(mechanism, "other")
    await credentials.log_in(right.ask)
    assert right.proof
    with pytest.raises(SaslAuthenticationFailed, match="signature"):
        await credentials.log_in(wrong.ask)


async def test_what_a_broker_offers_is_told() -> None:
    async def refuse(_: object) -> Any:
        return SimpleNamespace(error_code=33, enabled_mechanisms=["PLAIN", "GSSAPI"])

    with pytest.raises(UnsupportedSaslMechanismError, match="it offers PLAIN, GSSAPI"):
        await Credentials("SCRAM-SHA-256", "alice", "secret").log_in(refuse)


def test_passwords_are_not_shown() -> None:
    assert "secret" not in repr(Credentials("PLAIN", "alice", "secret"))
