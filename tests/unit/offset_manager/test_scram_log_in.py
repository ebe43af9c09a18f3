"""Clients that log in with SCRAM: who shows that it knows the password, and nobody else."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode

import pytest
from aiokafka.conn import ScramAuthenticator
from structlog.testing import capture_logs

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.errors import AuthenticationFailed, ConfigError, ConfigErrors
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.wire.relay import Relay, RelaySettings
from mm2.kafka.wire.requests.metadata import BrokerMetadata
from mm2.offset_manager.instance import OffsetManager
from mm2.offset_manager.server.client_session import ClientSession, ClusterAccess
from mm2.offset_manager.server.cluster_view import ClusterView
from mm2.offset_manager.server.messages import SASL_AUTHENTICATE, SASL_HANDSHAKE
from mm2.offset_manager.server.sasl import LogIns, log_ins
from mm2.offset_manager.server.scram import SCRAM, LogInStep, ScramLogIn, ScramUsers
from tests.support.kafka_requests import answer, request

PROPERTIES = {"bootstrap.servers": "127.0.0.1:1"}
SASL = {
    **PROPERTIES,
    "security.protocol": "SASL_SSL",
    "listeners.security.protocol": "SASL_SSL",
}
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
ODD = "o,=d\N{LATIN SMALL LETTER U WITH DIAERESIS}"
PASSWORDS = {"bob": "bob-secret", ODD: "odd-secret"}
USERS = ScramUsers(PASSWORDS, SCRAM)
FIRST = b"n,,n=bob,r=abc"


class Client:
    """A stock client's side of a log-in."""

    def __init__(self, mechanism: str, user: str, password: str) -> None:
        self._side = ScramAuthenticator(
            loop=asyncio.get_running_loop(),
            sasl_plain_username=user,
            sasl_plain_password=password,
            sasl_mechanism=mechanism,
        )

    async def says(self, heard: bytes | None = None) -> bytes:
        message, _ = await self._side.step(heard)
        return bytes(message)

    async def ends(self, heard: bytes) -> None:
        """Checks that the server knows the password, too."""
        assert await self._side.step(heard) is None


async def logged_in(mechanism: str, user: str, password: str) -> LogInStep | None:
    client, log_in = Client(mechanism, user, password), ScramLogIn(USERS, mechanism)
    first = log_in(await client.says())
    assert first is not None
    assert first.who is None
    last = log_in(await client.says(first.reply))
    if last is not None:
        await client.ends(last.reply)
    return last


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("user", PASSWORDS)
async def test_who_knows_the_password_is_let_in(mechanism: str, user: str) -> None:
    found = await logged_in(mechanism, user, PASSWORDS[user])
    assert found is not None
    assert found.who == (user, PASSWORDS[user])
    assert PASSWORDS[user] not in repr(found)


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("user", ["bob", "nobody"])
async def test_who_does_not_know_it_is_not(mechanism: str, user: str) -> None:
    assert await logged_in(mechanism, user, "guessed") is None


def test_the_example_of_rfc_7677_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    monkeypatch.setattr(ScramUsers, "_salt", lambda *_: salt)
    users = ScramUsers({"user": "pencil"}, ["SCRAM-SHA-256"])
    log_in = ScramLogIn(users, "SCRAM-SHA-256", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = log_in(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    nonce = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert first == LogInStep(nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    last = log_in(b"c=biws," + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    reply = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert last == LogInStep(reply, ("user", "pencil"))


def salt_of(user: bytes) -> bytes:
    first = ScramLogIn(USERS, "SCRAM-SHA-512")(b"n,,n=%b,r=abc" % user)
    assert first is not None
    _, salt, iterations = first.reply.split(b",")
    assert iterations == b"i=4096"
    return salt


def test_nobody_learns_who_may_log_in() -> None:
    """A user who is not there has a salt as others have, and the same one each time."""
    assert salt_of(b"nobody") == salt_of(b"nobody")
    assert salt_of(b"bob") == salt_of(b"bob")
    assert len({salt_of(b"nobody"), salt_of(b"somebody"), salt_of(b"bob")}) == 3
    assert len(salt_of(b"nobody")) == len(salt_of(b"bob"))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,n=bob",
        b"y,,n=bob,r=abc",
        b"p=tls-unique,,n=bob,r=abc",
        b"n,a=root,n=bob,r=abc",
        b"n,,m=x,n=bob,r=abc",
        b"n,,n=bo=b,r=abc",
        b"n,,n=,r=abc",
        b"n,,n=\xff,r=abc",
        b"n,,n=bob,r=abc,tokenauth=true",
        b"n,,n=bob,r=abc\n",
    ],
)
def test_a_first_message_that_is_not_offered_is_refused(message: bytes) -> None:
    assert ScramLogIn(USERS, "SCRAM-SHA-256")(message) is None


def test_who_acts_for_itself_and_says_more_than_is_known_goes_on() -> None:
    assert ScramLogIn(USERS, "SCRAM-SHA-256")(b"n,a=bob,n=bob,r=abc,x=y") is not None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"c=biws,r=abcserver",
        b"c=biws,r=another,p=" + b64encode(bytes(32)),
        b"c=eSws,r=abcserver,p=" + b64encode(bytes(32)),
        b"c=biws,r=abcserver,p=" + b64encode(bytes(32)),
        b"c=biws,r=abcserver,p=" + b64encode(bytes(31)),
        b"c=biws,r=abcserver,p=A",
    ],
)
def test_a_last_message_without_the_proof_is_refused(message: bytes) -> None:
    log_in = ScramLogIn(USERS, "SCRAM-SHA-256", "server")
    assert log_in(FIRST) is not None
    assert log_in(message) is None


def session(monkeypatch: pytest.MonkeyPatch, passwords: dict[str, str]) -> ClientSession:
    """Of a cluster that knows bob with the password bob-secret."""

    async def any_broker(*_: object) -> BrokerMetadata:
        return BrokerMetadata(node=1, host="127.0.0.1", port=1, rack="")

    async def connect(relay: Relay, *_: object) -> None:
        given = relay._settings
        if (given["sasl_plain_username"], given["sasl_plain_password"]) != ("bob", "bob-secret"):
            raise AuthenticationFailed("c", "no")

    monkeypatch.setattr(ClusterView, "any_broker", any_broker)
    monkeypatch.setattr(Relay, "connect", connect)
    manager = OffsetManager(OffsetManagerSettings.of(PROPERTIES))
    ways = LogIns(["PLAIN", *SCRAM], passwords)
    access = ClusterAccess(ClusterClient("c", PROPERTIES), RelaySettings("c", PROPERTIES), ways)
    return ClientSession(manager, access)


async def ended(client: ClientSession, mechanism: str, password: str) -> int:
    """The error at the end of a log-in of bob."""
    (data,) = await client.answer(request(SASL_HANDSHAKE, 1, mechanism=mechanism))
    assert answer(SASL_HANDSHAKE, 1, bytes(data)).error_code.value == 0
    side = Client(mechanism, "bob", password)
    (data,) = await client.answer(request(SASL_AUTHENTICATE, 1, auth_bytes=await side.says()))
    said = await side.says(bytes(answer(SASL_AUTHENTICATE, 1, bytes(data)).auth_bytes))
    (data,) = await client.answer(request(SASL_AUTHENTICATE, 1, auth_bytes=said))
    found = answer(SASL_AUTHENTICATE, 1, bytes(data))
    if not found.error_code.value:
        await side.ends(bytes(found.auth_bytes))
    else:
        assert found.auth_bytes == b""
    return int(found.error_code.value)


@pytest.mark.parametrize("mechanism", SCRAM)
async def test_a_client_that_is_let_in_has_the_rights_of_its_user_at_the_cluster(
    monkeypatch: pytest.MonkeyPatch, mechanism: str
) -> None:
    client = session(monkeypatch, PASSWORDS)
    limit = client.most_bytes
    assert await ended(client, mechanism, "bob-secret") == 0
    assert client._relay is not None
    assert client._relay._settings["sasl_plain_username"] == "bob"
    assert client.most_bytes > limit


@pytest.mark.parametrize("mechanism", SCRAM)
async def test_a_password_that_the_cluster_does_not_know_lets_nobody_in(
    monkeypatch: pytest.MonkeyPatch, mechanism: str
) -> None:
    client = session(monkeypatch, {"bob": "older-secret"})
    with capture_logs() as logged:
        assert await ended(client, mechanism, "older-secret") == 58
    assert client._relay is None
    assert [(each["event"], each["user"]) for each in logged] == [
        ("offset_manager.user_refused", "bob")
    ]
    assert "older-secret" not in str(logged)


async def test_a_wrong_guess_is_not_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    client = session(monkeypatch, PASSWORDS)
    with capture_logs() as logged:
        assert await ended(client, "SCRAM-SHA-512", "guessed") == 58
    assert not logged


def test_users_are_written_as_kafka_writes_those_of_plain() -> None:
    jaas = f'{MODULE} required user_bob="bob-secret" user_eve="eve-secret";'
    ways = log_ins(["SCRAM-SHA-512"], jaas)
    assert ways.begin("SCRAM-SHA-512") is not None
    assert ways.begin("SCRAM-SHA-256") is None
    assert ways.begin("PLAIN") is None
    assert {user for _, user in ways._users._keys} == {"bob", "eve"}


@pytest.mark.parametrize(
    ("jaas", "said"),
    [
        ("nonsense", "listeners.sasl.jaas.config cannot be read"),
        (f'{MODULE} required username="a" password="b";', 'user_NAME="password"'),
        (f'{MODULE} required user_="b";', 'user_NAME="password"'),
        (f'{MODULE} required user_a="";', 'user_NAME="password"'),
        (f"{MODULE} required;", 'user_NAME="password"'),
        ('com.example.Own required user_a="b";', MODULE),
    ],
)
def test_users_that_cannot_be_read_are_named_by_their_key(jaas: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        log_ins(["SCRAM-SHA-512"], jaas)
    assert refused.value.key == "listeners.sasl.jaas.config"
    assert said in refused.value.message


@pytest.mark.parametrize(
    ("mechanisms", "jaas", "key"),
    [
        ("SCRAM-SHA-512", None, "listeners.sasl.enabled.mechanisms"),
        ("PLAIN", "x", "listeners.sasl.jaas.config"),
        ("GSSAPI", None, "listeners.sasl.enabled.mechanisms"),
        ("", None, "listeners.sasl.enabled.mechanisms"),
    ],
)
def test_mechanisms_and_users_that_do_not_go_together_are_refused(
    mechanisms: str, jaas: str | None, key: str
) -> None:
    asked = {**SASL, "listeners.sasl.enabled.mechanisms": mechanisms}
    if jaas is not None:
        asked["listeners.sasl.jaas.config"] = jaas
    with pytest.raises(ConfigErrors) as refused:
        OffsetManagerSettings.of(asked)
    assert [each.key for each in refused.value.problems] == [key]


def test_settings_do_not_show_passwords() -> None:
    asked = {
        **SASL,
        "listeners.sasl.enabled.mechanisms": "PLAIN, SCRAM-SHA-512",
        "listeners.sasl.jaas.config": "passwords",
    }
    found = OffsetManagerSettings.of(asked)
    assert found.mechanisms == ("PLAIN", "SCRAM-SHA-512")
    assert found.users == "passwords"
    assert found.properties == {**PROPERTIES, "security.protocol": "SASL_SSL"}
    assert "passwords" not in repr(found)
