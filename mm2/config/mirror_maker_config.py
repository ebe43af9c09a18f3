"""
What one properties file means for all its flows: Java's ``MirrorMakerConfig``, value for value.

Every map is computed from layers, the later over the earlier, and each value remembers which key of
the file it comes from, so that ``mm2 config explain`` shows what really happened. The plain maps
hold exactly what Java's hold: texts as written, expressions resolved only where Java resolves them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from mm2.config.checks.key_lint import is_open
from mm2.config.keys.definition import Definition, by_line, parse_all
from mm2.config.keys.key_table import CLIENT_NAMES, CONNECTOR_NAMES, MAKER_KEYS, TABLE, keys_of
from mm2.config.keys.key_types import Value, lenient_boolean, split_list
from mm2.config.keys.keys_clients import CLIENT_KINDS
from mm2.config.layers import (
    TOP_LEVEL,
    KeyIndex,
    Place,
    Setting,
    filled,
    plain,
    with_line,
    with_role,
)
from mm2.config.text.expressions import open_expressions
from mm2.config.text.properties import PropertiesFile, load
from mm2.config.text.providers import Providers, automatic_providers, listed_providers
from mm2.config.text.redact import as_written
from mm2.core.flow_names import FlowNames, dedicated_names
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.errors import ConfigError, ConfigErrors

_JAVA_PACKAGE: Final = "org.apache.kafka.connect.mirror."
_BYTES_CONVERTER: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_WORKER_PREFIXES: Final = (
    "offset.storage",
    "config.storage",
    "status.storage",
    "key.converter",
    "value.converter",
    "header.converter",
    "task",
    "worker",
    "replication.policy",
)


@dataclass(frozen=True, kw_only=True)
class MirrorMakerConfig:
    """
    The configuration of one properties file.

    Construction fails where Java's constructor fails, but names all mistakes and not the first
    only.

    Args:
        environment: variables for the environment provider; those of the process by default.
        answers: what config providers said when the file was read. It counts while they say
            nothing: a secret may be missing while it is renewed.

    Raises:
        ConfigErrors: Java would reject the file.
    """

    raw: Mapping[str, str]
    lines: Mapping[str, int] = field(default_factory=dict)
    environment: Mapping[str, str] | None = None
    answers: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    originals: Mapping[str, str] = field(init=False)
    """All keys, expressions resolved by the automatic providers (C061)."""
    parsed: Mapping[str, Value] = field(init=False)
    """The keys of Java's top-level definition, typed."""

    def __post_init__(self) -> None:
        try:
            providers = automatic_providers(self.raw, self.environment)
            resolved = providers.showing(self._shown, self.answers).resolve_all(self.raw)
        except ConfigError as error:
            raise ConfigErrors([self.located(error)]) from error
        object.__setattr__(self, "originals", resolved)
        parsed, mistakes = parse_all(MAKER_KEYS, resolved)
        mistakes += _plugin_discovery_mistakes(resolved)
        if mistakes:
            raise ConfigErrors(sorted(map(self.located, mistakes), key=by_line))
        object.__setattr__(self, "parsed", parsed)

    @classmethod
    def of(
        cls, file: PropertiesFile, environment: Mapping[str, str] | None = None
    ) -> MirrorMakerConfig:
        """The configuration that a parsed file holds."""
        return cls(raw=file.values, lines=file.lines, environment=environment)

    @property
    def clusters(self) -> tuple[ClusterAlias, ...]:
        """The aliases of ``clusters``, each once, in their order (C006)."""
        return tuple(ClusterAlias(alias) for alias in self._list("clusters"))

    def cluster_pairs(self) -> list[SourceAndTarget]:
        """
        The flows that exist: enabled ones, and those that heartbeats are on for (C012-C019).

        Java's order is that of a hash set; ours is that of ``clusters``.
        """
        by_default = lenient_boolean(self.originals.get("emit.heartbeats.enabled", "true"))
        pairs = (SourceAndTarget(s, t) for s in self.clusters for t in self.clusters if s != t)
        return [flow for flow in pairs if self._exists(flow, heartbeats=by_default)]

    def is_enabled(self, flow: SourceAndTarget) -> bool:
        """Whether the file switches a flow on, which need not exist otherwise (C012)."""
        known = {flow.source, flow.target} <= set(self.clusters)
        return known and lenient_boolean(self.originals.get(f"{flow}.enabled"))

    def cluster_props(self, alias: str) -> dict[str, str]:
        """A cluster's keys, with the client names it inherits and hands down, as written (C021)."""
        return plain(self.cluster_settings(alias))

    def client_config(self, alias: str) -> dict[str, str]:
        """
        The configuration for clients of one cluster (C026, C455), resolved.

        Raises:
            ConfigErrors: ``bootstrap.servers`` is missing, or a client key has a wrong value.
        """
        config = self.resolve({**self.originals, **self.cluster_props(alias)})
        mistakes = parse_all(keys_of(Definition.CLIENT), config)[1]
        if mistakes:
            raise ConfigErrors([self.located(_of_cluster(alias, mistake)) for mistake in mistakes])
        return config

    def worker_config(self, flow: SourceAndTarget) -> dict[str, str]:
        """Java's ``workerConfig``: settings of the flow's worker, resolved (C035-C043)."""
        return plain(self.worker_settings(flow))

    def connector_base_config(self, flow: SourceAndTarget, connector: str) -> dict[str, str]:
        """Java's ``connectorBaseConfig`` for a connector's simple name, unresolved (C044-C058)."""
        return plain(self.connector_settings(flow, connector))

    def keys_with_prefix(self, prefix: str) -> list[str]:
        """The keys that begin with ``prefix``, in the order of the file."""
        return self._keys.keys_with_prefix(prefix)

    @cached_property
    def _keys(self) -> KeyIndex:
        return KeyIndex(self.raw)

    def cluster_settings(self, alias: str) -> dict[str, Setting]:
        """The layers of ``cluster_props``, with origins."""
        settings = self._keys.below(f"{alias}.", f"cluster {alias}")
        for name in sorted(CLIENT_NAMES & settings.keys()):
            for kind in CLIENT_KINDS:
                settings.setdefault(f"{kind}.{name}", settings[name])
        for name in sorted(CLIENT_NAMES & self.raw.keys()):
            inherited = Setting(self.raw[name], name, TOP_LEVEL)
            for kind in CLIENT_KINDS:
                settings.setdefault(f"{kind}.{name}", inherited)
            settings.setdefault(name, inherited)
        return settings

    def worker_settings(self, flow: SourceAndTarget) -> dict[str, Setting]:
        """The layers of ``worker_config``, with origins."""
        settings = self.cluster_settings(flow.target)
        for prefix in _WORKER_PREFIXES:
            settings |= self._keys.at_top(prefix)
        resolved = self.resolve(plain(settings))
        settings = {key: replace(setting, value=resolved[key]) for key, setting in settings.items()}
        settings |= self._keys.at_top("config.providers")
        defaults = {
            "client.id": str(flow),
            "group.id": f"{flow.source}-mm2",
            "offset.storage.topic": f"mm2-offsets.{flow.source}.internal",
            "status.storage.topic": f"mm2-status.{flow.source}.internal",
            "config.storage.topic": f"mm2-configs.{flow.source}.internal",
            "key.converter": _BYTES_CONVERTER,
            "value.converter": _BYTES_CONVERTER,
            "header.converter": _BYTES_CONVERTER,
        }
        return filled(settings, defaults)

    def connector_settings(self, flow: SourceAndTarget, connector: str) -> dict[str, Setting]:
        """The layers of ``connector_base_config``, with origins."""
        settings = self.inherited_settings(flow, connector)
        settings |= self._keys.below(f"{flow}.", f"flow {flow}")
        return filled(settings, {"enabled": "false"})

    def inherited_settings(self, flow: SourceAndTarget, connector: str) -> dict[str, Setting]:
        """What of it the clusters and the top level hand down."""
        settings = dict(self._of_all_connectors)
        for role, alias in (("source", flow.source), ("target", flow.target)):
            settings |= with_role(role, self.cluster_settings(alias))
        defaults = {
            "name": connector,
            "connector.class": _JAVA_PACKAGE + connector,
            "source.cluster.alias": flow.source,
            "target.cluster.alias": flow.target,
        }
        return filled(settings, defaults)

    def resolve(self, properties: Mapping[str, str]) -> dict[str, str]:
        """
        Resolves expressions as a worker does, with all of ``config.providers`` (C037, C062).

        Raises:
            ConfigErrors: a provider does not exist or fails.
        """
        try:
            return self._providers().resolve_all(properties)
        except ConfigError as error:
            raise ConfigErrors([self.located(error)]) from error

    def unanswered(self, text: str) -> str | None:
        """The first expression in a text that its provider has no value for."""
        return self._providers().unanswered(text)

    def needs(self, place: Place) -> bool:
        """Whether anything of a flow talks to that cluster: something does to both."""
        del place
        return True

    def written(self, flow: SourceAndTarget, place: Place, name: str) -> str:
        """How the user would write a key of the worker or of one of the clusters."""
        return f"{flow.source if place == 'source' else flow.target}.{name}"

    def flow_names(self, flow: SourceAndTarget, group_id: str) -> FlowNames:
        """What the flow calls its own topics and groups: as Java's MirrorMaker would."""
        return dedicated_names(flow, group_id=group_id)

    def located(self, error: ConfigError) -> ConfigError:
        """The same mistake with the line of its key, and without resolved values."""
        return as_written(with_line(error, self.lines), self.raw)

    def _providers(self) -> Providers:
        names = self._list("config.providers")
        found = listed_providers(names, self.originals, self.environment)
        return found.showing(self._shown, self.answers)

    @cached_property
    def _of_all_connectors(self) -> dict[str, Setting]:
        settings = {
            key: Setting(value, key, TOP_LEVEL)
            for key, value in self.raw.items()
            if key in CONNECTOR_NAMES
        }
        settings |= self._keys.at_top("config.providers")
        return settings | self._keys.at_top("replication.policy")

    @cached_property
    def _shown(self) -> frozenset[str]:
        clusters = split_list(self.raw.get("clusters", ""))
        return open_expressions(self.raw, lambda key: is_open(key, clusters))

    def _list(self, name: str) -> tuple[str, ...]:
        value = self.parsed[name]
        return value if isinstance(value, tuple) else ()

    def _exists(self, flow: SourceAndTarget, *, heartbeats: bool) -> bool:
        beats = self.originals.get(f"{flow}.emit.heartbeats.enabled")
        return self.is_enabled(flow) or (heartbeats if beats is None else lenient_boolean(beats))


def load_maker(path: Path) -> MirrorMakerConfig:
    """
    The configuration that the file at ``path`` holds.

    Raises:
        ConfigErrors: the file cannot be read, or Java would reject it.
    """
    try:
        file = load(path)
    except ConfigError as error:
        raise ConfigErrors([error]) from error
    return MirrorMakerConfig.of(file)


def _of_cluster(alias: str, mistake: ConfigError) -> ConfigError:
    key = f"{alias}.{mistake.key}"
    return ConfigError(f"cluster {alias}: {mistake.message}", key=key, value=mistake.value)


def _plugin_discovery_mistakes(properties: Mapping[str, str]) -> list[ConfigError]:
    """Reads the one key that Java's constructor reads in looking for plug-ins."""
    key = TABLE["plugin.discovery"]
    return parse_all({key.name: key}, properties)[1]
