"""
The connectors' classes as Connect shows them: their definitions, and how a configuration fits them.

Made from the one table of keys, so that what clients are shown is what a start checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mm2.config.checks.long_values import READ_FROM_FILE, too_long
from mm2.config.connector_reading import checkpoint_refusals, parse_connector, source_refusals
from mm2.config.keys.definition import Definition, Key
from mm2.config.keys.key_table import CONNECTOR_DEFINITION, keys_of
from mm2.config.keys.key_types import Type, Value
from mm2.config.keys.keys_mm2 import OWN_KEYS
from mm2.config.text.redact import HIDDEN, shown
from mm2.core.model import CHECKPOINT_CONNECTOR, SOURCE_CONNECTOR
from mm2.errors import ConfigError
from mm2.rest.connector_protocol import ConnectorType
from mm2.rest.rest_errors import bad_request, not_found

API_VERSION: Final = "4.3.0"
"""The release of Kafka Connect whose interface this is; clients derive from it what there is."""

_PACKAGE: Final = "org.apache.kafka.connect.mirror."
_SUFFIX: Final = "Connector"
_CLASS_KEY: Final = "connector.class"

Check = Callable[[Mapping[str, str]], Iterable[ConfigError]]
"""Says what is wrong with a configuration, each mistake with the key that it is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorPlugin:
    """
    One class of connectors.

    Attributes:
        class_name: in full, Java's.
    """

    class_name: str
    type: ConnectorType
    keys: Sequence[Key]
    check: Check

    def document(self) -> dict[str, str]:
        """The entry of ``GET /connector-plugins``."""
        return {"class": self.class_name, "type": self.type.value, "version": API_VERSION}

    def definitions(self) -> list[dict[str, object]]:
        """The answer of ``GET /connector-plugins/{plugin}/config``."""
        return [_definition(key) for key in self.keys]

    def validated(self, config: Mapping[str, str]) -> dict[str, object]:
        """
        The answer of ``PUT /connector-plugins/{plugin}/config/validate``: every mistake.

        Values that are too long are not looked at any further.
        """
        errors: dict[str, list[str]] = {}
        long = too_long(config, READ_FROM_FILE)
        for mistake in list(long.values()) or self.check(config):
            errors.setdefault(mistake.key or _CLASS_KEY, []).append(mistake.message)
        names = {key.name for key in self.keys}
        strangers = [
            {"definition": None, "value": _value(name, config.get(name), errors[name])}
            for name in errors
            if name not in names
        ]
        known = [
            {
                "definition": _definition(key),
                "value": _value(key.name, _effective(key, config), errors.get(key.name, [])),
            }
            for key in self.keys
        ]
        return {
            "name": self.class_name,
            "error_count": sum(map(len, errors.values())),
            "groups": [],
            "configs": [*strangers, *known],
        }


@dataclass(frozen=True, slots=True)
class Plugins:
    """
    Finds classes by the names that Connect allows: in full, simple, or without "Connector".

    Attributes:
        resolves: whether checks look up what expressions in configurations stand for, so that who
            may change nothing is not to ask.
    """

    all: Sequence[ConnectorPlugin]
    resolves: bool = False

    def named(self, name: str) -> ConnectorPlugin:
        """
        The class of a name.

        Raises:
            RestError: there is none.
        """
        for plugin in self.all:
            simple = plugin.class_name.rpartition(".")[2]
            if name in {plugin.class_name, simple, simple.removesuffix(_SUFFIX)}:
                return plugin
        raise not_found(f"Unknown plugin {name}.")

    def validated(self, name: str, config: Mapping[str, str]) -> dict[str, object]:
        """
        How a configuration fits a class.

        Raises:
            RestError: there is no such class, or the configuration names another one.
        """
        plugin = self.named(name)
        written = config.get(_CLASS_KEY)
        if written is None:
            message = f"Connector config contains no connector type: {_CLASS_KEY} is missing"
            raise bad_request(message)
        if not written.removesuffix(_SUFFIX).endswith(name.removesuffix(_SUFFIX)):
            message = f"Included connector type {written} does not match request type {name}"
            raise bad_request(message)
        return plugin.validated(config)


def _definition(key: Key) -> dict[str, object]:
    return {
        "name": key.name,
        # Clients of Connect know the types of Kafka alone.
        "type": "STRING" if key.type is Type.SIZE else key.type.name,
        "required": key.required,
        "default_value": key.default,
        "importance": key.importance,
        "documentation": key.doc,
        "group": None,
        "order": -1,
        "width": "NONE",
        "display_name": key.name,
        "dependents": [],
    }


def _effective(key: Key, config: Mapping[str, str]) -> str | None:
    """The value that counts, as Connect writes it; None if it cannot be read."""
    written = config.get(key.name)
    if written is None:
        return key.default
    if key.type is Type.PASSWORD:
        return HIDDEN
    try:
        value = key.parse(written)
    except ConfigError:
        return None
    return key.word if key.word and value is None else _text(value)


def _text(value: Value) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case tuple():
            return ",".join(value)
        case _:
            return str(value)


def _value(name: str, value: str | None, errors: Sequence[str]) -> dict[str, object]:
    return {
        "name": name,
        "value": None if value is None else shown(name, value),
        "recommended_values": [],
        "errors": list(errors),
        "visible": True,
    }


def _checked(connector: str, definition: Definition) -> Check:
    def check(config: Mapping[str, str]) -> Iterable[ConfigError]:
        yield from parse_connector(definition, config)[1]
        refusals: Sequence[str] = ()
        if connector == SOURCE_CONNECTOR:
            refusals = source_refusals(config)
        elif connector == CHECKPOINT_CONNECTOR:
            refusals = checkpoint_refusals(config)
        for refusal in refusals:
            yield ConfigError(refusal, key=_CLASS_KEY)

    return check


def _plugin(connector: str, definition: Definition) -> ConnectorPlugin:
    own = [key for key in OWN_KEYS if definition in key.definitions]
    return ConnectorPlugin(
        class_name=_PACKAGE + connector,
        type=ConnectorType.SOURCE,
        keys=(*keys_of(definition).values(), *own),
        check=_checked(connector, definition),
    )


MIRROR_PLUGINS: Final = tuple(
    _plugin(connector, definition) for connector, definition in CONNECTOR_DEFINITION.items()
)
"""The three connectors of MirrorMaker."""
