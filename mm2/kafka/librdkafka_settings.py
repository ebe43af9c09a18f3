"""
Java's consumer properties as the settings of librdkafka, for members of consumer groups.

aiokafka has no cooperative assignor, nor KIP-848's protocol; librdkafka has both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mm2.errors import ConfigError
from mm2.kafka.client_settings import aiokafka_settings, bounded_numbers
from mm2.kafka.security.keystores import own_identity, trusted_certificates
from mm2.kafka.security.tls import checks_host_names
from mm2.kafka.security.tls_limits import tls_limits

_NUMBERS: Final[Mapping[str, tuple[str, int, int]]] = {
    "connections.max.idle.ms": ("connections.max.idle.ms", 0, 2**31 - 1),
    "heartbeat.interval.ms": ("heartbeat.interval.ms", 1, 3_600_000),
    "max.poll.interval.ms": ("max.poll.interval.ms", 1, 86_400_000),
    "metadata.max.age.ms": ("metadata.max.age.ms", 1, 86_400_000),
    "receive.buffer.bytes": ("socket.receive.buffer.bytes", 0, 100_000_000),
    "reconnect.backoff.max.ms": ("reconnect.backoff.max.ms", 0, 3_600_000),
    "reconnect.backoff.ms": ("reconnect.backoff.ms", 0, 3_600_000),
    "request.timeout.ms": ("socket.timeout.ms", 1_000, 300_000),
    "retry.backoff.max.ms": ("retry.backoff.max.ms", 1, 300_000),
    "retry.backoff.ms": ("retry.backoff.ms", 1, 300_000),
    "send.buffer.bytes": ("socket.send.buffer.bytes", 0, 100_000_000),
    "session.timeout.ms": ("session.timeout.ms", 1, 3_600_000),
    "socket.connection.setup.timeout.ms": ("socket.connection.setup.timeout.ms", 1_000, 2**31 - 1),
}
_SESSION: Final = "session.timeout.ms"
_POLL: Final = "max.poll.interval.ms"
_DEFAULT_MS: Final = {_SESSION: 45_000, _POLL: 300_000}
"""Of librdkafka, as of Java's consumer."""

_MOST_REFRESH_MS: Final = 3_600_000
_SAME: Final = (
    "client.id",
    "client.rack",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
)
_STRATEGY: Final = "partition.assignment.strategy"
_PROTOCOL: Final = "group.protocol"
_PROTOCOLS: Final = ("classic", "consumer")
_NOT_OF_KIP_848: Final = frozenset({_STRATEGY, _SESSION, "heartbeat.interval.ms"})
"""The broker decides these for members of the newer protocol."""

_LONGEST_SESSION_MS: Final = 60_000
"""Of such a member, as brokers have it by default (``group.consumer.max.session.timeout.ms``)."""

COOPERATIVE: Final = "cooperative-sticky"
_DEFAULT_STRATEGY: Final = "range"
"""What Java's members have at the first place."""


def is_incremental(properties: Mapping[str, str]) -> bool:
    """Whether a rebalance takes and gives single partitions (KIP-429, KIP-848)."""
    return _is_kip_848(properties) or COOPERATIVE in properties.get(_STRATEGY, "")


def group_member_settings(properties: Mapping[str, str], group: str) -> dict[str, object]:
    """
    The configuration of a consumer that is a member of a group and commits when it is told to.

    Raises:
        ConfigError: a value that cannot be used, named by its key.
    """
    numbers = bounded_numbers(properties, _NUMBERS)
    settings: dict[str, object] = {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        _STRATEGY: _DEFAULT_STRATEGY,
        **numbers,
        **_connection(properties),
    }
    for key in (*_SAME, _STRATEGY):
        if value := properties.get(key, "").strip():
            settings[key] = value
    if (age_ms := numbers.get("metadata.max.age.ms")) is not None:
        # This is how often it looks; new partitions are seen then, and bring a rebalance.
        settings["topic.metadata.refresh.interval.ms"] = min(age_ms, _MOST_REFRESH_MS)
    if _is_kip_848(properties):
        settings = {key: each for key, each in settings.items() if key not in _NOT_OF_KIP_848}
    return settings


def session_ms(properties: Mapping[str, str]) -> int:
    """For how long a member may be silent until its group takes it for dead."""
    if _is_kip_848(properties):
        return _LONGEST_SESSION_MS
    given = bounded_numbers(properties, {_SESSION: _NUMBERS[_SESSION]})
    return given.get(_SESSION, _DEFAULT_MS[_SESSION])


def group_member_mistakes(properties: Mapping[str, str]) -> list[ConfigError]:
    """All that librdkafka would refuse in what only members of groups have."""
    mistakes = []
    for key, bounds in _NUMBERS.items():
        try:
            bounded_numbers(properties, {key: bounds})
        except ConfigError as error:
            mistakes.append(error)
    protocol = properties.get(_PROTOCOL, "").strip()
    if protocol and protocol.lower() not in _PROTOCOLS:
        message = f"{_PROTOCOL}={protocol} is not supported: use one of {', '.join(_PROTOCOLS)}."
        mistakes.append(ConfigError(message, key=_PROTOCOL, value=protocol))
    if not mistakes and not _is_kip_848(properties):
        mistakes += _session_mistakes(properties)
    return mistakes


def _session_mistakes(properties: Mapping[str, str]) -> list[ConfigError]:
    asked = {key: _NUMBERS[key] for key in _DEFAULT_MS}
    ms = {**_DEFAULT_MS, **bounded_numbers(properties, asked)}
    if ms[_SESSION] <= ms[_POLL]:
        return []
    key = _SESSION if _SESSION in properties else _POLL
    message = (
        f"{_SESSION} ({ms[_SESSION]}) is greater than {_POLL} ({ms[_POLL]}): librdkafka refuses"
        f" that. Set {_POLL} to {ms[_SESSION]} or more."
    )
    return [ConfigError(message, key=key, value=properties[key])]


def admin_settings(properties: Mapping[str, str]) -> dict[str, Any]:
    """
    The configuration of a client that is a member of no group.

    Raises:
        ConfigError: a value that cannot be used, named by its key.
    """
    return {**_connection(properties), "log_level": 0}


def _connection(properties: Mapping[str, str]) -> dict[str, object]:
    """Where the cluster is, and how one logs in there."""
    common = aiokafka_settings(properties)
    servers, protocol = common["bootstrap_servers"], common["security_protocol"]
    settings: dict[str, object] = {
        "bootstrap.servers": ",".join(map(str, servers if isinstance(servers, list) else [])),
        "security.protocol": protocol,
    }
    if protocol in {"SSL", "SASL_SSL"}:
        settings |= _tls(properties)
    if "sasl_mechanism" in common:
        settings["sasl.mechanism"] = common["sasl_mechanism"]
        settings["sasl.username"] = common["sasl_plain_username"]
        settings["sasl.password"] = common["sasl_plain_password"]
    return settings


def _tls(properties: Mapping[str, str]) -> dict[str, object]:
    """Everything inline; librdkafka knows suites of TLSv1.2 only, and always offers TLSv1.3."""
    checks = checks_host_names(properties)
    settings: dict[str, object] = {
        "ssl.endpoint.identification.algorithm": "https" if checks else "none"
    }
    if trusted := trusted_certificates(properties):
        settings["ssl.ca.pem"] = trusted
    if identity := own_identity(properties):
        settings["ssl.certificate.pem"] = identity.chain
        settings["ssl.key.pem"] = identity.key
    if suites := tls_limits(properties).suites:
        settings["ssl.cipher.suites"] = ":".join(suites)
    return settings


def _is_kip_848(properties: Mapping[str, str]) -> bool:
    return properties.get("group.protocol", "").strip().lower() == "consumer"
