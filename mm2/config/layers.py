"""
Layers of settings: each value remembers which key of the file it comes from.

Maps of settings are merged as Java merges maps, the later over the earlier.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from mm2.config.keys.keys_mm2 import SPARK_PREFIX
from mm2.config.text.providers import automatic_providers
from mm2.core.flow_names import FlowNames
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.errors import ConfigError

TOP_LEVEL: Final = "top level"
DEFAULT_LEVEL: Final = "default"
WORKER_LEVEL: Final = "worker"
CONNECTOR_LEVEL: Final = "connector"
# Java asks String.matches("^consumer.*|..."), whose dot stops at line ends (C047).
_CLIENT_KEY: Final = re.compile(r"(?:consumer|producer|admin)[^\n\r\u0085\u2028\u2029]*")


@dataclass(frozen=True, slots=True)
class Setting:
    """
    One effective value and where it comes from.

    Attributes:
        key: the key as written in the file; None for a default.
        level: top level, cluster or flow, a Connect worker; or that it is a default.
    """

    value: str
    key: str | None
    level: str


Place: TypeAlias = Literal["source", "target", "worker"]
"""What a key is about."""


class FlowLayers(Protocol):
    """
    Where the settings of a flow come from.

    A file of dedicated nodes, or a connector's configuration and its worker's.
    """

    @property
    def raw(self) -> Mapping[str, str]:
        """All that the user has written, by its keys."""

    @property
    def environment(self) -> Mapping[str, str] | None:
        """Variables for the environment provider; None: those of the process."""

    @property
    def clusters(self) -> tuple[ClusterAlias, ...]:
        """The aliases of all clusters."""

    def keys_with_prefix(self, prefix: str) -> Sequence[str]:
        """The keys of ``raw`` that begin with ``prefix``, in their order."""

    def cluster_settings(self, alias: str) -> dict[str, Setting]:
        """What is written of one cluster."""

    def worker_settings(self, flow: SourceAndTarget) -> dict[str, Setting]:
        """The configuration of the flow's worker, resolved."""

    def connector_settings(self, flow: SourceAndTarget, connector: str) -> dict[str, Setting]:
        """The configuration of a connector by its simple name, unresolved."""

    def inherited_settings(self, flow: SourceAndTarget, connector: str) -> dict[str, Setting]:
        """What of it others hand down, as it is where the connector itself says nothing."""

    def resolve(self, properties: Mapping[str, str]) -> dict[str, str]:
        """Replaces expressions by what the configured providers say."""

    def unanswered(self, text: str) -> str | None:
        """The first expression in a text that its provider has no value for."""

    def located(self, error: ConfigError) -> ConfigError:
        """The same mistake with the line of its key."""

    def needs(self, place: Place) -> bool:
        """Whether anything of the flow talks to that cluster."""

    def written(self, flow: SourceAndTarget, place: Place, name: str) -> str:
        """How the user would write a key of the worker or of one of the clusters."""

    def flow_names(self, flow: SourceAndTarget, group_id: str) -> FlowNames:
        """What the flow calls its own topics and groups."""


class KeyIndex:
    """Finds keys by what they begin with: files of many flows have thousands."""

    def __init__(self, raw: Mapping[str, str]) -> None:
        self._raw = raw
        self._sorted = sorted((key, place) for place, key in enumerate(raw))

    def keys_with_prefix(self, prefix: str) -> list[str]:
        """The keys that begin with ``prefix``, in the order of the file."""
        first = last = bisect_left(self._sorted, (prefix,))
        while last < len(self._sorted) and self._sorted[last][0].startswith(prefix):
            last += 1
        return [key for key, _ in sorted(self._sorted[first:last], key=lambda each: each[1])]

    def below(self, prefix: str, level: str) -> dict[str, Setting]:
        """The settings below ``prefix``, which is removed."""
        return {
            key.removeprefix(prefix): Setting(self._raw[key], key, level)
            for key in self.keys_with_prefix(prefix)
            if key != prefix
        }

    def at_top(self, prefix: str) -> dict[str, Setting]:
        """The settings whose keys begin with ``prefix``, which stays."""
        return {
            key: Setting(self._raw[key], key, TOP_LEVEL) for key in self.keys_with_prefix(prefix)
        }


def plain(settings: Mapping[str, Setting]) -> dict[str, str]:
    """The values alone."""
    return {key: setting.value for key, setting in settings.items()}


def spark_properties(layers: FlowLayers) -> dict[str, str]:
    """The keys for the Spark session, resolved; none if a cluster is called "spark"."""
    if SPARK_PREFIX.rstrip(".") in layers.clusters:
        return {}
    return layers.resolve({key: layers.raw[key] for key in layers.keys_with_prefix(SPARK_PREFIX)})


def resolved(layers: FlowLayers, settings: Mapping[str, Setting]) -> dict[str, str]:
    """
    The values of a connector's settings, without expressions.

    Raises:
        ConfigError, ConfigErrors: a provider fails.
    """
    properties = layers.resolve(plain(settings))
    return automatic_providers(properties, layers.environment).resolve_all(properties)


def filled(settings: Mapping[str, Setting], defaults: Mapping[str, str]) -> dict[str, Setting]:
    """The settings, and defaults for what is absent."""
    return {key: Setting(value, None, DEFAULT_LEVEL) for key, value in defaults.items()} | dict(
        settings
    )


def with_line(error: ConfigError, lines: Mapping[str, int]) -> ConfigError:
    """The same mistake with the line of its key, if that is known."""
    if error.key is None or error.line is not None or error.key not in lines:
        return error
    return ConfigError(
        error.message,
        key=error.key,
        value=error.value,
        line=lines[error.key],
        suggestion=error.suggestion,
    )


def with_written_key(error: ConfigError, settings: Mapping[str, Setting]) -> ConfigError:
    """
    The same mistake with the keys in its message as the user has written them.

    Args:
        error: names keys as those who read them know them.
        settings: by these names, with the keys of the file.
    """
    written = {name: each.key for name, each in settings.items() if each.key not in (None, name)}
    if error.key is None or not written:
        return error
    names = "|".join(map(re.escape, sorted(written, key=len, reverse=True)))
    message = re.sub(
        rf"(?<![\w.>-])(?:{names})(?![\w-]|\.\w)",
        lambda found: written[found[0]] or "",
        error.message,
    )
    key = written.get(error.key) or error.key
    return ConfigError(message, key=key, value=error.value, suggestion=error.suggestion)


def with_role(role: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """A cluster's settings as connectors see them, below ``source.`` or ``target.`` (C046)."""
    return {
        f"{role}.{key}" if _CLIENT_KEY.fullmatch(key) else f"{role}.cluster.{key}": setting
        for key, setting in settings.items()
    }
