"""The keys that every connector has, whatever it does: Connect's ``ConnectorConfig``."""

from __future__ import annotations

from functools import partial
from typing import Final

from mm2.config.keys.definition import (
    Check,
    Definition,
    Key,
    Type,
    between,
    harmless,
    items,
    one_of,
    refused,
)

_CONNECTORS: Final = frozenset({Definition.SOURCE, Definition.CHECKPOINT, Definition.HEARTBEAT})
_PLUGINS: Final = "there are no versions of plug-ins to choose from"
_ARRIVES: Final = (
    "records are copied as bytes, unchanged: what is to be masked or left out would arrive as it"
    " is. Remove the key, or run the flow in Kafka's own MirrorMaker"
)
_CONVERTS: Final = (
    "records are copied as bytes, unchanged. Write"
    " org.apache.kafka.connect.converters.ByteArrayConverter, or remove the key"
)
_BYTES_CONVERTERS: Final = (
    "org.apache.kafka.connect.converters.ByteArrayConverter",
    "ByteArrayConverter",
    "ByteArray",
)


def connector_key(  # noqa: PLR0917 - a row of a table
    definitions: frozenset[Definition],
    name: str,
    type_: Type,
    default: str | None,
    importance: str,
    doc: str,
    *,
    check: Check | None = None,
    required: bool = False,
) -> Key:
    """A key of some of the connectors; one that names a class may name one of ours, too."""
    return Key(
        name=name,
        type=type_,
        default=default,
        importance=importance,
        doc=doc,
        definitions=definitions,
        required=required,
        check=check,
        own_class=type_ is Type.CLASS,
    )


_key: Final = partial(connector_key, _CONNECTORS)


def _converter(name: str) -> tuple[Key, Key]:
    doc = f"Connect's converter of a record's {name}; left out, it is ByteArrayConverter."
    version = "Version of that converter plug-in."
    return (
        refused(
            _key(f"{name}.converter", Type.CLASS, None, "LOW", doc), _CONVERTS, *_BYTES_CONVERTERS
        ),
        harmless(
            _key(f"{name}.converter.plugin.version", Type.STRING, None, "LOW", version), _PLUGINS
        ),
    )


CONNECT_KEYS: Final = (
    _key("name", Type.STRING, None, "HIGH", "Name of the connector; filled in.", required=True),
    _key(
        "connector.class",
        Type.STRING,
        None,
        "HIGH",
        "Java class of the connector; filled in.",
        required=True,
    ),
    harmless(
        _key("connector.plugin.version", Type.STRING, None, "MEDIUM", "Version of the plug-in."),
        _PLUGINS,
    ),
    _key(
        "tasks.max",
        Type.INT,
        "1",
        "HIGH",
        "Most parallel tasks of a connector.",
        check=between(1),
    ),
    harmless(
        _key(
            "tasks.max.enforce",
            Type.BOOLEAN,
            "true",
            "LOW",
            "Whether a connector with more tasks than that fails.",
        ),
        "there are never more tasks",
    ),
    *_converter("key"),
    *_converter("value"),
    *_converter("header"),
    refused(
        _key(
            "transforms",
            Type.LIST,
            "",
            "LOW",
            "Names of Connect transforms to apply.",
            check=items(),
        ),
        _ARRIVES,
    ),
    refused(
        _key(
            "predicates",
            Type.LIST,
            "",
            "LOW",
            "Names of the predicates that transforms use.",
            check=items(),
        ),
        _ARRIVES,
    ),
    harmless(
        _key(
            "config.action.reload",
            Type.STRING,
            "restart",
            "LOW",
            "What to do when a provider's value has expired.",
            check=one_of("none", "restart"),
        ),
        "values of Kafka's providers do not expire",
    ),
    _key(
        "errors.retry.timeout",
        Type.LONG,
        "0",
        "MEDIUM",
        "How long a refused record is sent again before it is skipped, in ms; -1: for ever.",
    ),
    _key(
        "errors.retry.delay.max.ms",
        Type.LONG,
        "60000",
        "MEDIUM",
        "After what time a partition that stopped tries again, in ms.",
    ),
    _key(
        "errors.tolerance",
        Type.STRING,
        "none",
        "MEDIUM",
        "none: a partition stops at a record that the target refuses; all: the record is skipped.",
        check=one_of("none", "all"),
    ),
    _key(
        "errors.log.enable",
        Type.BOOLEAN,
        "false",
        "MEDIUM",
        "Whether each skipped record is logged, also with a dead-letter topic.",
    ),
    _key(
        "errors.log.include.messages",
        Type.BOOLEAN,
        "false",
        "MEDIUM",
        "Whether its key and value are logged with it.",
    ),
)
