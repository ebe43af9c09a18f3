"""
The user's own classes, named in the configuration by their Python import path.

Kafka loads policies and filters by class name. Java's own names stand for our own classes, so that
a configuration written for Java keeps its meaning; any other name is imported from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import new_class
from typing import Final, ParamSpec, TypeVar, cast

from mm2.errors import ConfigError
from mm2.foreign import LOADED_WITHIN_S, ForeignError, foreign

JAVA_PACKAGE: Final = "org.apache.kafka.connect.mirror."
"""Package of Java's policies and filters."""


class Plugin:
    """What classes that users may replace have in common; they are created without arguments."""

    def configure(self, properties: Mapping[str, str]) -> None:
        """Takes what it needs from all properties of the connector; keys may be absent (C097)."""

    def close(self) -> None:
        """Gives back what it holds; called once, when the connector stops (C097)."""


_A = ParamSpec("_A")
_P = TypeVar("_P", bound=Plugin)


def build(
    properties: Mapping[str, str], *, key: str, kind: type[_P], known: Mapping[str, type[_P]]
) -> _P:
    """
    Creates the object of the class that the properties name, and configures it with all of them.

    A class of the user's own runs in a thread of its own: whatever it raises, in whatever call, is
    a ``ConfigError``, and so is that it does not answer in time (``mm2.foreign``).

    Args:
        properties: of a connector.
        key: names the class: by Java's name in full, by its last part alone, or by a Python import
            path, written ``package.module:Class`` or ``package.module.Class``.
        kind: what the class must extend.
        known: our own classes by the last part of their Java names; the first is the default.

    Raises:
        ConfigError: the class cannot be found, created without arguments or configured, or does
            not extend ``kind``.
    """
    path = properties.get(key, next(iter(known))).strip()
    ours = known.get(path.removeprefix(JAVA_PACKAGE))
    plugin = ours() if ours is not None else _foreign_plugin(path, key, kind)
    plugin.configure(properties)
    return plugin


def _foreign_plugin(path: str, key: str, kind: type[_P]) -> _P:
    thread = foreign(path)

    def load() -> type[_P]:
        found = _import(path, key)
        if not issubclass(found, kind):
            name = f"{found.__module__}:{found.__qualname__}"
            reason = f"does not extend {kind.__module__}.{kind.__qualname__}"
            raise _rejected(key, name, reason)
        return _guarded(found, path, key)

    try:
        guarded = thread.call(load, within_s=LOADED_WITHIN_S)
    except ForeignError as problem:
        raise _rejected(key, path, f"cannot be imported: {problem}") from problem
    try:
        return thread.call(guarded, within_s=LOADED_WITHIN_S)
    except ForeignError as problem:
        reason = f"cannot be created without arguments: {problem}"
        raise _rejected(key, path, reason) from problem


def _import(path: str, key: str) -> type[object]:
    module, separator, attribute = path.partition(":")
    if not separator:
        module, _, attribute = path.rpartition(".")
    if not module or not attribute:
        raise _rejected(key, path, "is not an import path such as 'package.module:Class'")
    found: object = getattr(import_module(module), attribute)
    if not isinstance(found, type):
        raise _rejected(key, path, "is not a class")
    return found


def _guarded(found: type[_P], path: str, key: str) -> type[_P]:
    """The same class, of which everything that we ask runs in its thread."""
    methods = {
        name: _guarded_method(method, path, key)
        for name in _asked(found)
        if not getattr(method := getattr(found, name), "__isabstractmethod__", False)
    }
    space = {**methods, "__module__": found.__module__}
    return cast(
        "type[_P]", new_class(found.__name__, (found,), exec_body=lambda x: x.update(space))
    )


def _asked(found: type[Plugin]) -> set[str]:
    """The methods of a plug-in that others call: those that its base classes of ours have."""
    ours = [each for each in found.__mro__ if each.__module__.startswith("mm2.core.")]
    return {
        name
        for each in ours
        for name, value in vars(each).items()
        if callable(value) and not name.startswith("_")
    }


def _guarded_method(method: Callable[_A, object], path: str, key: str) -> Callable[_A, object]:
    def ask(*arguments: _A.args, **named: _A.kwargs) -> object:
        try:
            return foreign(path).call(lambda: _plain(method(*arguments, **named)))
        except ForeignError as problem:
            reason = f"has failed in {getattr(method, '__name__', method)}: {problem}"
            raise _rejected(key, path, reason) from problem

    return ask


def _plain(answer: object) -> object:
    """A text, nothing, or whether it is true, which may be anybody's code, too."""
    return answer if answer is None or isinstance(answer, str) else bool(answer)


def _rejected(key: str, name: str, reason: str) -> ConfigError:
    return ConfigError(f"Invalid value {name} for {key}: it {reason}.", key=key, value=name)
