"""Which paths a config provider may read: ``allowed.paths`` (KIP-993), read as Java reads it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from mm2.errors import ConfigError


class AllowedPaths:
    """The ``allowed.paths`` of a provider that reads files; all if there is no such parameter."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        text = parameters.get("allowed.paths")
        # Java's split drops what is empty at the end.
        parts = text.rstrip(",").split(",") if text else None
        self._allowed = None if parts is None else [self._checked(part) for part in parts]

    @staticmethod
    def _checked(text: str) -> Path:
        path = _normalised(text)
        if not path.is_absolute():
            raise ConfigError(f"Path {path} of allowed.paths is not absolute")
        if not path.exists():
            raise ConfigError(f"Path {path} of allowed.paths does not exist")
        return path

    def path(self, text: str) -> Path | None:
        """
        The path to open, which is the one that was checked; None if it is not allowed.

        Where paths are restricted, ".." is removed by spelling before the check, and symbolic links
        are followed only after it, as Java's ``AllowedPaths`` does: what links within an allowed
        directory lead to is for its owner to decide.
        """
        if self._allowed is None:
            return Path(text)
        path = _normalised(text)
        return path if any(path.is_relative_to(each) for each in self._allowed) else None


def _normalised(text: str) -> Path:
    """Removes "." and ".." by spelling, as ``Path.normalize`` does, without asking the disk."""
    return Path(os.path.normpath(re.sub("//+", "/", text)))
