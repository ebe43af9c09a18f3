"""
Settings of a broker with secured listeners, and where Kafka's jars are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from mm2.demo.broker_settings import CONTROLLER, broker_properties, listener_list
from mm2.demo.kafka_jars import KAFKA_VERSION
from mm2.demo.processes import KafkaMissing

OLDER_VERSION = "3.9.1"
"""The oldest version of brokers that mirrors are tested with."""

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / "build" / "kafka" / KAFKA_VERSION / "libs"


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


def secured(security: Security) -> list[str]:
    """The names of the secured listeners."""
    return [
        *(["SASL_PLAINTEXT"] if security.users else []),
        *(["SSL"] if security.keystore else []),
    ]


def secured_properties(
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

    Whoever has no name (``ANONYMOUS``, on the plain listeners) may do everything; ACLs apply to
    named users. Listeners in ``routes`` are plain ones that advertise the port given there, on
    which a proxy is.
    """
    plain = {CONTROLLER, *routes}
    advertised = {name: at for name, at in {**ports, **routes}.items() if name != CONTROLLER}
    return {
        **broker_properties(node=node, voters=voters, ports=ports, data=data),
        "advertised.listeners": listener_list(advertised),
        "listener.security.protocol.map": ",".join(
            f"{name}:{'PLAINTEXT' if name in plain else name}" for name in ports
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
        **_security_properties(security),
        **extra,
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
