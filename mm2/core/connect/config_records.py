"""
What Kafka Connect's workers keep in their ``config.storage.topic``, in Connect's own format.

A worker group of Connect and ours can then take over each other's connectors. Of Connect's records
only those of connectors, their target states and their restarts mean something here; tasks are not
configured one by one, and each worker finds them by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from mm2.core.json_text import read_json
from mm2.errors import SchemaError

_CONNECTOR: Final = "connector-"
_TARGET: Final = "target-state-"
_RESTART: Final = "restart-connector-"
_BASE: Final = "mm2.base"
"""A header, of which Connect's workers know nothing: values are as they write them."""


class TargetState(StrEnum):
    """Connect's target states."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"


@dataclass(frozen=True, slots=True)
class ConnectorConfig:
    """A connector's configuration; None: it was deleted."""

    name: str
    config: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class ConnectorTarget:
    """A connector's target state; None: it has none, and runs."""

    name: str
    state: TargetState | None


@dataclass(frozen=True, slots=True)
class Restart:
    """A request to restart a connector."""

    name: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class Base:
    """
    What an entry was made from, so that it counts only as long as its connector is like that.

    Attributes:
        read: the last offset that its writer had read.
        place: how many entries were written together with it, before it.
    """

    read: int
    place: int = 0


Entry: TypeAlias = ConnectorConfig | ConnectorTarget | Restart


def encode(entry: Entry) -> tuple[bytes, bytes | None]:
    """Key and value of a record."""
    match entry:
        case ConnectorConfig(name, config):
            return _record(_CONNECTOR, name, None if config is None else {"properties": config})
        case ConnectorTarget(name, state):
            return _record(_TARGET, name, None if state is None else _states(state))
        case Restart(name, include_tasks, only_failed):
            fields = {"include-tasks": include_tasks, "only-failed": only_failed}
            return _record(_RESTART, name, fields)


def decode(key: bytes | None, value: bytes | None) -> Entry | None:
    """
    The record, or None for one that means nothing here.

    Raises:
        SchemaError: the record is damaged.
    """
    name = (key or b"").decode(errors="replace")
    try:
        return _decoded(name, _fields(value))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SchemaError(f"config record {name!r} cannot be read: {error!r}") from error


def _fields(value: bytes | None) -> Mapping[str, object] | None:
    fields = None if value is None else read_json(value)
    if fields is not None and not isinstance(fields, dict):
        raise TypeError("no object")
    return fields


def encode_base(base: Base | None) -> list[tuple[str, bytes]]:
    """Headers of a record."""
    return [] if base is None else [(_BASE, b"%d,%d" % (base.read, base.place))]


def decode_base(headers: Iterable[tuple[str, bytes | None]]) -> Base | None:
    """The base in a record's headers; None: the record counts in any case."""
    found = dict(headers).get(_BASE) or b""
    try:
        read, place = map(int, found.split(b","))
    except ValueError:
        return None
    return Base(read, place)


def _decoded(key: str, fields: Mapping[str, object] | None) -> Entry | None:
    if key.startswith(_CONNECTOR):
        name = key.removeprefix(_CONNECTOR)
        return ConnectorConfig(name, None if fields is None else _texts(fields["properties"]))
    if key.startswith(_TARGET):
        name = key.removeprefix(_TARGET)
        return ConnectorTarget(name, None if fields is None else _state(fields))
    if key.startswith(_RESTART) and fields is not None:
        include, failed = (fields[each] is True for each in ("include-tasks", "only-failed"))
        return Restart(key.removeprefix(_RESTART), include, failed)
    return None


def _states(state: TargetState) -> dict[str, str]:
    """Workers before 3.5 know no stopped connectors, and pause them (KIP-875)."""
    older = TargetState.PAUSED if state is TargetState.STOPPED else state
    return {"state": older.value, "state.v2": state.value}


def _state(fields: Mapping[str, object]) -> TargetState:
    return TargetState(str(fields.get("state.v2", fields["state"])))


def _texts(properties: object) -> dict[str, str]:
    if not isinstance(properties, Mapping):
        raise TypeError("properties is no object")
    return {str(key): str(value) for key, value in properties.items() if value is not None}


def _record(
    prefix: str, name: str, fields: Mapping[str, object] | None
) -> tuple[bytes, bytes | None]:
    key = f"{prefix}{name}".encode()
    if fields is None:
        return key, None
    return key, json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
