"""
Java's security settings let both client libraries in, and keep out whom the broker keeps out.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvloop

from mm2.core.model import TopicName
from mm2.core.topics.acls import AclBinding, AclOperation
from mm2.errors import AuthenticationFailed, ClusterError, NotAuthorized, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.writer import Writer
from tests.support.certificates import PASSWORD, Certified
from tests.support.cluster import KafkaCluster
from tests.support.eventually import eventually_async
from tests.support.layout import Security
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
TOPIC = TopicName("written")


@dataclass(frozen=True)
class Secured:
    """A cluster with SASL and mutual TLS, and what clients need for it."""

    cluster: KafkaCluster
    home: Path
    authority: Certified
    client: Certified

    def sasl(self, mechanism: str, password: str = "alice-secret") -> dict[str, str]:
        jaas = f'{_MODULES[mechanism]} required username="alice" password="{password}";'
        return {
            "bootstrap.servers": self.cluster.listeners("SASL_PLAINTEXT"),
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": jaas,
            "default.api.timeout.ms": "20000",
        }

    @property
    def trust(self) -> dict[str, str]:
        pem = self.authority.certificate_pem.replace("\n", " ")
        return {"truststore_type": "PEM", "truststore_certificates": pem}

    def tls(self, **more: str) -> dict[str, str]:
        properties = {
            "bootstrap.servers": self.cluster.listeners("SSL"),
            "security.protocol": "SSL",
            "default.api.timeout.ms": "10000",
        }
        return properties | {f"ssl.{key.replace('_', '.')}": value for key, value in more.items()}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    home = tmp_path_factory.mktemp("tls")
    authority = Certified.authority("authority")
    broker = authority.issue("broker")
    security = Security(
        users={"alice": "alice-secret"},
        keystore=broker.keystore(home / "broker.p12", authority),
        keystore_password=PASSWORD,
        truststore=authority.truststore(home / "trust.p12"),
    )
    with KafkaCluster("secured", security=security) as cluster:
        create_topic(cluster.bootstrap, TOPIC)
        yield Secured(cluster, home, authority, authority.issue("client"))


async def _both_clients_work(properties: Mapping[str, str]) -> None:
    # Those who are kept out are not waited for so long.
    properties = {**properties, "default.api.timeout.ms": "90000"}
    admin = Admin("S", properties)
    try:
        assert TOPIC in await admin.list_topics()
    finally:
        await admin.close()
    async with Writer("S", properties) as writer:
        assert await writer.send(TOPIC, b"k", b"v") >= 0


@pytest.mark.parametrize("mechanism", sorted(_MODULES))
async def test_sasl_lets_both_clients_in(secured: Secured, mechanism: str) -> None:
    await _both_clients_work(secured.sasl(mechanism))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_a_wrong_password_is_known_at_once(secured: Secured, mechanism: str) -> None:
    properties = secured.sasl(mechanism, password="wrong")
    admin = Admin("S", properties)
    try:
        with pytest.raises(AuthenticationFailed) as refused:
            await admin.cluster_id()
        with pytest.raises(AuthenticationFailed):
            await admin.list_topics()
    finally:
        await admin.close()
    assert "wrong" not in str(refused.value)
    with pytest.raises(AuthenticationFailed):
        async with Writer("S", properties):
            pass


async def test_acls_hold_for_named_users(secured: Secured) -> None:
    owner = Admin("S", {"bootstrap.servers": secured.cluster.bootstrap})
    alice = Admin("S", secured.sasl("PLAIN"))
    name = TopicName("forbidden")
    create_topic(secured.cluster.bootstrap, name)
    rule = AclBinding(name=name, principal="User:bob", operation=AclOperation.READ)
    try:
        assert await owner.create_acls([rule]) == {}
        await eventually_async(alice.list_topics, until=lambda names: name not in names)
        with pytest.raises(NotAuthorized):
            await alice.describe_configs([name])
        async with Writer("S", secured.sasl("PLAIN")) as writer:
            with pytest.raises(NotAuthorized):
                await writer.send(name, None, b"v", partition=0)
    finally:
        await owner.close()
        await alice.close()


async def test_pkcs12_stores_let_both_clients_in(secured: Secured) -> None:
    keystore = secured.client.keystore(secured.home / "client.p12", secured.authority)
    await _both_clients_work(
        secured.tls(
            truststore_location=str(secured.home / "trust.p12"),
            truststore_password=PASSWORD,
            truststore_type="PKCS12",
            keystore_location=str(keystore),
            keystore_password=PASSWORD,
            keystore_type="PKCS12",
        )
    )


async def test_pem_on_one_line_lets_both_clients_in(secured: Secured) -> None:
    def flat(text: str) -> str:
        return text.strip().replace("\n", " ")

    await _both_clients_work(
        secured.tls(truststore_type="PEM", keystore_type="PEM", key_password="pem-secret")
        | {
            "ssl.truststore.certificates": flat(secured.authority.certificate_pem),
            "ssl.keystore.key": flat(secured.client.key_pem("pem-secret")),
            "ssl.keystore.certificate.chain": flat(secured.client.certificate_pem),
        }
    )


async def test_jks_stores_let_both_clients_in(secured: Secured) -> None:
    keystore = secured.client.keystore(secured.home / "client-2.p12", secured.authority)
    await _both_clients_work(
        secured.tls(
            truststore_location=str(_as_jks(secured.home / "trust.p12")),
            truststore_password=PASSWORD,
            keystore_location=str(_as_jks(keystore, key_password="key-secret")),
            keystore_password=PASSWORD,
            key_password="key-secret",
        )
    )


async def test_an_unknown_authority_is_refused_and_named(secured: Secured) -> None:
    stranger = Certified.authority("stranger").truststore(secured.home / "stranger.p12")
    properties = secured.tls(
        truststore_location=str(stranger),
        truststore_password=PASSWORD,
        truststore_type="PKCS12",
    )
    admin = Admin("S", properties)
    try:
        with pytest.raises(AuthenticationFailed, match="certificate"):
            await admin.cluster_id()
    finally:
        await admin.close()
    with pytest.raises(AuthenticationFailed):
        async with Writer("S", properties):
            pass


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize(
    ("trouble", "kind", "says"),
    [
        (
            "plain-at-tls",
            Unavailable,
            "probably the listener wants TLS: set security.protocol to SSL",
        ),
        (
            "plain-at-sasl",
            Unavailable,
            "asks for a log-in: set security.protocol to SASL_PLAINTEXT",
        ),
        ("tls-at-plain", Unavailable, "has no TLS: set security.protocol to PLAINTEXT"),
        ("sasl-at-plain", AuthenticationFailed, "no log-in: set security.protocol to PLAINTEXT"),
        ("sasl-at-tls", Unavailable, "wants TLS: set security.protocol to SASL_SSL"),
        ("no-certificate", AuthenticationFailed, "certificate of ours.*set ssl.keystore.location"),
        ("wrong-password", AuthenticationFailed, "or the password: correct sasl.jaas.config"),
        ("untrusted", AuthenticationFailed, "is not trusted .*: set ssl.truststore.location"),
    ],
)
def test_the_error_names_the_cause_and_the_key_to_set(
    secured: Secured,
    trouble: str,
    kind: type[ClusterError],
    says: str,
    run: Callable[[Coroutine[object, object, None]], None],
) -> None:
    """The first cause, and not that there was no answer in time."""

    async def ask() -> None:
        admin = Admin("S", _troubled(secured, trouble))
        try:
            with pytest.raises(kind, match=says):
                await admin.cluster_id(within_s=10)
        finally:
            await admin.close()

    run(ask())


def _troubled(secured: Secured, trouble: str) -> dict[str, str]:
    """Settings that do not fit the listener, by what is wrong with them."""
    cluster, sasl = secured.cluster, secured.sasl("SCRAM-SHA-512")
    trusted = secured.tls(
        truststore_location=str(secured.home / "trust.p12"),
        truststore_password=PASSWORD,
        truststore_type="PKCS12",
    )
    plain, tls = (cluster.listeners(each) for each in ("PLAINTEXT", "SSL"))
    return {
        "plain-at-tls": {"bootstrap.servers": tls},
        "plain-at-sasl": {"bootstrap.servers": cluster.listeners("SASL_PLAINTEXT")},
        "tls-at-plain": {**trusted, "bootstrap.servers": plain},
        "sasl-at-plain": {**sasl, "bootstrap.servers": plain},
        "sasl-at-tls": {**sasl, "bootstrap.servers": tls},
        "no-certificate": trusted,
        "wrong-password": secured.sasl("SCRAM-SHA-512", password="wrong"),
        "untrusted": secured.tls(),
    }[trouble]


def _as_jks(source: Path, key_password: str | None = None) -> Path:
    target = source.with_suffix(".jks")
    command = ["keytool", "-importkeystore", "-noprompt"]
    command += ["-srckeystore", str(source), "-srcstorepass", PASSWORD]
    command += ["-destkeystore", str(target), "-deststoretype", "JKS", "-deststorepass", PASSWORD]
    if key_password:
        command += ["-srcalias", "own", "-srckeypass", PASSWORD, "-destkeypass", key_password]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def choosy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A cluster that knows TLSv1.2 only, and one suite of it."""
    home = tmp_path_factory.mktemp("choosy")
    authority = Certified.authority("authority")
    keystore = authority.issue("broker").keystore(home / "broker.p12", authority)
    security = Security(keystore=keystore, keystore_password=PASSWORD)
    limits = {"ssl.enabled.protocols": "TLSv1.2", "ssl.cipher.suites": _SUITE}
    with KafkaCluster("choosy", security=security, properties=limits) as cluster:
        create_topic(cluster.bootstrap, TOPIC)
        yield Secured(cluster, home, authority, authority.issue("client"))


_SUITE = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
_OTHER_SUITE = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"


async def test_suites_and_versions_that_a_broker_has_let_both_clients_in(choosy: Secured) -> None:
    for more in ({}, {"cipher_suites": f"{_OTHER_SUITE},{_SUITE}"}, {"protocol": "TLSv1.2"}):
        await _both_clients_work(choosy.tls(**choosy.trust, **more))


@pytest.mark.parametrize(
    "limit",
    [
        {"cipher_suites": _OTHER_SUITE},
        {"enabled_protocols": "TLSv1.3"},
    ],
    ids=lambda limit: next(iter(limit)),
)
async def test_suites_and_versions_that_are_not_allowed_are_used_by_neither_client(
    choosy: Secured, limit: Mapping[str, str]
) -> None:
    properties = choosy.tls(**choosy.trust, **limit)
    with pytest.raises(ClusterError):
        async with Writer("S", properties):
            pass
    admin = Admin("S", properties)
    with pytest.raises(ClusterError):
        await admin.cluster_id(within_s=5)
    await admin.close()
