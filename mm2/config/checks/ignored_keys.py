"""Finds what the user sets and is not obeyed: which row of the tables each setting belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mm2.config.keys.definition import Definition, Key, Support
from mm2.config.keys.key_table import (
    CONNECTOR_NAMES,
    MAKER_KEYS,
    PREFIXES,
    SQL_NAMES,
    TABLE,
    nearest_of_sql,
)
from mm2.config.keys.keys_clients import CLIENT_KINDS, CLIENT_ROWS, ClientKind
from mm2.config.keys.keys_mm2 import ARROW_FUNCTION, DEAD_LETTER_TOPIC, HANDLER, SQL
from mm2.config.layers import TOP_LEVEL, WORKER_LEVEL, Setting
from mm2.config.text.redact import shown
from mm2.config.transforms.chain_reading import is_of_transforms
from mm2.errors import ConfigError

_CLUSTERS: Final = ("source.cluster.", "target.cluster.")
_CLIENTS: Final[tuple[tuple[str, ClientKind], ...]] = tuple(
    (f"{prefix}{kind}.", kind) for kind in CLIENT_KINDS for prefix in ("", "source.", "target.")
)
_TOLERANCE: Final = "errors.tolerance"
_SQL_TOPICS: Final = f"{SQL}topics"
_NEEDS: Final = {
    "message.handler.args": (HANDLER,),
    "message.handler.topics": (HANDLER,),
    "arrow.function.args": (ARROW_FUNCTION,),
    "arrow.function.topics": (ARROW_FUNCTION,),
    _SQL_TOPICS: tuple(sorted(SQL_NAMES - {_SQL_TOPICS})),
    DEAD_LETTER_TOPIC: (_TOLERANCE,),
    "errors.deadletterqueue.context.headers.enable": (DEAD_LETTER_TOPIC,),
    "errors.deadletterqueue.topic.replication.factor": (DEAD_LETTER_TOPIC,),
}
"""Keys that say how something is done, and of what one at least has to be set."""

_OF_WORKER: Final = frozenset({Definition.WORKER})


def unobeyed(
    settings: Mapping[str, Setting],
    properties: Mapping[str, str],
    raw: Mapping[str, str],
    *,
    of_worker: bool = False,
) -> Iterator[tuple[Support, ConfigError]]:
    """
    What is to be said of each setting that asks for something which is not done.

    ``properties`` are their values, resolved; ``raw`` is all that the user has written.
    """
    for name, setting in settings.items():
        row = None if is_of_transforms(name, properties) else row_of(name, of_worker=of_worker)
        if name in _NEEDS and row is not None:
            yield from _useless(name, setting, properties, raw)
        if setting.key is None or row is None:
            continue
        if setting.level == WORKER_LEVEL and row.support is Support.NO_EFFECT:
            continue  # a Connect worker says so itself, once
        if row.asks_in_vain(properties.get(name, setting.value)):
            near = nearest_of_sql(name)
            suggestion = near and f"{setting.key.removesuffix(name)}{near}"
            written = raw.get(setting.key, setting.value)
            yield row.support, _complaint(row, setting.key, written, suggestion)


def _useless(
    name: str, setting: Setting, properties: Mapping[str, str], raw: Mapping[str, str]
) -> Iterator[tuple[Support, ConfigError]]:
    """What is to be said of a key that says how something is done which nobody asks for."""
    needed = _NEEDS[name]
    if properties.get(name, "").strip().lower() == "false":
        return  # asks for nothing
    # At top level it may be meant for other flows.
    ends = tuple(f".{each}" for each in needed if setting.level == TOP_LEVEL)
    if (
        setting.key is not None
        and not any(_asks(each, properties) or _asks(each, raw) for each in needed)
        and not any(key.endswith(ends) for key in raw)
    ):
        written = raw.get(setting.key, setting.value)
        choice = f"{needed[-1]}{' or another expression' if needed[1:] else ''}"
        choice = f"{choice} = all" if choice == _TOLERANCE else choice
        message = f"{setting.key} = {written}: no effect: set {choice}, or remove the key"
        yield Support.NO_EFFECT, ConfigError(message, key=setting.key, value=written)


def _asks(name: str, values: Mapping[str, str]) -> bool:
    """Whether a key is set, and so that what needs it is done."""
    value = values.get(name, "").strip()
    return value == "all" if name == _TOLERANCE else bool(value)


def unobeyed_by_process(raw: Mapping[str, str]) -> Iterator[tuple[Support, ConfigError]]:
    """The same for the keys at top level that do not reach the connectors, as written."""
    names = raw.keys() & MAKER_KEYS.keys() - CONNECTOR_NAMES
    settings = {name: Setting(raw[name], name, TOP_LEVEL) for name in sorted(names)}
    return unobeyed(settings, raw, raw)


def row_of(name: str, *, of_worker: bool) -> Key | None:
    """The row of a key as a worker's or a connector's configuration has it, prefixes included."""
    of_flow = not of_worker and not name.startswith(_CLUSTERS)
    if not of_flow and not of_worker:
        name = name.split(".", 2)[2]
        if name.endswith(".converter"):
            return None  # it counts for the worker, and is told there
    row = TABLE.get(name)
    if row is None:
        # A cluster that has them is told so where all keys of the file are looked at.
        prefixes = PREFIXES if of_flow else ()
        return _of_client(name) or next((k for k in prefixes if name.startswith(k.name)), None)
    # A worker's key that stands elsewhere is told to be misplaced.
    return row if of_worker or row.definitions != _OF_WORKER else None


def _of_client(name: str) -> Key | None:
    for prefix, kind in _CLIENTS:
        if name.startswith(prefix):
            below = name.removeprefix(prefix).removeprefix("override.")
            # What the group of a sink's consumer is called is read by tools, and obeyed.
            if name.endswith("override.group.id"):
                return None
            row = CLIENT_ROWS[kind].get(below) or TABLE.get(below)
            return row if row is None or row.definitions != _OF_WORKER else None
    return None


def _complaint(row: Key, key: str, value: str, suggestion: str | None = None) -> ConfigError:
    text = shown(key, value)
    start = "no effect: " if row.support is Support.NO_EFFECT else ""
    message = f"{key} = {text}: {start}{row.reason}{'.' if suggestion else ''}"
    return ConfigError(message, key=key, value=text, suggestion=suggestion)
