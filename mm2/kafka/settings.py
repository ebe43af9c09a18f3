"""
Java's client properties as the settings of aiokafka and of librdkafka.

Users write what Java's clients know. What has a counterpart is translated; other keys are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from mm2.errors import ConfigError
from mm2.kafka.jaas import KEY as JAAS
from mm2.kafka.jaas import parse_jaas
from mm2.kafka.tls import tls_context, tls_settings

_ADDRESS: Final = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?(\[?[0-9a-zA-Z\-%._:]*\]?):([0-9]+)")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

_AIOKAFKA: Final[Mapping[str, tuple[str, int, int]]] = {
    "connections.max.idle.ms": ("connections_max_idle_ms", 1_000, 2**31 - 1),
    "metadata.max.age.ms": ("metadata_max_age_ms", 100, 2**31 - 1),
    "request.timeout.ms": ("request_timeout_ms", 100, 2**31 - 1),
    "retry.backoff.ms": ("retry_backoff_ms", 1, 2**31 - 1),
}
"""Java's numbers with aiokafka's names for them; values are held within the bounds."""

_LIBRDKAFKA: Final[Mapping[str, tuple[str, int, int]]] = {
    "connections.max.idle.ms": ("connections.max.idle.ms", 0, 2**31 - 1),
    "metadata.max.age.ms": ("metadata.max.age.ms", 1, 86_400_000),
    "receive.buffer.bytes": ("socket.receive.buffer.bytes", 0, 100_000_000),
    "reconnect.backoff.max.ms": ("reconnect.backoff.max.ms", 0, 3_600_000),
    "reconnect.backoff.ms": ("reconnect.backoff.ms", 0, 3_600_000),
    "request.timeout.ms": ("socket.timeout.ms", 1_000, 300_000),
    "retry.backoff.max.ms": ("retry.backoff.max.ms", 1, 300_000),
    "retry.backoff.ms": ("retry.backoff.ms", 1, 300_000),
    "send.buffer.bytes": ("socket.send.buffer.bytes", 0, 100_000_000),
    "socket.connection.setup.timeout.ms": (
        "socket.connection.setup.timeout.ms",
        1_000,
        2**31 - 1,
    ),
}


def aiokafka_settings(properties: Mapping[str, str]) -> dict[str, object]:
    """
    Keyword arguments that aiokafka's client, consumer and producer have in common.

    Raises:
        ConfigError: a value that cannot be used, named by its key.
    """
    protocol = _protocol(properties)
    settings: dict[str, object] = {
        "bootstrap_servers": bootstrap_servers(properties),
        "security_protocol": protocol,
        **_numbers(properties, _AIOKAFKA),
    }
    if client_id := properties.get("client.id"):
        settings["client_id"] = client_id
    if protocol in {"SSL", "SASL_SSL"}:
        settings["ssl_context"] = tls_context(properties)
    if protocol.startswith("SASL"):
        mechanism, user, password = _credentials(properties)
        settings["sasl_mechanism"] = mechanism
        settings["sasl_plain_username"] = user
        settings["sasl_plain_password"] = password
    return settings


def librdkafka_settings(properties: Mapping[str, str]) -> dict[str, str | int | float | bool]:
    """
    The configuration of a client of confluent-kafka, what is common to all kinds of client.

    Raises:
        ConfigError: a value that cannot be used, named by its key.
    """
    protocol = _protocol(properties)
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": ",".join(bootstrap_servers(properties)),
        "security.protocol": protocol,
        **_numbers(properties, _LIBRDKAFKA),
    }
    for key in ("client.id", "client.dns.lookup"):
        if value := properties.get(key):
            settings[key] = value
    if protocol in {"SSL", "SASL_SSL"}:
        settings |= tls_settings(properties)
    if protocol.startswith("SASL"):
        names = ("sasl.mechanism", "sasl.username", "sasl.password")
        settings |= dict(zip(names, _credentials(properties), strict=True))
    return settings


def bootstrap_servers(properties: Mapping[str, str]) -> list[str]:
    """
    The addresses of ``bootstrap.servers`` as ``host:port``, without a protocol before them.

    Raises:
        ConfigError: there are none, or one has no port.
    """
    key = "bootstrap.servers"
    addresses = [part.strip() for part in properties.get(key, "").split(",") if part.strip()]
    if not addresses:
        raise ConfigError(f"{key} is missing: name at least one broker as host:port.", key=key)
    return [_address(key, address) for address in addresses]


def milliseconds(properties: Mapping[str, str], key: str, default: int) -> int:
    """
    The number under ``key``.

    Raises:
        ConfigError: it is none.
    """
    text = properties.get(key)
    if text is None:
        return default
    try:
        return int(text.strip())
    except ValueError as error:
        raise ConfigError(f"{key}={text} is not a whole number.", key=key, value=text) from error


def _address(key: str, address: str) -> str:
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise ConfigError(f"{key}: {address} is not host:port.", key=key, value=address)
    return f"{match[1]}:{match[2]}"


def _protocol(properties: Mapping[str, str]) -> str:
    key = "security.protocol"
    given = properties.get(key, "PLAINTEXT")
    return _one_of(key, given.strip().upper(), _PROTOCOLS)


def _one_of(key: str, value: str, allowed: Iterable[str]) -> str:
    if value not in allowed:
        message = f"{key}={value} is not supported: use one of {', '.join(allowed)}."
        raise ConfigError(message, key=key, value=value)
    return value


def _numbers(
    properties: Mapping[str, str], names: Mapping[str, tuple[str, int, int]]
) -> dict[str, int]:
    found = {}
    for key, (name, least, most) in names.items():
        if key in properties:
            found[name] = min(max(milliseconds(properties, key, 0), least), most)
    return found


def _credentials(properties: Mapping[str, str]) -> tuple[str, str, str]:
    mechanism = _mechanism(properties)
    if not properties.get(JAAS):
        raise ConfigError(f"sasl.mechanism={mechanism} needs {JAAS}.", key=JAAS)
    options = parse_jaas(properties[JAAS]).options
    get: Callable[[str], str | None] = options.get
    user, password = get("username"), get("password")
    if user is None or password is None:
        raise ConfigError(f"{JAAS} must name username and password.", key=JAAS)
    return mechanism, user, password


def _mechanism(properties: Mapping[str, str]) -> str:
    key = "sasl.mechanism"
    # Java's default cannot work here either, and is named for what it is.
    return _one_of(key, properties.get(key, "GSSAPI").strip(), _MECHANISMS)
