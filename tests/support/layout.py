"""
Settings of a development broker, and where Kafka's jars are.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO

KAFKA_VERSION = "4.3.0"
OLDER_VERSION = "3.9.1"
"""The oldest version of brokers that mirrors are tested with."""

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / "build" / "kafka" / KAFKA_VERSION / "libs"

HOST = "127.0.0.1"
CONTROLLER = "CONTROLLER"
"""The name of the listener on which controllers talk to each other."""
_PORTS = range(15_000, 32_000)
"""Below the range from which the system takes ports for outgoing connections."""
_OURS: dict[int, IO[str]] = {}
"""What was given out by this process, each with the open file whose lock says so."""

LOG4J = """\
status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = ${sys:broker.log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""


class KafkaMissing(RuntimeError):
    """What a real broker needs is not installed; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """
    Which secured listeners the brokers open beside the plain one.

    Attributes:
        users: names and passwords; opens SASL_PLAINTEXT with PLAIN and both SCRAM mechanisms.
        keystore: a PKCS12 file with the brokers' key; opens SSL.
        keystore_password: of the file and of the key within.
        truststore: a PKCS12 file; when given, clients on SSL must show a certificate it trusts.
    """

    users: Mapping[str, str] = field(default_factory=dict)
    keystore: Path | None = None
    keystore_password: str = ""
    truststore: Path | None = None


def wanted_version(name: str) -> str:
    """The version of the brokers of a cluster; those that are neither A nor B are as A is."""
    given = os.environ.get("MM2_TEST_VERSIONS", "").split(",")
    of_a, of_b = given[0], given[-1]
    return (of_b if name == "B" else of_a) or KAFKA_VERSION


def major(version: str) -> int:
    """The first number of a version."""
    return int(version.partition(".")[0])


def jars(version: str = KAFKA_VERSION) -> list[Path]:
    """Kafka's jars in a fixed order, as a shared class archive demands."""
    # An archive knows its jars by their paths, which links would make different ones.
    folder = (ROOT / "build" / "kafka" / version / "libs").resolve()
    found = sorted(folder.glob("*.jar"))
    if not found:
        raise KafkaMissing(f"There are no Kafka jars in {folder}: run ./scripts/fetch-kafka.")
    return found


def class_archive(version: str = KAFKA_VERSION) -> Path:
    """Where brokers find their classes ready to be used, if ``tests.support.archive`` has run."""
    return (ROOT / "build" / "kafka" / version).resolve() / "brokers.jsa"


def java() -> str:
    """The path of Java's launcher."""
    path = shutil.which("java")
    if path is None:
        raise KafkaMissing("Java is needed: install a JDK 17 or 21 (openjdk-17-jdk).")
    return path


def free_ports(count: int) -> list[int]:
    """
    Different ports of the loopback interface on which nobody listens.

    They are ours until this process ends: no other process is given one of them here, even if
    nobody listens yet, or for a while.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        if _taken(port) and _free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise KafkaMissing(f"No {count} free ports on {HOST}.")


def _taken(port: int) -> bool:
    if port in _OURS:
        return False
    folder = Path(tempfile.gettempdir(), f"kafka-ports-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    mark = (folder / str(port)).open("w")
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        mark.close()
        return False
    _OURS[port] = mark
    return True


def _free(port: int) -> bool:
    with socket.socket() as candidate:
        try:
            candidate.bind((HOST, port))
        except OSError:
            return False
    return True


def secured(security: Security) -> list[str]:
    """The names of the secured listeners."""
    return [
        *(["SASL_PLAINTEXT"] if security.users else []),
        *(["SSL"] if security.keystore else []),
    ]


def broker_properties(
    *,
    node: int,
    voters: str,
    ports: Mapping[str, int],
    data: Path,
    security: Security,
    extra: Mapping[str, str],
    routes: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, str]:
    """
    What ``server.properties`` of one node holds.

    Broker and controller share the process. Whoever has no name (``ANONYMOUS``, on the plain
    listeners) may do everything; ACLs apply to named users. Listeners in ``routes`` are plain ones
    that advertise the port given there, on which a proxy is.
    """
    listeners = ",".join(f"{name}://{HOST}:{port}" for name, port in ports.items())
    advertised = ",".join(
        f"{name}://{HOST}:{port}"
        for name, port in {**ports, **routes}.items()
        if name != CONTROLLER
    )
    plain = {CONTROLLER, *routes}
    return {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "controller.listener.names": CONTROLLER,
        "listeners": listeners,
        "advertised.listeners": advertised,
        "listener.security.protocol.map": ",".join(
            f"{name}:{'PLAINTEXT' if name in plain else name}" for name in ports
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(data),
        **_small_properties(replicas=min(voters.count("@"), 3)),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
        **_security_properties(security),
        **extra,
    }


def _small_properties(*, replicas: int) -> dict[str, str]:
    """Few partitions, few threads, and short waits: these brokers live for a test."""
    return {
        "auto.create.topics.enable": "false",
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "2",
        "group.initial.rebalance.delay.ms": "0",
        # A restarted node registers again only once its former self has timed out.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "log.cleaner.backoff.ms": "1000",
        # Records of tests have timestamps of years ago.
        "log.retention.ms": "-1",
        "num.network.threads": "2",
        "num.io.threads": "4",
    }


def _security_properties(security: Security) -> dict[str, str]:
    found: dict[str, str] = {}
    if security.users:
        scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule required " + " ".join(
            f'user_{name}="{password}"' for name, password in security.users.items()
        )
        prefix = "listener.name.sasl_plaintext"
        found |= {
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            f"{prefix}.plain.sasl.jaas.config": f"{plain};",
            f"{prefix}.scram-sha-256.sasl.jaas.config": scram,
            f"{prefix}.scram-sha-512.sasl.jaas.config": scram,
        }
    if security.keystore:
        found |= {
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(security.keystore),
            "ssl.keystore.password": security.keystore_password,
            "ssl.key.password": security.keystore_password,
        }
    if security.truststore:
        found |= {
            "ssl.client.auth": "required",
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(security.truststore),
            "ssl.truststore.password": security.keystore_password,
        }
    return found


def render(properties: Mapping[str, str]) -> str:
    """The text of a properties file."""
    return "".join(f"{key}={value}\n" for key, value in properties.items())
