"""Properties files of clients: ``--command-config`` and the like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from mm2.config.text.properties import PropertiesFile, load
from mm2.config.text.providers import automatic_providers
from mm2.config.text.redact import as_written
from mm2.errors import ConfigError

PROVIDERS: Final = "config.providers"
"""What the keys begin with that say which providers there are."""


def load_client_file(path: Path) -> PropertiesFile:
    """
    Reads the file at ``path`` as Java's clients do, expressions of providers resolved.

    Raises:
        ConfigError: it cannot be read or is malformed, or a provider fails.
    """
    return resolved(load(path))


def resolved(file: PropertiesFile) -> PropertiesFile:
    """
    The file with what the expressions in its values stand for, which nobody is shown.

    Raises:
        ConfigError: a provider is not known, or fails.
    """
    try:
        values = automatic_providers(file.values).resolve_all(file.values)
    except ConfigError as error:
        found = as_written(error, file.values)
        found.line = file.lines.get(found.key or "")
        raise found from error
    return replace(file, values=values)
