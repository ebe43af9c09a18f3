"""The consumer's keys for offsets in ZooKeeper (KAFKA-1012)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

STORAGE: Final = "offsets.storage"
STORAGES: Final = ("kafka", "zookeeper")
DUAL: Final = "dual.commit.enabled"
CONNECT: Final = "zookeeper.connect"
_SESSION: Final = "zookeeper.session.timeout.ms"
_CONNECTION: Final = "zookeeper.connection.timeout.ms"
ENABLE_TLS: Final = "zookeeper.ssl.client.enable"
_PREFIX: Final = "zookeeper."
TLS_KEYS: Final = frozenset(
    {
        ENABLE_TLS,
        "zookeeper.clientCnxnSocket",
        "zookeeper.ssl.keystore.location",
        "zookeeper.ssl.keystore.password",
        "zookeeper.ssl.keystore.type",
        "zookeeper.ssl.truststore.location",
        "zookeeper.ssl.truststore.password",
        "zookeeper.ssl.truststore.type",
        "zookeeper.ssl.protocol",
        "zookeeper.ssl.enabled.protocols",
        "zookeeper.ssl.cipher.suites",
        "zookeeper.ssl.endpoint.identification.algorithm",
    }
)
"""Those of Kafka's brokers and tools for TLS to ZooKeeper (KIP-515)."""

ZOOKEEPER_KEYS: Final = frozenset({STORAGE, DUAL, CONNECT, _SESSION, _CONNECTION}) | TLS_KEYS
_DEFAULT_MS: Final = "6000"
"""Of the old consumer, for both timeouts."""

_MOST_MS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSettings:
    """
    How offsets are kept in ZooKeeper.

    Attributes:
        connect: host:port,... and perhaps a path below which all of it lies.
        is_alone: whether they are kept in ZooKeeper alone; else in Kafka as well.
        tls: ``ssl.*`` keys as clients of Kafka have them; None connects without TLS.
    """

    connect: str
    session_timeout_s: float
    connect_timeout_s: float
    is_alone: bool
    tls: Mapping[str, str] | None = field(default=None, repr=False)


def uses_zookeeper(properties: Mapping[str, str]) -> bool:
    """Whether offsets are kept in ZooKeeper."""
    return _is(properties, STORAGE, "zookeeper") or _is(properties, DUAL, "true")


def zookeeper_settings(properties: Mapping[str, str]) -> ZooKeeperSettings | None:
    """
    The settings of checked properties; None if offsets are kept in Kafka alone.

    Raises:
        ValueError: a timeout is no number; the message names the key.
    """
    if not uses_zookeeper(properties):
        return None
    return ZooKeeperSettings(
        connect=properties.get(CONNECT, "").strip(),
        session_timeout_s=_seconds(properties, _SESSION),
        connect_timeout_s=_seconds(properties, _CONNECTION),
        is_alone=_is(properties, STORAGE, "zookeeper"),
        tls=zookeeper_tls(properties),
    )


def zookeeper_tls(properties: Mapping[str, str]) -> dict[str, str] | None:
    """The keys for TLS as clients of Kafka have them; None if it is not switched on."""
    if not _is(properties, ENABLE_TLS, "true"):
        return None
    return {
        key.removeprefix(_PREFIX): value
        for key, value in properties.items()
        if key.startswith(f"{_PREFIX}ssl.") and key != ENABLE_TLS
    }


def _is(properties: Mapping[str, str], key: str, value: str) -> bool:
    return properties.get(key, "").strip().lower() == value


def _seconds(properties: Mapping[str, str], key: str) -> float:
    text = properties.get(key, _DEFAULT_MS).strip()
    is_short = len(text) <= len(str(_MOST_MS))
    if not (is_short and text.isascii() and text.isdecimal() and 0 < int(text) <= _MOST_MS):
        wanted = f"write milliseconds, a whole number from 1 to {_MOST_MS}"
        raise ValueError(f"{key}={text}: {wanted}")
    return int(text) / 1000
