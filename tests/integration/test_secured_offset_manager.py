"""An offset manager with TLS and log-ins, towards its cluster and towards its clients."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
)
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from tests.support.certificates import PASSWORD, Certified
from tests.support.cluster import KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.layout import Security
from tests.support.offset_manager import (
    ServedInstance,
    commit,
    commit_errors,
    committed,
    consumer,
    served,
)
from tests.support.providers import PATIENT
from tests.support.records import create_topic, numbered, produce

pytestmark = pytest.mark.broker

SECRETS = {"manager": "manager-secret", "bob": "bob-secret"}
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
BOTH = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_SSL,SSL:SSL"

_WITH_AIOKAFKA = """
import asyncio, sys
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.helpers import create_ssl_context

async def main(servers, group, mechanism, authority, password):
    client = AIOKafkaConsumer(
        bootstrap_servers=servers,
        group_id=group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        security_protocol="SASL_SSL",
        ssl_context=create_ssl_context(cafile=authority),
        sasl_mechanism=mechanism,
        sasl_plain_username="bob",
        sasl_plain_password=password,
    )
    await client.start()
    try:
        where = TopicPartition(group, 0)
        client.assign([where])
        record = await client.getone(where)
        await client.commit({where: record.offset + 1})
        print(record.value, await client.committed(where))
    finally:
        await client.stop()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Certified:
    authority = Certified.authority("authority")
    (folder / "authority.pem").write_text(authority.certificate_pem)
    return authority


@pytest.fixture(scope="module")
def cluster(folder: Path, authority: Certified) -> Iterator[KafkaCluster]:
    """Its listener SASL_PLAINTEXT has TLS, too."""
    security = Security(
        users=SECRETS,
        keystore=authority.issue("broker").keystore(folder / "broker.p12", authority),
        keystore_password=PASSWORD,
    )
    properties = {"listener.security.protocol.map": BOTH, **PATIENT}
    with KafkaCluster("secured", security=security, properties=properties) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def settings(folder: Path, authority: Certified) -> Mapping[str, str]:
    """How instances log in at the cluster, and the certificate that they show to clients."""
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{SCRAM} required username="manager" password="manager-secret";',
        "ssl.truststore.location": str(authority.truststore(folder / "trust.p12")),
        "ssl.truststore.password": PASSWORD,
        "listeners.ssl.keystore.location": str(
            authority.issue("instance").keystore(folder / "instance.p12", authority)
        ),
        "listeners.ssl.keystore.password": PASSWORD,
        "listeners.ssl.key.password": PASSWORD,
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": "1",
    }


@pytest.fixture(scope="module")
def instance(
    cluster: KafkaCluster, settings: Mapping[str, str], folder: Path
) -> Iterator[ServedInstance]:
    """Clients log in with PLAIN, and bob with SCRAM; a provider reads his password."""
    (folder / "bob").write_text(SECRETS["bob"])
    provider = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
    users = f'user_bob="${{dir:{folder}:bob}}" user_eve="eve-secret"'
    more = {
        "listeners.security.protocol": "SASL_SSL",
        "listeners.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listeners.sasl.jaas.config": f"{SCRAM} required {users};",
        "config.providers": "dir",
        "config.providers.dir.class": provider,
        "offsets.topic.name": "secured-offsets",
    }
    with served(cluster.listeners("SASL_PLAINTEXT"), {**settings, **more}) as (instance,):
        yield instance


def log_in(
    folder: Path, password: str = SECRETS["bob"], mechanism: str = "PLAIN", user: str = "bob"
) -> Mapping[str, object]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
        "ssl.ca.location": str(folder / "authority.pem"),
        "auto.offset.reset": "earliest",
    }


def grant(cluster: KafkaCluster, rights: Sequence[AclBinding]) -> None:
    """Creates rules, and waits until the broker goes by them: the controller answers earlier."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for made in admin.create_acls(list(rights)).values():
        made.result(PATIENCE_S)
    bobs = AclBindingFilter(
        ResourceType.ANY,
        None,  # type: ignore[arg-type]  # any, says the client's documentation
        ResourcePatternType.ANY,
        "User:bob",
        None,  # type: ignore[arg-type]  # any, says the client's documentation
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    eventually(
        lambda: admin.describe_acls(bobs).result(PATIENCE_S),
        until=lambda known: {*rights} <= set(known),
    )


def first_of(client: Consumer, topic: str) -> tuple[bytes | None, int]:
    """The value of the first record, or the code of the error that comes in its place."""
    client.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    message = eventually(lambda: client.poll(1), until=lambda found: found is not None)
    assert message is not None
    error = message.error()
    return (None, error.code()) if error else (message.value(), 0)


def test_a_client_that_logs_in_reads_and_keeps_offsets_as_itself(
    cluster: KafkaCluster, instance: ServedInstance, folder: Path, unique: str
) -> None:
    open_topic, closed_topic = f"{unique}-open", f"{unique}-closed"
    for topic in (open_topic, closed_topic):
        create_topic(cluster.bootstrap, topic, 1)
        produce(cluster.bootstrap, topic, numbered(0, 1))
    rights = [
        AclBinding(
            *(ResourceType.TOPIC, closed_topic, ResourcePatternType.LITERAL, "User:bob", "*"),
            *(operation, permission),
        )
        for operation, permission in (
            (AclOperation.DESCRIBE, AclPermissionType.ALLOW),
            (AclOperation.READ, AclPermissionType.DENY),
        )
    ]
    grant(cluster, rights)
    with consumer([instance], unique, **log_in(folder)) as client:
        commit(client, TopicPartition(open_topic, 0, 1))
        assert committed(client, open_topic) == [1]
        assert first_of(client, open_topic) == (b"0", 0)
        denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert first_of(client, closed_topic) == (None, denied)


MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_who_logs_in_with_scram_has_the_rights_of_its_user(
    cluster: KafkaCluster, instance: ServedInstance, folder: Path, unique: str, mechanism: str
) -> None:
    closed_topic = f"{unique}-closed"
    for topic in (unique, closed_topic):
        create_topic(cluster.bootstrap, topic, 1)
        produce(cluster.bootstrap, topic, numbered(0, 1))
    right = AclBinding(
        *(ResourceType.TOPIC, closed_topic, ResourcePatternType.LITERAL, "User:bob", "*"),
        *(AclOperation.READ, AclPermissionType.DENY),
    )
    grant(cluster, [right])
    with consumer([instance], unique, **log_in(folder, mechanism=mechanism)) as client:
        commit(client, TopicPartition(unique, 0, 1))
        assert committed(client, unique) == [1]
        assert first_of(client, unique) == (b"0", 0)
        denied = KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert commit_errors(client, TopicPartition(closed_topic, 0, 1)) == [denied]
    assert SECRETS["bob"] not in instance.log


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_clients_of_another_library_log_in_with_scram(
    cluster: KafkaCluster, instance: ServedInstance, folder: Path, unique: str, mechanism: str
) -> None:
    """In a process of its own: in this one, parts of aiokafka may be mm2's."""
    create_topic(cluster.bootstrap, unique, 1)
    produce(cluster.bootstrap, unique, numbered(0, 1))
    eventually(lambda: instance.led)  # aiokafka does not connect again as it starts
    words = (instance.address, unique, mechanism, str(folder / "authority.pem"), SECRETS["bob"])
    done = subprocess.run(
        [sys.executable, "-c", _WITH_AIOKAFKA, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout) == (0, "b'0' 1\n"), done.stderr


@pytest.mark.parametrize(
    ("user", "password"),
    [("bob", "guessed"), ("nobody", "guessed"), ("eve", "eve-secret")],
    ids=["wrong password", "unknown here", "unknown to the cluster"],
)
def test_who_is_not_let_in_with_scram_is_told_the_same_whatever_is_wrong(
    instance: ServedInstance, folder: Path, unique: str, user: str, password: str
) -> None:
    told: list[str] = []
    wrong = {
        **log_in(folder, password, MECHANISMS[1], user),
        "error_cb": lambda error: told.append(str(error)),
    }
    with consumer([instance], unique, **wrong) as client:

        def ask() -> list[str]:
            with pytest.raises(KafkaException):
                client.list_topics(timeout=2)
            client.poll(0)
            return told

        said = "The user or the password is refused."
        eventually(ask, until=lambda seen: any(said in each for each in seen))


def test_the_cluster_says_for_which_groups_a_client_commits_and_fetches(
    cluster: KafkaCluster, instance: ServedInstance, folder: Path, unique: str
) -> None:
    create_topic(cluster.bootstrap, unique, 1)
    closed_topic = f"{unique}-closed"
    create_topic(cluster.bootstrap, closed_topic, 1)
    shown, hidden = f"{unique}-shown", f"{unique}-hidden"
    literal = ResourcePatternType.LITERAL
    rights = [
        AclBinding(kind, name, literal, "User:bob", "*", operation, permission)
        for kind, name, operation, permission in (
            (ResourceType.GROUP, shown, AclOperation.DESCRIBE, AclPermissionType.ALLOW),
            (ResourceType.GROUP, hidden, AclOperation.ALL, AclPermissionType.DENY),
            (ResourceType.TOPIC, closed_topic, AclOperation.READ, AclPermissionType.DENY),
        )
    ]
    grant(cluster, rights)
    here, there = TopicPartition(unique, 0, 1), TopicPartition(closed_topic, 0, 1)
    with consumer([instance], unique, **log_in(folder)) as client:
        commit(client, here)
        no_topic = KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert commit_errors(client, here, there) == [no_topic] * 2
        assert committed(client, unique) == [1]
    with consumer([instance], shown, **log_in(folder)) as client:
        assert committed(client, unique) == [OFFSET_INVALID]
        assert commit_errors(client, here) == [KafkaError.GROUP_AUTHORIZATION_FAILED]
        assert committed(client, unique) == [OFFSET_INVALID]
    with consumer([instance], hidden, **log_in(folder)) as client:
        assert commit_errors(client, here) == [KafkaError.GROUP_AUTHORIZATION_FAILED]
        with pytest.raises(KafkaException) as refused:
            client.committed([TopicPartition(unique, 0)], timeout=10)
        assert refused.value.args[0].code() == KafkaError.GROUP_AUTHORIZATION_FAILED


def test_offsets_of_topics_that_a_client_may_not_see_are_not_told(
    cluster: KafkaCluster, instance: ServedInstance, folder: Path, unique: str
) -> None:
    hidden = f"{unique}-hidden"
    for topic in (unique, hidden):
        create_topic(cluster.bootstrap, topic, 1)
    with consumer([instance], unique, **log_in(folder)) as client:
        commit(client, TopicPartition(unique, 0, 1), TopicPartition(hidden, 0, 2))
        right = AclBinding(
            *(ResourceType.TOPIC, hidden, ResourcePatternType.LITERAL, "User:bob", "*"),
            *(AclOperation.ALL, AclPermissionType.DENY),
        )
        grant(cluster, [right])
        asked = [TopicPartition(topic, 0) for topic in (unique, hidden)]
        seen, unseen = client.committed(asked, timeout=30)
        assert (seen.offset, seen.error) == (1, None)
        assert unseen.error
        assert unseen.error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_who_does_not_know_the_password_is_not_let_in(
    instance: ServedInstance, folder: Path, unique: str
) -> None:
    heard: list[int] = []
    wrong = {**log_in(folder, "guessed"), "error_cb": lambda error: heard.append(error.code())}
    with consumer([instance], unique, **wrong) as client:

        def ask() -> list[int]:
            with pytest.raises(KafkaException):
                client.list_topics(timeout=2)
            client.poll(0)
            return heard

        eventually(ask, until=lambda seen: KafkaError._AUTHENTICATION in seen)


def test_who_does_not_log_in_learns_nothing(
    instance: ServedInstance, folder: Path, unique: str
) -> None:
    with consumer([instance], unique, **log_in(folder)) as client:
        assert committed(client, "orders") == [-1001]
    without = {"security.protocol": "SSL", "ssl.ca.location": str(folder / "authority.pem")}
    with (
        consumer([instance], unique, **without) as client,
        pytest.raises(KafkaException),
    ):
        client.list_topics(timeout=3)


def test_who_shows_a_certificate_of_the_authority_is_let_in_and_nobody_else(
    cluster: KafkaCluster,
    settings: Mapping[str, str],
    folder: Path,
    authority: Certified,
    unique: str,
) -> None:
    create_topic(cluster.bootstrap, unique, 1)
    produce(cluster.bootstrap, unique, numbered(0, 1))
    asks = {
        "listeners.security.protocol": "SSL",
        "listeners.ssl.client.auth": "required",
        "listeners.ssl.truststore.location": settings["ssl.truststore.location"],
        "listeners.ssl.truststore.password": PASSWORD,
        "offsets.topic.name": f"{unique}-offsets",
    }
    without = {"security.protocol": "SSL", "ssl.ca.location": str(folder / "authority.pem")}
    shows = [
        {**without, "ssl.certificate.pem": each.certificate_pem, "ssl.key.pem": each.key_pem()}
        for each in (authority.issue("bob"), Certified.authority("another").issue("bob"))
    ]
    with served(cluster.listeners("SASL_PLAINTEXT"), {**settings, **asks}) as (instance,):
        with consumer([instance], unique, **shows[0]) as client:
            commit(client, TopicPartition(unique, 0, 1))
            assert committed(client, unique) == [1]
            assert first_of(client, unique) == (b"0", 0)
        for refused in (without, shows[1]):
            with (
                consumer([instance], unique, **refused) as client,
                pytest.raises(KafkaException),
            ):
                client.list_topics(timeout=3)
