"""Clusters that let in by a password, or by a certificate, and what clients need for that."""

from __future__ import annotations

from pathlib import Path

from tests.support.certificates import PASSWORD, Certified
from tests.support.layout import Security

SECRET = "alice-secret"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def security(folder: Path) -> tuple[Security, dict[str, dict[str, str]]]:
    """
    Listeners with SASL and with mutual TLS.

    Args:
        folder: for stores of keys and certificates.

    Returns:
        What the brokers need; and by the names of the listeners what their clients do.
    """
    authority = Certified.authority("authority")
    truststore = authority.truststore(folder / "trust.p12")
    client = authority.issue("client").keystore(folder / "client.p12", authority)
    brokers = Security(
        users={"alice": SECRET},
        keystore=authority.issue("broker").keystore(folder / "broker.p12", authority),
        keystore_password=PASSWORD,
        truststore=truststore,
    )
    by_password = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{_SCRAM} required username="alice" password="{SECRET}";',
    }
    by_certificate = {
        "security.protocol": "SSL",
        "ssl.truststore.location": str(truststore),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.location": str(client),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
    }
    return brokers, {"SASL_PLAINTEXT": by_password, "SSL": by_certificate}


def of_cluster(alias: str, settings: dict[str, str]) -> dict[str, str]:
    """Settings of a cluster's clients, as a properties file of a mirror has them."""
    return {f"{alias}.{key}": value for key, value in settings.items()}
