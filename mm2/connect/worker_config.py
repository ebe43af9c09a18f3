"""
What a worker's properties say: Kafka Connect's own keys, of a standalone or a distributed worker.

Connect's machinery that does not exist here (plug-ins, sessions between workers) has keys that have
no effect, and are told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from mm2.config.checks.ignored_keys import unobeyed
from mm2.config.checks.key_lint import is_open_in_worker, unread_keys, worker_advice
from mm2.config.connector_reading import Parsed
from mm2.config.keys.definition import Support, by_line, parse_all
from mm2.config.keys.key_table import WORKER_AND_POLICY
from mm2.config.keys.key_types import split_list
from mm2.config.layers import TOP_LEVEL, Setting, with_line
from mm2.config.rest_settings import RestSettings, read_rest
from mm2.config.text.expressions import open_expressions
from mm2.config.text.properties import PropertiesFile
from mm2.config.text.providers import Providers, listed_providers
from mm2.config.text.redact import as_written
from mm2.errors import ConfigError, ConfigErrors

STANDALONE_GROUP: Final = "connect-standalone"
"""Stands for ``group.id`` in names, where there is none."""

_FACTORS: Final = tuple(
    f"{what}.storage.replication.factor" for what in ("config", "offset", "status")
)
_STANDALONE: Final = {
    "group.id": STANDALONE_GROUP,
    "config.storage.topic": "",
    "offset.storage.topic": "",
    "status.storage.topic": "",
    # Whoever runs one worker often has one broker; distributed workers have Connect's default, 3.
    **dict.fromkeys(_FACTORS, "-1"),
}

_HERE: Final = ("127.0.0.1", "[::1]")


@dataclass(frozen=True, kw_only=True)
class WorkerConfig:
    """
    The configuration of one worker.

    Args:
        is_distributed: whether the worker is one of a group.
        environment: variables for the environment provider; those of the process by default.
        classes: what the connector files of a standalone worker name; they need no permission.

    Raises:
        ConfigErrors: everything that is wrong with it.
    """

    raw: Mapping[str, str]
    is_distributed: bool
    lines: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] | None = None
    classes: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(init=False)
    """All keys, resolved; what a standalone worker need not say is filled in."""
    parsed: Parsed = field(init=False)
    """The keys of Connect's ``DistributedConfig``, typed."""
    rest: RestSettings | None = field(init=False)
    """How REST is served; None if it is not."""

    def __post_init__(self) -> None:
        try:
            resolved = self.providers().resolve_all(self.raw)
        except ConfigError as error:
            raise ConfigErrors([self.located(error)]) from error
        defaults = {} if self.is_distributed else _STANDALONE
        properties = {"bootstrap.servers": "localhost:9092", **defaults, **resolved}
        values, mistakes = parse_all(WORKER_AND_POLICY, properties)
        try:
            object.__setattr__(self, "rest", read_rest(properties))
        except ConfigErrors as errors:
            mistakes += errors.problems
        mistakes += [problem for _, problem in _unobeyed(self.raw, resolved, Support.REFUSED)]
        if mistakes := [*mistakes, *_no_servers(properties)]:
            raise ConfigErrors(sorted(map(self.located, mistakes), key=by_line))
        object.__setattr__(self, "properties", properties)
        object.__setattr__(self, "parsed", Parsed(values=values, properties=properties))

    @classmethod
    def of(cls, file: PropertiesFile, *, is_distributed: bool) -> WorkerConfig:
        """The configuration that a parsed file holds."""
        return cls(raw=file.values, lines=file.lines, is_distributed=is_distributed)

    @property
    def group_id(self) -> str:
        """Names the workers that share connectors."""
        return self.parsed.text("group.id")

    def providers(self) -> Providers:
        """What ``config.providers`` lists; connectors' expressions are resolved by them, too."""
        names = split_list(self.raw.get("config.providers", ""))
        shown = open_expressions(self.raw, is_open_in_worker)
        return listed_providers(names, self.raw, self.environment).showing(shown)

    def warnings(self) -> list[str]:
        """A sentence for each key that nobody reads, or that has no effect."""
        found = [problem for _, problem in _unobeyed(self.raw, self.properties, Support.NO_EFFECT)]
        return [str(self.located(each)) for each in (*unread_keys(self.raw, worker_advice), *found)]

    def located(self, error: ConfigError) -> ConfigError:
        """The same mistake with the line of its key, and without resolved values."""
        return as_written(with_line(error, self.lines), self.raw)


def _unobeyed(
    raw: Mapping[str, str], resolved: Mapping[str, str], support: Support
) -> Iterator[tuple[Support, ConfigError]]:
    """What is to be said of a worker's keys; of its converters each connector may say otherwise."""
    settings = {
        key: Setting(value, key, TOP_LEVEL)
        for key, value in raw.items()
        if not key.endswith(".converter")
    }
    found = unobeyed(settings, resolved, raw, of_worker=True)
    return ((each, problem) for each, problem in found if each is support)


def _no_servers(properties: Mapping[str, str]) -> list[ConfigError]:
    key = "bootstrap.servers"
    if any(split_list(properties[key])):
        return []
    return [ConfigError(f"{key} is empty: write {key} = host:port", key=key)]


def is_same_cluster(one: str, other: str) -> bool:
    """
    Whether the lists have a server in common: no server is in two clusters.

    Lists of one cluster without a common server are not recognized; only the clusters can tell.
    """
    return one.strip() == other.strip() or bool(_servers(one) & _servers(other))


def _servers(text: str) -> set[str]:
    return {_server(each) for each in split_list(text) if each}


def _server(text: str) -> str:
    """Host and port as they are compared: without a protocol, this machine by one name."""
    host, _, port = text.lower().rpartition("://")[2].rpartition(":")
    host = host.rstrip(".")
    return f"{'localhost' if host in _HERE else host}:{port}"
