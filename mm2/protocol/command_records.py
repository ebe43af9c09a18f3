"""
Records of the control topic by which operators steer a flow, and by which its leader passes it on.

They hold until the next one under the same key, over restarts and changes of the leader; only a
``RestartCommand`` is a command, for the leader that reads it. Values are versioned JSON, as all
in that topic (``mm2.protocol.control_records``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from mm2.core.json_text import read_json
from mm2.errors import SchemaError
from mm2.protocol.codec import IN_KEY, VERSION, encode, from_json
from mm2.protocol.control_records import NewerRecord

CONFIG_KEY: Final = b"config"
SETTINGS_KEY: Final = b"settings"
_CONNECTOR: Final = "connector-"
_RESTART: Final = "restart-"


def _texts(changes: Mapping[str, object]) -> dict[str, str | None]:
    # Values of settings are strings; numbers are taken as well.
    if not isinstance(changes, dict):
        raise TypeError("changes are no object")
    return {key: None if value is None else str(value) for key, value in changes.items()}


class ConnectorState(StrEnum):
    """What an operator wants of a connector; the names are Connect's target states (KIP-875)."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredConnectorState:
    """
    What operators want of one connector of the flow.

    Attributes:
        connector: simple name of Java's class, ``MirrorSourceConnector``.
        state: whether it is to work.
        reason: why, for people.
        time_ms: since when, by the operator's clock.
    """

    connector: str = field(metadata=IN_KEY)
    state: ConnectorState
    reason: str = ""
    time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alterations:
    """
    Settings over those of the flow in the file.

    Attributes:
        changes: by key as it would stand behind ``A->B.``; None counts as if the file had not got
            it.
        time_ms: of the last change, by the operator's clock.
    """

    changes: Mapping[str, str | None] = field(
        metadata={"decode": _texts, "is_required": True}, default_factory=dict
    )
    time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartCommand:
    """
    A command to start a connector, or one of its tasks, anew.

    Attributes:
        connector: simple name of Java's class.
        task: number of the task; None for all.
        id: tells commands from each other.
        time_ms: when, by the operator's clock.
    """

    connector: str = field(metadata=IN_KEY)
    task: int | None = None
    id: str
    time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSettings:
    """
    What tasks that run take over from their leader without a restart.

    Attributes:
        epoch: of the leader.
        byte_rate_limit: ``flow.byte.rate.limit`` of the whole flow; negative: none.
        flush_interval_s: ``offset.flush.interval.ms``, in seconds.
        transaction_s: longest time until a transaction ends, in seconds; None at least once.
        number: grows with each change of an epoch.
    """

    epoch: int
    byte_rate_limit: int
    flush_interval_s: float
    transaction_s: float | None = None
    number: int = 0


CommandRecord: TypeAlias = DesiredConnectorState | Alterations | RestartCommand | LiveSettings


def encode_command(entry: CommandRecord) -> tuple[bytes, bytes]:
    """Key and value of a record."""
    match entry:
        case DesiredConnectorState():
            key = f"{_CONNECTOR}{entry.connector}".encode()
        case RestartCommand():
            key = f"{_RESTART}{entry.connector}".encode()
        case Alterations():
            key = CONFIG_KEY
        case LiveSettings():
            key = SETTINGS_KEY
    return key, encode(entry)


def decode_command(key: bytes | None, value: bytes | None) -> CommandRecord | None:
    """
    The record; None for a tombstone, and for kinds that are none of these.

    Raises:
        NewerRecord: a newer release has written what holds until it is taken back.
        SchemaError: the record is damaged, or a command of a newer release.
    """
    if key is None or value is None:
        return None
    name = key.decode(errors="replace")
    if not name.startswith((_CONNECTOR, _RESTART)) and key not in {CONFIG_KEY, SETTINGS_KEY}:
        return None
    try:
        fields: Any = read_json(value)
        _check_version(name, int(fields.get("version", VERSION)))
        return _decoded(name, fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SchemaError(f"control record {name!r} cannot be read: {error!r}") from error


def _check_version(name: str, version: int) -> None:
    """A newer version of a persistent record blocks leading; newer commands are ignored."""
    if version > VERSION:
        holds = name == CONFIG_KEY.decode() or name.startswith(_CONNECTOR)
        kind = NewerRecord if holds else SchemaError
        raise kind(f"control record {name!r} is of version {version}, we know {VERSION}")


def _decoded(name: str, fields: dict[str, Any]) -> CommandRecord:
    match name.partition("-"):
        case "connector", _, connector:
            return from_json(DesiredConnectorState, fields, connector=connector)
        case "restart", _, connector:
            return from_json(RestartCommand, fields, connector=connector)
        case "config", _, _:
            return from_json(Alterations, fields)
        case _:
            return from_json(LiveSettings, fields)
