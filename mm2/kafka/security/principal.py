"""The name by which a cluster's ACLs know us, as far as our own settings tell it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from cryptography import x509

from mm2.errors import ConfigError
from mm2.kafka.security.jaas import KEY, parse_jaas
from mm2.kafka.security.keystores import own_identity

ANONYMOUS: Final = "User:ANONYMOUS"


def principal(properties: Mapping[str, str]) -> str | None:
    """
    Kafka's principal of a client: its user name, or the name in its certificate.

    Brokers may have rules that make another name of it (``ssl.principal.mapping.rules``). None if
    the settings cannot be read.
    """
    protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
    try:
        if protocol.startswith("SASL"):
            name = parse_jaas(properties.get(KEY, "")).options.get("username")
            return None if name is None else f"User:{name}"
        if protocol == "SSL" and (identity := own_identity(properties)):
            certificate = x509.load_pem_x509_certificates(identity.chain.encode())[0]
            return f"User:{certificate.subject.rfc4514_string()}"
    except (ConfigError, ValueError):
        return None
    return ANONYMOUS
