"""What the environment says about logs: ``MM2_LOG_LEVEL`` and ``MM2_LOG_FORMAT``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TextIO

from mm2.errors import ConfigError
from mm2.telemetry.events import EVENTS

LEVEL_VARIABLE: Final = "MM2_LOG_LEVEL"
FORMAT_VARIABLE: Final = "MM2_LOG_FORMAT"
NO_COLOUR_VARIABLE: Final = "NO_COLOR"
LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
LEVELS_METAVAR: Final = "LEVEL[,NOUN=LEVEL...]"
FORMATS: Final = ("auto", "console", "json")
"""``auto`` is ``console`` on a terminal and ``json`` elsewhere."""
NOUNS: Final = frozenset(event.partition(".")[0] for event in EVENTS)
"""What events begin with: each has a level of its own, if one is given."""

_DEFAULT: Final = "info"


@dataclass(frozen=True, slots=True)
class StartLevels:
    """
    The levels that a process begins with.

    Attributes:
        root: of all events whose noun is not among ``nouns``.
        nouns: levels by the nouns of events.
    """

    root: str
    nouns: Mapping[str, str] = field(default_factory=dict)


def parse_levels(text: str, default: str = _DEFAULT) -> StartLevels:
    """
    Reads levels such as ``warning``, ``source=debug`` or ``warning,source=debug``.

    Args:
        default: the level of events whose noun is not named, unless the text says it.

    Raises:
        ConfigError: a level or a noun that does not exist.
    """
    root, nouns = default, dict[str, str]()
    for part in filter(None, (each.strip().lower() for each in text.split(","))):
        noun, has_noun, level = part.rpartition("=")
        if level not in LOG_LEVELS:
            raise ConfigError(f"{part}: the level must be one of {', '.join(LOG_LEVELS)}")
        if has_noun and noun not in NOUNS:
            known = ", ".join(sorted(NOUNS))
            raise ConfigError(f"{part}: no event begins with {noun!r}; there are {known}")
        if has_noun:
            nouns[noun] = level
        else:
            root = level
    return StartLevels(root, nouns)


def export_log_settings(levels: str | None, format_: str | None) -> None:
    """
    Sets the variables of the environment, which tasks and a background process inherit.

    Args:
        levels: None leaves the variable as it is; so does no format.

    Raises:
        ConfigError: a variable has a value that is not allowed, whoever has set it.
    """
    for variable, value in ((LEVEL_VARIABLE, levels), (FORMAT_VARIABLE, format_)):
        if value is not None:
            os.environ[variable] = value
    start_levels()
    log_format()


def start_levels() -> StartLevels:
    """
    The levels that this process begins with.

    Raises:
        ConfigError: the variable has a level or a noun that does not exist.
    """
    try:
        return parse_levels(os.environ.get(LEVEL_VARIABLE, ""))
    except ConfigError as error:
        raise ConfigError(f"{LEVEL_VARIABLE}={error}") from None


def log_format() -> str:
    """
    The format of this process's log.

    Raises:
        ConfigError: the variable has another value.
    """
    return _chosen(FORMAT_VARIABLE, FORMATS, "auto")


def _chosen(variable: str, allowed: tuple[str, ...], default: str) -> str:
    value = os.environ.get(variable, "").strip().lower() or default
    if value not in allowed:
        message = f"{variable}={value}: it must be one of {', '.join(allowed)}"
        raise ConfigError(message)
    return value


def wants_colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal of somebody who wants colours (no-color.org)."""
    return stream.isatty() and not os.environ.get(NO_COLOUR_VARIABLE)
