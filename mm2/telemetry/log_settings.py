"""What the environment says about logs: ``MM2_LOG_LEVEL`` and ``MM2_LOG_FORMAT``."""

from __future__ import annotations

import os
from typing import Final, TextIO

from mm2.errors import ConfigError

LEVEL_VARIABLE: Final = "MM2_LOG_LEVEL"
FORMAT_VARIABLE: Final = "MM2_LOG_FORMAT"
LOG_LEVELS: Final = ("debug", "info", "warning", "error", "critical")
FORMATS: Final = ("auto", "console", "json")
"""``auto`` is ``console`` on a terminal and ``json`` elsewhere."""


def log_level() -> str:
    """
    The level that a process begins with.

    Raises:
        ConfigError: the variable has another value.
    """
    return _chosen(LEVEL_VARIABLE, LOG_LEVELS, "info")


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
    return stream.isatty() and not os.environ.get("NO_COLOR")
