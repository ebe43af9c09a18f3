"""
Gives the spellings that Java 4.3 does not know their effect, without touching what Java computes.

A spelling counts on the level where it stands: beside the flow's own keys, or at top level. On one
level the key of 4.3 wins over its alias; a flow's alias wins over the top level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mm2.config.keys.key_types import java_trim
from mm2.config.keys.keys_mm2 import (
    ALIASES,
    OWN_KEYS,
    READAHEAD,
    REMOTE_ADMIN,
    RENAME_TOPICS,
    SPELLINGS,
)
from mm2.config.layers import TOP_LEVEL, FlowLayers, Setting
from mm2.core.model import SourceAndTarget

_IDENTITY: Final = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasUse:
    """
    How one spelling is read.

    Attributes:
        target: the key of 4.3 that it stands for; None if it has no effect.
        setting: the value for the target, and where it comes from.
        taken: the target is given on the same level and wins.
    """

    key: str
    target: str | None
    setting: Setting
    taken: bool = False

    @property
    def warning(self) -> str:
        """What to tell the user."""
        if self.target is None:
            return f"{self.key}: no effect; memory is bounded in bytes"
        outcome = (
            f"{self.target} is given too, and wins" if self.taken else f"read as {self.target}"
        )
        return f"{self.key}: not a key of Kafka's MirrorMaker; {outcome}"


def effective_settings(
    layers: FlowLayers, flow: SourceAndTarget, connector: str, warnings: list[str]
) -> dict[str, Setting]:
    """
    What counts for a connector, unresolved: what Java computes, and older spellings on top of it.

    Args:
        warnings: gets a sentence for every older spelling.
    """
    settings = layers.connector_settings(flow, connector)
    found = _readings(layers, flow, settings)
    warnings += [reading.warning for reading in found]
    return _own_at_top(layers.raw, _translated(settings, found))


def _readings(
    layers: FlowLayers, flow: SourceAndTarget, settings: Mapping[str, Setting]
) -> list[AliasUse]:
    """The spellings that concern a flow, in the order in which they count."""
    raw = layers.raw
    connector = settings.get("connector.class")
    is_sink = connector is not None and "Sink" in connector.value.rpartition(".")[2]
    found: list[AliasUse] = []
    for prefix, level in (("", TOP_LEVEL), (f"{flow}.", f"flow {flow}")):
        for key, target, value in _spellings(layers, prefix, is_sink=is_sink):
            taken = prefix + target in raw if prefix else target in settings
            setting = Setting(value, key, level)
            found.append(AliasUse(key=key, target=target, setting=setting, taken=taken))
        if (key := prefix + READAHEAD) in raw:
            found.append(AliasUse(key=key, target=None, setting=Setting(raw[key], key, level)))
    return found


def canonical_key(key: str) -> str | None:
    """
    The key of 4.3 that a key is read as: itself, unless it is an older spelling.

    Args:
        key: without the flow before it.

    Returns:
        None for a spelling without effect.
    """
    for each in SPELLINGS:
        if key == each.name:
            return each.stands_for
        if each.name.endswith(".") and key.startswith(each.name):
            return f"{each.stands_for}{key.removeprefix(each.name)}"
    return key


def _translated(settings: Mapping[str, Setting], found: list[AliasUse]) -> dict[str, Setting]:
    effective = {r.target: r.setting for r in found if r.target is not None and not r.taken}
    return {**settings, **effective}


def _own_at_top(raw: Mapping[str, str], settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """The settings with the top-level keys that Java drops but we honour (C426)."""
    names = (key.name for key in OWN_KEYS)
    own = {name: Setting(raw[name], name, TOP_LEVEL) for name in names if name in raw}
    return {**own, **settings}


def _spellings(layers: FlowLayers, prefix: str, *, is_sink: bool) -> Iterator[tuple[str, str, str]]:
    """Key as written, key of 4.3, and value, of every spelling that stands behind ``prefix``."""
    raw = layers.raw
    for alias in ALIASES:
        name = prefix + alias.name
        target = alias.stands_for or ""
        if is_sink and alias.name == REMOTE_ADMIN:
            target = "target.admin."
        for key in _written(layers, name):
            yield key, target + key.removeprefix(name), raw[key]
    key = prefix + RENAME_TOPICS
    if java_trim(raw.get(key, "")).lower() == "false":
        yield key, "replication.policy.class", _IDENTITY


def _written(layers: FlowLayers, name: str) -> Sequence[str]:
    """The keys that a spelling with what is before it stands for."""
    if name.endswith("."):
        return layers.keys_with_prefix(name)
    return [name] if name in layers.raw else []
