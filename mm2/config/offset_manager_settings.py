"""What the file of an offset manager says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Self

from mm2.config.keys.definition import by_line, field_values, parse_all
from mm2.config.keys.key_table import nearest
from mm2.config.keys.key_types import Value
from mm2.config.keys.keys_clients import CLIENT_SETTINGS
from mm2.config.keys.keys_offset_manager import CODECS, OFFSET_MANAGER_KEYS
from mm2.config.keys.keys_security import CLIENT_NAMES
from mm2.config.text.client_file import PROVIDERS
from mm2.errors import ConfigError, ConfigErrors

_TABLE: Final = {key.name: key for key in OFFSET_MANAGER_KEYS}
_PROTOCOL: Final = "listeners.security.protocol"
_MECHANISMS: Final = "listeners.sasl.enabled.mechanisms"
_USERS: Final = "listeners.sasl.jaas.config"
_LISTENERS: Final = "listeners."
_OWN: Final = ("offsets.", _LISTENERS)
_KNOWN: Final = frozenset().union(
    {"bootstrap.servers", *_TABLE},
    {f"{_LISTENERS}{name}" for name in CLIENT_NAMES if name.startswith("ssl.")},
    CLIENT_NAMES,
    *CLIENT_SETTINGS.values(),
)
_MANY: Final = 3
"""From so many replicas on, one may be missing and a commit still has two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetManagerSettings:
    """
    Settings of an offset manager; ``keys_offset_manager`` says what each is.

    Attributes:
        properties: Java's properties of the cluster's clients.
        users: names and passwords for SCRAM, in the syntax of JAAS.
        tls: Java's ``ssl.*`` keys of the listener.
        warnings: of keys that nobody knows.
    """

    topic: str
    partitions: int
    replicas: int
    codec: str
    metadata_bytes: int
    retention_minutes: int
    retention_check: timedelta
    patience: timedelta
    max_connections: int
    max_connections_per_ip: int
    protocol: str = "PLAINTEXT"
    client_auth: str = "none"
    mechanisms: tuple[str, ...] = ("PLAIN",)
    users: str | None = field(default=None, repr=False)
    properties: Mapping[str, str]
    tls: Mapping[str, str] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, properties: Mapping[str, str], lines: Mapping[str, int] | None = None) -> Self:
        """
        Reads a file's values.

        Args:
            lines: where the file has them.

        Raises:
            ConfigErrors: every mistake in them.
        """
        values, mistakes = parse_all(_TABLE, properties)
        others = {key: value for key, value in properties.items() if key not in _TABLE}
        clients = {key: value for key, value in others.items() if not key.startswith(_LISTENERS)}
        mistakes += _login_mistakes(str(values.get(_PROTOCOL)), clients)
        mistakes += _open_mistakes(values, properties)
        mistakes += _user_mistakes(values)
        unknown = [_unknown(key) for key in others if not _is_known(key)]
        mistakes += [each for each in unknown if str(each.key).startswith(_OWN)]
        for each in (*mistakes, *unknown):
            each.line = (lines or {}).get(each.key or "")
        if mistakes:
            raise ConfigErrors(sorted(mistakes, key=by_line))
        return cls(
            **field_values(_TABLE, values),
            properties=clients,
            tls=_tls(others),
            warnings=tuple(str(each) for each in sorted(unknown, key=by_line)),
        )

    @property
    def has_tls(self) -> bool:
        """Whether clients connect with TLS."""
        return self.protocol.endswith("SSL")

    @property
    def has_login(self) -> bool:
        """Whether clients have to log in."""
        return self.protocol.startswith("SASL")

    @property
    def compression(self) -> int:
        """The codec's number."""
        return int(self.codec) if self.codec.isdigit() else CODECS.index(self.codec)

    @property
    def group(self) -> str:
        """The consumer group that elects the leaders."""
        return f"__mm2-offset-manager-{self.topic}"

    def transactional_id(self, log_partition: int) -> str:
        """Of the producer of a log partition's leader."""
        return f"{self.group}-{log_partition}"

    @property
    def topic_configs(self) -> Mapping[str, str]:
        """Of the topic, if it has to be created; Kafka's for ``__consumer_offsets`` and safer."""
        return {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(100 << 20),
            "unclean.leader.election.enable": "false",
            "min.insync.replicas": "2" if self.replicas >= _MANY else "1",
        }


def _tls(properties: Mapping[str, str]) -> dict[str, str]:
    """The keys with the prefix if there is any of them, else those without: all or nothing."""
    own = {
        key.removeprefix(_LISTENERS): value
        for key, value in properties.items()
        if key.startswith(_LISTENERS)
    }
    return own or {key: value for key, value in properties.items() if key.startswith("ssl.")}


def _is_known(key: str) -> bool:
    return key in _KNOWN or key.startswith(PROVIDERS)


def _unknown(key: str) -> ConfigError:
    message = f"{key} is no key of an offset manager or of a client, and has no effect."
    return ConfigError(message, key=key, suggestion=nearest(key, _KNOWN))


def _open_mistakes(values: Mapping[str, Value], given: Iterable[str]) -> Iterator[ConfigError]:
    """Who says how clients log in does not mean a listener that lets everybody in."""
    protocol = str(values.get(_PROTOCOL, "SASL"))  # else it is a mistake already
    for key in sorted({_MECHANISMS, _USERS}.intersection(given)):
        if not protocol.startswith("SASL"):
            message = (
                f"{key} has no effect: {_PROTOCOL} is {protocol}, so clients do not log in. Set"
                " that to SASL_SSL or SASL_PLAINTEXT, or remove this key"
            )
            yield ConfigError(message, key=key)


def _user_mistakes(values: Mapping[str, Value]) -> Iterator[ConfigError]:
    offered, users = values.get(_MECHANISMS), values.get(_USERS)
    has_scram = isinstance(offered, tuple) and any(each != "PLAIN" for each in offered)
    if has_scram and users is None:
        message = f"{_USERS} is missing: SCRAM needs the names and passwords of those who log in"
        yield ConfigError(message, key=_MECHANISMS)
    elif users is not None and not has_scram:
        message = (
            f"{_USERS} is for SCRAM, which {_MECHANISMS} does not offer: PLAIN is tried at the"
            " cluster. Add SCRAM-SHA-512 there, or remove the key"
        )
        yield ConfigError(message, key=_USERS)


def _login_mistakes(protocol: str, clients: Mapping[str, str]) -> Iterator[ConfigError]:
    """Who logs in at the listener logs in at the cluster, in the way that the file says."""
    if protocol.startswith("SASL") and not clients.get("security.protocol", "").startswith("SASL"):
        message = (
            f"{_PROTOCOL} is {protocol}, so the cluster has to check who logs in: set"
            " security.protocol to SASL_SSL or SASL_PLAINTEXT, and bootstrap servers that have it"
        )
        yield ConfigError(message, key=_PROTOCOL, value=protocol)
