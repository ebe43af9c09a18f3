"""
Records of Kafka Connect's status topic, ``mm2-status.<source>.internal`` (C343, C347, C480).

Statuses of connectors and tasks, and the topics that a connector uses, as Connect's workers write
them (``KafkaStatusBackingStore``): keys are text, values JSON without schemas, and a tombstone
deletes the record of its key.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from mm2.core.json_text import read_json
from mm2.errors import SchemaError

_CONNECTOR: Final = "status-connector-"
_TASK: Final = "status-task-"
_TOPIC: Final = "status-topic-"
_OF_CONNECTOR: Final = ":connector-"


class RunState(StrEnum):
    """States of Connect."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"
    DESTROYED = "DESTROYED"


@dataclass(frozen=True, slots=True, order=True)
class ConnectorKey:
    """A connector, by its name."""

    connector: str

    def __str__(self) -> str:
        return f"{_CONNECTOR}{self.connector}"


@dataclass(frozen=True, slots=True, order=True)
class TaskKey:
    """A task of a connector, by its number."""

    connector: str
    task: int

    def __str__(self) -> str:
        return f"{_TASK}{self.connector}-{self.task}"


@dataclass(frozen=True, slots=True, order=True)
class TopicKey:
    """A topic to which a source connector writes, or from which a sink connector reads."""

    connector: str
    topic: str

    def __str__(self) -> str:
        return f"{_TOPIC}{self.topic}{_OF_CONNECTOR}{self.connector}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """
    The status of a connector or a task.

    Attributes:
        generation: grows with each new worker; late records of an older one do not count.
        trace: why it has failed; None unless it has.
        version: of the plugin; None if not known, as before Connect 4.2.
    """

    state: RunState
    worker_id: str
    generation: int
    trace: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveTopic:
    """The first use of a topic by a connector: which task, and when in ms since the epoch."""

    task: int
    discovered_ms: int


Key: TypeAlias = ConnectorKey | TaskKey | TopicKey
Entry: TypeAlias = Status | ActiveTopic
StatusChange: TypeAlias = tuple[Key, Entry | None]
"""A record of the topic; None is a tombstone. Keys of topics have an ``ActiveTopic``."""


def encode_status(key: Key, entry: Entry | None) -> tuple[bytes, bytes | None]:
    """Key and value of a record; None writes a tombstone."""
    return str(key).encode(), None if entry is None else _dump(_fields(key, entry))


def _fields(key: Key, entry: Entry) -> Mapping[str, object]:
    if isinstance(entry, Status):
        return {
            "state": entry.state.value,
            "trace": entry.trace,
            "worker_id": entry.worker_id,
            "generation": entry.generation,
            "version": entry.version,
        }
    assert isinstance(key, TopicKey)  # noqa: S101 - see StatusChange
    topic = {
        "name": key.topic,
        "connector": key.connector,
        "task": entry.task,
        "discoverTimestamp": entry.discovered_ms,
    }
    return {"topic": topic}


def decode_key(key: bytes | None) -> Key | None:
    """
    Reads a key; None for a key of another kind.

    Names of connectors may contain hyphens and end in numbers; names of topics have no colon.
    """
    text = (key or b"").decode(errors="replace")
    if text.startswith(_CONNECTOR):
        name = text.removeprefix(_CONNECTOR)
        return ConnectorKey(name) if name else None
    if text.startswith(_TASK):
        name, _, number = text.removeprefix(_TASK).rpartition("-")
        return TaskKey(name, int(number)) if name and number.isdecimal() else None
    if text.startswith(_TOPIC):
        topic, _, name = text.removeprefix(_TOPIC).partition(_OF_CONNECTOR)
        return TopicKey(name, topic) if topic and name else None
    return None


def decode_status(value: bytes) -> Status:
    """
    Reads the status of a connector or a task; unknown fields are ignored.

    Raises:
        SchemaError: the record is damaged.
    """
    fields = _loaded(value)
    try:
        return Status(
            state=RunState(str(fields["state"])),
            worker_id=_text(fields["worker_id"]),
            generation=_number(fields["generation"]),
            trace=_text_or_none(fields.get("trace")),
            version=_text_or_none(fields.get("version")),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _unreadable(error) from error


def decode_topic(value: bytes) -> ActiveTopic:
    """
    Reads when a connector first used a topic.

    Raises:
        SchemaError: the record is damaged.
    """
    fields = _loaded(value).get("topic")
    if not isinstance(fields, dict):
        raise _unreadable(TypeError("there is no topic in it"))
    try:
        return ActiveTopic(
            task=_number(fields["task"]), discovered_ms=_number(fields["discoverTimestamp"])
        )
    except (KeyError, TypeError) as error:
        raise _unreadable(error) from error


def _loaded(value: bytes) -> Mapping[str, object]:
    try:
        fields = read_json(value)
    except ValueError as error:
        raise _unreadable(error) from error
    if not isinstance(fields, dict):
        raise _unreadable(TypeError("it is no object"))
    return fields


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no number")
    return value


def _unreadable(error: Exception) -> SchemaError:
    return SchemaError(f"status record cannot be read: {error!r}")


def _dump(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()
