"""
The user's own classes, named in the configuration by their Python import path.

Kafka loads policies and filters by class name. Java's own names stand for our own classes, so that
a configuration written for Java keeps its meaning; any other name is imported from Python.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import new_class
from typing import Final, ParamSpec, TypeVar, cast

from mm2.errors import ConfigError
from mm2.user_code import LOADED_WITHIN_S, ForeignError, Shared, foreign, wait_closed

JAVA_PACKAGE: Final = "org.apache.kafka.connect.mirror."
"""Package of Java's policies and filters."""


class Plugin:
    """What classes that users may replace have in common; they are created without arguments."""

    def configure(self, properties: Mapping[str, str]) -> None:
        """Takes what it needs from all properties of the connector; keys may be absent (C097)."""

    def close(self) -> None:
        """
        Gives back what it holds; called once, when nothing works with the configuration any more.

        As in Java, that is when the connector stops or has another configuration (C097). Nobody
        waits for it but the end of the process, and not for long.
        """


_shared: Final = Shared()
"""The objects of the user's classes. Ours hold nothing, so that everybody makes their own."""

_A = ParamSpec("_A")
_P = TypeVar("_P", bound=Plugin)


def build(
    properties: Mapping[str, str], *, key: str, kind: type[_P], known: Mapping[str, type[_P]]
) -> _P:
    """
    Creates the object of the class that the properties name, and configures it with all of them.

    Of a class of the user's own there is one object for the same properties: it is created when it
    is first asked for, and closed when nobody holds the properties any more (``hold``).

    A class of the user's own runs in a thread of its own: whatever it raises, in whatever call, is
    a ``ConfigError``, and so is that it does not answer in time (``mm2.user_code``).

    Args:
        key: names the class: by Java's name in full, by its last part alone, or by a Python import
            path, written ``package.module:Class`` or ``package.module.Class``.
        known: our own classes by the last part of their Java names; the first is the default.

    Raises:
        ConfigError: the class cannot be found, created without arguments or configured, or does
            not extend ``kind``.
    """
    path = properties.get(key, next(iter(known))).strip()
    ours = known.get(path.removeprefix(JAVA_PACKAGE))
    if ours is None:
        return _shared.get(_all(properties), key, lambda: _configured(path, key, kind, properties))
    plugin = ours()
    plugin.configure(properties)
    return plugin


def hold(properties: Mapping[str, str]) -> None:
    """Keeps the objects that these properties name, once they are created, until ``release``."""
    _shared.hold(_all(properties))


def release(properties: Mapping[str, str]) -> None:
    """
    Ends one ``hold``; after the last one, the objects are closed, each once.

    Does not wait for them: what they raise is logged.
    """
    _shared.release(_all(properties))


@contextmanager
def held(properties: Mapping[str, str]) -> Iterator[None]:
    """Holds the objects that these properties name meanwhile."""
    hold(properties)
    try:
        yield
    finally:
        release(properties)


@atexit.register
def close_all() -> None:
    """
    Closes the objects that are left when the process ends, and waits some seconds for all.

    Who ends it without the interpreter's own way out calls this before.
    """
    _shared.close()
    wait_closed()


def _all(properties: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset(properties.items())


def _configured(
    path: str, key: str, kind: type[_P], properties: Mapping[str, str]
) -> tuple[_P, Callable[[], None]]:
    """An object of the user's class, and what closes it; one that fails is closed at once."""
    plugin = _foreign_plugin(path, key, kind)

    def close() -> None:
        foreign(path).close(lambda: plugin.close())  # noqa: PLW0108 - looked up there

    try:
        plugin.configure(properties)
    except ConfigError:
        close()
        raise
    return plugin, close


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
