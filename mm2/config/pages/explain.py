"""Tells of each effective setting where its value comes from, for ``mm2 config explain``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from mm2.config.keys.definition import Definition
from mm2.config.keys.key_aliases import canonical_key, effective_settings
from mm2.config.keys.key_table import CONNECTOR_DEFINITION, TABLE, keys_of
from mm2.config.layers import DEFAULT_LEVEL, Setting
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.redact import is_secret, shown
from mm2.core.model import CONNECTORS, SourceAndTarget

_UNSET = "default of the key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One setting: its key, its value with secrets hidden, and its origin in words."""

    key: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The settings of one part of a flow: its worker, or one of its connectors."""

    flow: str
    part: str
    lines: tuple[Line, ...]

    def only(self, text: str) -> Section:
        """The lines whose key contains ``text``."""
        return replace(self, lines=tuple(line for line in self.lines if text in line.key))

    def as_json(self) -> dict[str, str | list[dict[str, str]]]:
        """The section as plain data."""
        lines = [{"key": x.key, "value": x.value, "origin": x.origin} for x in self.lines]
        return {"flow": self.flow, "part": self.part, "settings": lines}


def explain(
    maker: MirrorMakerConfig,
    *,
    everything: bool = False,
    altered: Mapping[SourceAndTarget, MirrorMakerConfig] | None = None,
) -> list[Section]:
    """
    All flows, each with its worker and its connectors.

    Args:
        everything: also list keys that nobody has set.
        altered: of flows with settings over those of the file, the configuration with these.

    Raises:
        ConfigErrors: a provider fails.
    """
    sections: list[Section] = []
    for flow in maker.cluster_pairs():
        own = (altered or {}).get(flow, maker)
        changed = {key for key, value in own.raw.items() if maker.raw.get(key) != value}
        removed = _removed(flow, maker.raw.keys() - own.raw.keys())
        parts = {"worker": (_worker(own.worker_settings(flow)), Definition.WORKER)}
        for name in CONNECTORS:
            settings = effective_settings(own, flow, name, [])
            parts[name] = (settings, CONNECTOR_DEFINITION[name])
        for part, (settings, definition) in parts.items():
            defaults = _defaults(definition)
            more = defaults.keys() if everything else defaults.keys() & removed
            full = {key: defaults[key] for key in more} | settings
            lines = tuple(_line(own, key, full[key], changed, removed) for key in sorted(full))
            sections.append(Section(flow=str(flow), part=part, lines=lines))
    return sections


def _worker(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Our own default of the flush interval is worth seeing, as Java has another."""
    key = TABLE["offset.flush.interval.ms"]
    return {key.name: Setting(key.mm2_default or "", None, DEFAULT_LEVEL), **settings}


def _removed(flow: SourceAndTarget, keys: Collection[str]) -> set[str]:
    """What keys of a flow or its worker, which are in the file and do not count, are read as."""
    of_flow, of_worker = f"{flow}.", f"{flow.target}."
    return {
        *(
            canonical_key(key.removeprefix(of_flow)) or key
            for key in keys
            if key.startswith(of_flow)
        ),
        *(key.removeprefix(of_worker) for key in keys if key.startswith(of_worker)),
    }


def _defaults(definition: Definition) -> dict[str, Setting]:
    return {
        name: Setting("" if key.default is None else key.default, None, _UNSET)
        for name, key in keys_of(definition).items()
    }


def _line(
    maker: MirrorMakerConfig,
    key: str,
    setting: Setting,
    changed: Collection[str],
    removed: Collection[str],
) -> Line:
    gone = "altered (not set), " if key in removed else ""
    if setting.key is None:
        return Line(key=key, value=setting.value, origin=f"{gone}{setting.level}")
    line = maker.lines.get(setting.key)
    where = setting.level if line is None else f"line {line}, {setting.level}"
    where = f"altered, {setting.level}" if setting.key in changed else where
    # A value may be secret for the key that the user wrote, or for the one that it arrives at.
    secret = next((name for name in (key, setting.key) if is_secret(name)), key)
    # What a provider has put in may be secret, so the expression is shown, and not its value.
    value = setting.value if "${" not in maker.raw[setting.key] else maker.raw[setting.key]
    return Line(key=key, value=shown(secret, value), origin=f"{gone}{setting.key} ({where})")
