"""
Keys and values of the control topic: a record's key names its kind, its value has a ``version``.

A value of a newer version may mean something else than it seems to, so that it depends on the kind
whether this release may go on without it. Kinds that are not known are passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from mm2.core.model import TopicPartition
from mm2.errors import SchemaError
from mm2.protocol.codec import VERSION, decode, encode
from mm2.protocol.command_records import (
    Alterations,
    DesiredConnectorState,
    LiveSettings,
    RateDivision,
    RestartCommand,
)
from mm2.protocol.control_records import (
    Assignment,
    DesiredFlowState,
    Lease,
    MissingTopic,
    StoredAssignment,
)
from mm2.protocol.progress_records import GapReport

ALTERATIONS_KEY: Final = b"config"

_MOST_BUNDLES: Final = 1_000_000

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
        is_in_value: whether the value has that field, too.
        newer: what a newer version of it is; None if it is read like this one.
    """

    key: str
    record: type[ControlRecord | StoredAssignment]
    field: str = ""
    convert: Callable[[str], object] = str
    is_in_value: bool = False
    newer: type[SchemaError] | None = NewerRecord


def _bundle_number(text: str) -> int:
    """
    The number of a bundle.

    Raises:
        ValueError: no leader would have written it; whoever reads bundles makes a list of them.
    """
    number = int(text)
    if number not in range(_MOST_BUNDLES):
        raise ValueError(f"{text[:20]} is no number of a task")
    return number


_KINDS: Final = (
    _Kind(key="lease", record=Lease),
    _Kind(key="flow", record=DesiredFlowState),
    _Kind(key="bundle-", record=StoredAssignment, field="index", convert=_bundle_number),
    _Kind(key="missing-", record=MissingTopic, field="topic", is_in_value=True),
    _Kind(key="connector-", record=DesiredConnectorState, field="connector"),
    _Kind(key=ALTERATIONS_KEY.decode(), record=Alterations),
    # Without these a leader or task of this release may go on.
    _Kind(key="restart-", record=RestartCommand, field="connector", newer=SchemaError),
    _Kind(key="settings", record=LiveSettings, newer=SchemaError),
    _Kind(key="shares", record=RateDivision, newer=None),
)
_BY_KEY: Final = {kind.key: kind for kind in _KINDS}
_BY_TYPE: Final = {kind.record: kind for kind in _KINDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Versioned:
    version: int = VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class _LeaseOfAnyVersion:
    epoch: int
    owner: str


def encode_control(record: ControlRecord) -> tuple[bytes, bytes]:
    """Key and value of a record."""
    stored = StoredAssignment.of(record) if isinstance(record, Assignment) else record
    kind = _BY_TYPE[type(stored)]
    name = getattr(stored, kind.field) if kind.field else ""
    value = encode(stored, key_field="" if kind.is_in_value else kind.field)
    return f"{kind.key}{name}".encode(), value


def encode_gap(source: TopicPartition, report: GapReport) -> tuple[bytes, bytes]:
    """Key and value of a record of the control topic, for operators; no part of mm2 reads it."""
    key = f"gap-{report.kind}-{source.partition}-{source.topic}"
    return key.encode(), encode(report, topic=source.topic, partition=source.partition)


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
    _check_version(kind, text, value)
    found = decode(kind.record, value, _name(text), key_fields=_key_fields(kind, text, name))
    return found.restored() if isinstance(found, StoredAssignment) else found


def _name(key: str) -> str:
    return f"control record {key!r}"


def _key_fields(kind: _Kind, key: str, name: str) -> dict[str, object]:
    try:
        return {kind.field: kind.convert(name)} if kind.field else {}
    except ValueError as error:
        raise SchemaError(f"{_name(key)} cannot be read: {error!r}") from error


def _check_version(kind: _Kind, key: str, value: bytes) -> None:
    version = decode(_Versioned, value, _name(key)).version
    if version <= VERSION or kind.newer is None:
        return
    message = f"{_name(key)} is of version {version}, we know {VERSION}"
    if kind.record is Lease:
        raise NewerRecord(message, _newer_lease(key, value))
    raise kind.newer(message)


def _newer_lease(key: str, value: bytes) -> Lease | None:
    try:
        found = decode(_LeaseOfAnyVersion, value, _name(key))
    except SchemaError:
        return None
    return Lease(epoch=found.epoch, owner=found.owner)
