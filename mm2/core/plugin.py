"""
The user's own classes, named in the configuration by their Python import path.

Kafka loads policies and filters by class name. Java's own names stand for our own classes, so that
a configuration written for Java keeps its meaning; any other name is imported from Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from mm2.errors import ConfigError

JAVA_PACKAGE: Final = "org.apache.kafka.connect.mirror."
"""Package of Java's policies and filters."""


class Plugin:
    """What classes that users may replace have in common; they are created without arguments."""

    def configure(self, properties: Mapping[str, str]) -> None:
        """Takes what it needs from all properties of the connector; keys may be absent (C097)."""

    def close(self) -> None:
        """Gives back what it holds; called once, when the connector stops (C097)."""


def instantiate(name: str, *, key: str, known: Mapping[str, type[object]]) -> object:
    """
    Creates an object of the class that ``name`` names, with no arguments.

    Args:
        name: Java's class name in full, its last part alone, or a Python import path, written
            ``package.module:Class`` or ``package.module.Class``.
        key: the configuration key, for the message of an error.
        known: our own classes by the last part of their Java names.

    Raises:
        ConfigError: the class cannot be found, or cannot be created without arguments.
    """
    path = name.strip()
    found = known.get(path.removeprefix(JAVA_PACKAGE)) or _import(path, key)
    try:
        return found()
    except Exception as problem:
        raise _rejected(key, path, f"cannot be created without arguments: {problem!r}") from problem


def wrong_kind(instance: object, *, key: str, kind: type[object]) -> ConfigError:
    """Says that a class exists but does not extend what ``key`` asks for."""
    name = f"{type(instance).__module__}:{type(instance).__qualname__}"
    return _rejected(key, name, f"does not extend {kind.__module__}.{kind.__qualname__}")


def _import(path: str, key: str) -> type[object]:
    module, separator, attribute = path.partition(":")
    if not separator:
        module, _, attribute = path.rpartition(".")
    if not module or not attribute:
        raise _rejected(key, path, "is not an import path such as 'package.module:Class'")
    try:
        found: object = getattr(import_module(module), attribute)
    except Exception as problem:
        # Whatever the user's module raises while it is imported is a mistake in what the key names.
        raise _rejected(key, path, f"cannot be imported: {problem!r}") from problem
    if not isinstance(found, type):
        raise _rejected(key, path, "is not a class")
    return found


def _rejected(key: str, name: str, reason: str) -> ConfigError:
    return ConfigError(f"Invalid value {name} for {key}: it {reason}.", key=key, value=name)
