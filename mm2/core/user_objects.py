"""Loads what the user names by its Python import path."""

from __future__ import annotations

import importlib
from typing import Any

from mm2.errors import ConfigError
from mm2.user_code import LOADED_WITHIN_S, ForeignError, foreign


def load_callable(path: str, key: str, *, method: str) -> object:
    """
    As ``load_object``, in a thread of its own: whatever is raised there is the key's mistake.

    Args:
        method: what a class must have.

    Raises:
        ConfigError: there is none, its module cannot be imported, or that takes too long.
    """

    def load() -> object:
        found = load_object(path)
        if isinstance(found, type) and not callable(getattr(found, method, None)):
            message = f"class {path} has no method {method}"
            raise ConfigError(message, key=path, value=path)
        return found

    try:
        return foreign(path).call(load, within_s=LOADED_WITHIN_S)
    except (ForeignError, ConfigError) as problem:
        message = f"Invalid value {path} for {key}: {problem}"
        raise ConfigError(message, key=key, value=path) from problem


def load_object(path: str) -> Any:  # type: ignore[explicit-any]
    """
    The class or function under ``package.module:name`` or ``package.module.name``.

    Raises:
        ConfigError: there is none, or its module cannot be imported.
    """
    module, _, name = path.rpartition(":") if ":" in path else path.rpartition(".")
    try:
        found: Any = importlib.import_module(module)  # type: ignore[explicit-any]
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        message = f"{path} cannot be loaded: {reason}. Write package.module:name, and have"
        raise ConfigError(
            f"{message} PYTHONPATH lead to the package.", key=path, value=path
        ) from error
    if not callable(found):
        raise ConfigError(f"{path} is neither a class nor a function.", key=path, value=path)
    return found
