"""
Java's client properties as the settings of aiokafka and of our connections.

Users write what Java's clients know. What has a counterpart is translated; other keys are left out.
A value that cannot be used is a ``ConfigError`` that names its key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from mm2.errors import ConfigError
from mm2.kafka.security.jaas import KEY as JAAS
from mm2.kafka.security.jaas import LoginModule, parse_jaas
from mm2.kafka.security.tls import tls_context, tls_parts
from mm2.kafka.wire.node_channel import ConnectionSettings

_ADDRESS: Final = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?[0-9a-zA-Z\-%._:]*\]?:([0-9]{1,9})")
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MOST_PORT: Final = 65535
_METADATA_AGE_MS: Final = 300_000
"""Java's default of ``metadata.max.age.ms``."""

_DNS_LOOKUPS: Final = ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
_PLAIN: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_MODULES: Final = {"PLAIN": _PLAIN, "SCRAM-SHA-256": _SCRAM, "SCRAM-SHA-512": _SCRAM}
"""The mechanisms that aiokafka has, with the login module that Java needs for each."""

_AIOKAFKA: Final[Mapping[str, tuple[str, int, int]]] = {
    "connections.max.idle.ms": ("connections_max_idle_ms", 1_000, 2**31 - 1),
    "metadata.max.age.ms": ("metadata_max_age_ms", 100, 2**31 - 1),
    "request.timeout.ms": ("request_timeout_ms", 100, 2**31 - 1),
    "retry.backoff.ms": ("retry_backoff_ms", 1, 2**31 - 1),
}
"""Java's numbers with aiokafka's names for them; values are held within the bounds."""

_CONNECTIONS: Final[Mapping[str, tuple[str, int, int]]] = {
    "receive.buffer.bytes": ("receive_buffer_bytes", -1, 2**31 - 1),
    "reconnect.backoff.max.ms": ("reconnect_most_ms", 0, 3_600_000),
    "reconnect.backoff.ms": ("reconnect_ms", 0, 3_600_000),
    "retry.backoff.max.ms": ("retry_most_ms", 1, 300_000),
    "retry.backoff.ms": ("retry_ms", 1, 300_000),
    "send.buffer.bytes": ("send_buffer_bytes", -1, 2**31 - 1),
    "socket.connection.setup.timeout.ms": ("setup_ms", 1_000, 2**31 - 1),
}
"""As above, with the fields of ``ConnectionSettings``."""


def aiokafka_settings(properties: Mapping[str, str]) -> dict[str, object]:
    """Keyword arguments that aiokafka's client, consumer and producer have in common."""
    protocol = _protocol(properties)
    settings: dict[str, object] = {
        "bootstrap_servers": bootstrap_servers(properties),
        "security_protocol": protocol,
        **bounded_numbers(properties, _AIOKAFKA),
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


def connection_settings(properties: Mapping[str, str]) -> ConnectionSettings:
    """What administrative calls obey beyond ``aiokafka_settings``."""
    return ConnectionSettings(**bounded_numbers(properties, _CONNECTIONS))


def client_mistakes(properties: Mapping[str, str]) -> list[ConfigError]:
    """All that the functions above would refuse in a client's settings, and not the first alone."""
    parts: list[Callable[[Mapping[str, str]], object]] = [
        bootstrap_servers,
        _protocol,
        _dns_lookup,
        *(_number_of(key) for key in sorted(_AIOKAFKA.keys() | _CONNECTIONS.keys())),
    ]
    protocol = properties.get("security.protocol", "").strip().upper()
    if protocol in {"SSL", "SASL_SSL"}:
        parts += tls_parts(properties)
    if protocol.startswith("SASL"):
        parts.append(_credentials)
    mistakes: dict[str, ConfigError] = {}
    for part in parts:
        try:
            part(properties)
        except ConfigError as error:
            mistakes.setdefault(error.message, error)
    return list(mistakes.values())


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
    if wrong := [complaint for each in addresses if (complaint := _wrong_address(each))]:
        raise ConfigError(f"{key}: {'; '.join(wrong)}.", key=key, value=properties[key])
    return [address.rpartition("://")[2] for address in addresses]


def milliseconds(properties: Mapping[str, str], key: str, default: int) -> int:
    """The number under ``key``."""
    text = properties.get(key)
    if text is None:
        return default
    try:
        return int(text.strip())
    except ValueError as error:
        raise ConfigError(f"{key}={text} is not a whole number.", key=key, value=text) from error


def metadata_age_s(properties: Mapping[str, str]) -> float:
    """Seconds after which topics and leaders are asked for again."""
    return milliseconds(properties, "metadata.max.age.ms", _METADATA_AGE_MS) / 1000


def _wrong_address(address: str) -> str | None:
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return f"{address} is not host:port, for example {address.strip(':')}:9092"
    if not 0 < int(match[1]) <= _MOST_PORT:
        return f"the port of {address} must be 1 to {_MOST_PORT}"
    return None


def _protocol(properties: Mapping[str, str]) -> str:
    key = "security.protocol"
    given = properties.get(key, "PLAINTEXT")
    return _one_of(key, given.strip().upper(), _PROTOCOLS)


def _dns_lookup(properties: Mapping[str, str]) -> None:
    key = "client.dns.lookup"
    if value := properties.get(key, "").strip():
        _one_of(key, value, _DNS_LOOKUPS)


def _one_of(key: str, value: str, allowed: Iterable[str]) -> str:
    if value not in allowed:
        message = f"{key}={value} is not supported: use one of {', '.join(allowed)}."
        raise ConfigError(message, key=key, value=value)
    return value


def bounded_numbers(
    properties: Mapping[str, str], names: Mapping[str, tuple[str, int, int]]
) -> dict[str, int]:
    """
    The numbers that are given, with another library's names, each held within its bounds.

    Raises:
        ConfigError: one is no number.
    """
    found = {}
    for key, (name, least, most) in names.items():
        if key in properties:
            found[name] = min(max(milliseconds(properties, key, 0), least), most)
    return found


def _number_of(key: str) -> Callable[[Mapping[str, str]], int]:
    return lambda properties: milliseconds(properties, key, 0)


def _credentials(properties: Mapping[str, str]) -> tuple[str, str, str]:
    mechanism = _mechanism(properties)
    if not properties.get(JAAS):
        message = (
            f"sasl.mechanism={mechanism} needs {JAAS}: write "
            f'{JAAS} = {_MODULES[mechanism]} required username="..." password="...";'
        )
        raise ConfigError(message, key=JAAS)
    module = parse_jaas(properties[JAAS])
    _check_module(mechanism, module)
    get: Callable[[str], str | None] = module.options.get
    user, password = get("username"), get("password")
    if user is None or password is None:
        raise ConfigError(f"{JAAS} must name username and password.", key=JAAS)
    return mechanism, user, password


def _check_module(mechanism: str, module: LoginModule) -> None:
    """PLAIN is content with Java's module for SCRAM, but not the other way round."""
    fitting = {_MODULES[mechanism], _SCRAM}
    if module.name not in fitting:
        message = (
            f"{JAAS} names the login module {module.name}, which does not do"
            f" sasl.mechanism={mechanism}: write {_MODULES[mechanism]}."
        )
        raise ConfigError(message, key=JAAS)


def _mechanism(properties: Mapping[str, str]) -> str:
    key = "sasl.mechanism"
    if key not in properties:
        message = (
            f"{key} is missing, and Kafka's default, GSSAPI, is not supported:"
            f" use one of {', '.join(_MODULES)}."
        )
        raise ConfigError(message, key=key)
    return _one_of(key, properties[key].strip(), _MODULES)
