"""
Keys and values of the control topic: a record's key names its kind, its value has a ``version``.

A value of a newer version may mean something else than it seems to, so that it depends on the kind
whether this release may go on without it. Kinds that are not known are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mm2.core.json_text import read_json
from mm2.errors import SchemaError
from mm2.protocol.codec import VERSION, encode, from_json
from mm2.protocol.command_records import (
    Alterations,
    DesiredConnectorState,
    LiveSettings,
    RateDivision,
    RestartCommand,
)
from mm2.protocol.control_records import Assignment, DesiredFlowState, Lease, MissingTopic

ALTERATIONS_KEY: Final = b"config"

ControlRecord: TypeAlias = (
    Lease
    | Assignment
    | MissingTopic
    | DesiredFlowState
    | DesiredConnectorState
    | Alterations
    | RestartCommand
    | LiveSettings
    | RateDivision
)


class NewerRecord(SchemaError):
    """
    A record that a newer release has written, and that must be understood.

    Args:
        message: which, and of what version.
        lease: who leads, if it is about that: of a lease, epoch and owner never change.
    """

    def __init__(self, message: str, lease: Lease | None = None) -> None:
        super().__init__(message)
        self.lease = lease


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """
    A kind of record.

    Attributes:
        key: the record's; one that ends with ``-`` has a field of the record behind it.
        convert: makes its value from the text in the key.
        newer: what a newer version of it is; None if it is read like this one.
    """

    key: str
    record: type[ControlRecord]
    field: str = ""
    convert: Callable[[str], object] = str
    newer: type[SchemaError] | None = NewerRecord


_KINDS: Final = (
    _Kind(key="lease", record=Lease),
    _Kind(key="flow", record=DesiredFlowState),
    _Kind(key="bundle-", record=Assignment, field="index", convert=int),
    _Kind(key="missing-", record=MissingTopic, field="topic"),
    _Kind(key="connector-", record=DesiredConnectorState, field="connector"),
    _Kind(key=ALTERATIONS_KEY.decode(), record=Alterations),
    # Without these a leader or task of this release may go on.
    _Kind(key="restart-", record=RestartCommand, field="connector", newer=SchemaError),
    _Kind(key="settings", record=LiveSettings, newer=SchemaError),
    _Kind(key="shares", record=RateDivision, newer=None),
)
_BY_KEY: Final = {kind.key: kind for kind in _KINDS}
_BY_TYPE: Final = {kind.record: kind for kind in _KINDS}


def encode_control(record: ControlRecord) -> tuple[bytes, bytes]:
    """Key and value of a record."""
    kind = _BY_TYPE[type(record)]
    name = getattr(record, kind.field) if kind.field else ""
    return f"{kind.key}{name}".encode(), encode(record)


def decode_control(key: bytes | None, value: bytes | None) -> ControlRecord | None:
    """
    The record; None for tombstones, gaps, and kinds that are not known.

    Raises:
        NewerRecord: a newer release has written it, and it must be understood.
        SchemaError: the record is damaged, or of a newer release and may be passed over.
    """
    text = (key or b"").decode(errors="replace")
    tag, dash, name = text.partition("-")
    kind = _BY_KEY.get(tag + dash)
    if kind is None or value is None:
        return None
    try:
        fields: Any = read_json(value)
        _check_version(kind, text, fields)
        known = {kind.field: kind.convert(name)} if kind.field else {}
        return from_json(kind.record, fields, **known)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SchemaError(f"control record {text!r} cannot be read: {error!r}") from error


def _check_version(kind: _Kind, key: str, fields: dict[str, Any]) -> None:
    version = int(fields.get("version", VERSION))
    if version <= VERSION or kind.newer is None:
        return
    message = f"control record {key!r} is of version {version}, we know {VERSION}"
    if kind.record is Lease:
        raise NewerRecord(message, _newer_lease(fields))
    raise kind.newer(message)


def _newer_lease(fields: dict[str, Any]) -> Lease | None:
    try:
        return Lease(epoch=int(fields["epoch"]), owner=str(fields["owner"]))
    except (ValueError, KeyError, TypeError):
        return None
