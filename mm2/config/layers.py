"""
Layers of settings: each value remembers which key of the file it comes from.

Maps of settings are merged as Java merges maps, the later over the earlier.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

TOP_LEVEL: Final = "top level"
DEFAULT_LEVEL: Final = "default"
# Java asks String.matches("^consumer.*|..."), whose dot stops at line ends (C047).
_CLIENT_KEY: Final = re.compile(r"(?:consumer|producer|admin)[^\n\r\u0085\u2028\u2029]*")


@dataclass(frozen=True, slots=True)
class Setting:
    """
    One effective value and where it comes from.

    Attributes:
        value: as the map holds it.
        key: the key as written in the file; None for a default.
        level: top level, cluster or flow; or that it is a default.
    """

    value: str
    key: str | None
    level: str


def below(raw: Mapping[str, str], prefix: str, level: str) -> dict[str, Setting]:
    """The keys below ``prefix``, which is removed."""
    return {
        key.removeprefix(prefix): Setting(value, key, level)
        for key, value in raw.items()
        if key.startswith(prefix) and key != prefix
    }


def at_top(raw: Mapping[str, str], prefix: str) -> dict[str, Setting]:
    """The keys that begin with ``prefix``, which stays."""
    return {k: Setting(v, k, TOP_LEVEL) for k, v in raw.items() if k.startswith(prefix)}


def plain(settings: Mapping[str, Setting]) -> dict[str, str]:
    """The values alone."""
    return {key: setting.value for key, setting in settings.items()}


def filled(settings: Mapping[str, Setting], defaults: Mapping[str, str]) -> dict[str, Setting]:
    """The settings, and defaults for what is absent."""
    return {key: Setting(value, None, DEFAULT_LEVEL) for key, value in defaults.items()} | dict(
        settings
    )


def with_role(role: str, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """A cluster's settings as connectors see them, below ``source.`` or ``target.`` (C046)."""
    return {
        f"{role}.{key}" if _CLIENT_KEY.fullmatch(key) else f"{role}.cluster.{key}": setting
        for key, setting in settings.items()
    }
