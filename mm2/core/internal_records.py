"""
MirrorMaker's own records: heartbeats, checkpoints and offset syncs, byte for byte as Java's.

Numbers are big-endian with sign; a text is its length in bytes as 16 bits and then UTF-8. Readers
ignore what follows the last field and take any version for the first one (C322, C323).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final, NamedTuple
from uuid import UUID

from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.translation.group_sync_rules import TargetCommit
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs
from mm2.errors import SchemaError

EXACT_HEADER: Final = "mm2.exact"
"""
Header of a checkpoint's record, beside Java's bytes: whether the offset downstream is that of the
first unread record (``1``), or maybe of one before it (``0``, or no header, as Java writes them).
"""

LOGS_HEADER: Final = "mm2.logs"
"""
Header of a checkpoint's record: the ids of the topics upstream and downstream, 16 bytes each.

Zeros are not known, and without the header both are.
"""

TARGET_COMMIT_HEADER: Final = "mm2.target.commit"
"""
Header of a checkpoint's record: what the group's offset downstream is to its commit upstream.

Without the header nobody has looked, as Java does not.
"""

_IS_EXACT: Final = (EXACT_HEADER, b"1")
_IS_NOT_EXACT: Final = (EXACT_HEADER, b"0")
_ID_SIZE: Final = 16
_UNKNOWN_ID: Final = bytes(_ID_SIZE)
_VERSION: Final = 0
_MAX_TEXT: Final = 0x7FFF
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_HEARTBEAT_VERSION: Final = _INT16.pack(_VERSION)

HEARTBEAT_SIZE: Final = _INT16.size + _INT64.size
"""Bytes of a heartbeat's value."""


@dataclass(frozen=True, slots=True, order=True)
class Heartbeat:
    """Says that the flow ``source`` to ``target`` was alive at ``timestamp_ms``."""

    source: ClusterAlias
    target: ClusterAlias
    timestamp_ms: int

    def key(self) -> bytes:
        """Returns the record's key."""
        return _text("sourceClusterAlias", self.source) + _text("targetClusterAlias", self.target)

    def value(self) -> bytes:
        """Returns the record's value."""
        return _INT16.pack(_VERSION) + _INT64.pack(self.timestamp_ms)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> Heartbeat:
        """
        Reads a heartbeat from a record's key and value.

        Raises:
            SchemaError: these bytes are no heartbeat; the message names the field.
        """
        value_reader = _FieldReader(value, "heartbeat")
        value_reader.number("version", _INT16)
        timestamp_ms = value_reader.number("timestamp", _INT64)
        reader = _FieldReader(key, "heartbeat")
        source = ClusterAlias(reader.text("sourceClusterAlias"))
        return cls(source, ClusterAlias(reader.text("targetClusterAlias")), timestamp_ms)

    def __str__(self) -> str:
        """Prints as Java's HeartbeatFormatter does (C325)."""
        return (
            f"Heartbeat{{sourceClusterAlias={self.source}, "
            f"targetClusterAlias={self.target}, timestamp={self.timestamp_ms}}}"
        )


def is_heartbeat(key: bytes | None, value: bytes | None) -> bool:
    """
    Whether a record can be nothing but a heartbeat: of the one version there is, and no byte more.

    No JSON is one, for its value would begin with two zeros.
    """
    if value is None or len(value) != HEARTBEAT_SIZE or value[: _INT16.size] != _HEARTBEAT_VERSION:
        return False
    try:
        found = Heartbeat.decode(key, value)
        return bool(found.source and found.target) and found.key() == key
    except SchemaError:
        return False


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """
    A committed offset upstream and what it is downstream; the topic has the name of the copy.

    Attributes:
        downstream_offset: where to go on reading the copy.
        exact: whether the record there is the first unread one, and not maybe one before it.
        logs: ids of the topics upstream (``source``) and downstream (``remote``), as far as known.
        target_commit: what stood downstream; None if nobody looked.
    """

    group: GroupId
    partition: TopicPartition
    upstream_offset: int
    downstream_offset: int
    metadata: str = ""
    exact: bool = False
    logs: Logs = field(default=UNKNOWN_LOGS, compare=False)
    target_commit: TargetCommit | None = field(default=None, compare=False)

    def key(self) -> bytes:
        """Returns the record's key."""
        return (
            _text("group", self.group)
            + _text("topic", self.partition.topic)
            + _INT32.pack(self.partition.partition)
        )

    def value(self) -> bytes:
        """Returns the record's value."""
        offsets = _INT64.pack(self.upstream_offset) + _INT64.pack(self.downstream_offset)
        return _INT16.pack(_VERSION) + offsets + _text("metadata", self.metadata)

    def headers(self) -> tuple[tuple[str, bytes], ...]:
        """Returns the record's headers, which Java does not have."""
        found: list[tuple[str, bytes]] = [_IS_EXACT if self.exact else _IS_NOT_EXACT]
        if self.logs != UNKNOWN_LOGS:
            found.append((LOGS_HEADER, _id(self.logs.source) + _id(self.logs.remote)))
        if self.target_commit is not None:
            found.append((TARGET_COMMIT_HEADER, self.target_commit.encode()))
        return tuple(found)

    @classmethod
    def decode(
        cls,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> Checkpoint:
        """
        Reads a checkpoint from a record's key, value and headers.

        Raises:
            SchemaError: these bytes are no checkpoint; the message names the field.
        """
        reader = _FieldReader(value, "checkpoint")
        reader.number("version", _INT16)
        upstream = reader.number("upstreamOffset", _INT64)
        downstream = reader.number("offset", _INT64)
        metadata = reader.text("metadata")
        reader = _FieldReader(key, "checkpoint")
        group = GroupId(reader.text("group"))
        known = dict(headers)
        exact, logs = known.get(EXACT_HEADER) == b"1", _logs(known.get(LOGS_HEADER))
        target_commit = TargetCommit.decode(known.get(TARGET_COMMIT_HEADER))
        where = reader.topic_partition()
        return cls(group, where, upstream, downstream, metadata, exact, logs, target_commit)

    def may_be_about(self, topic_id: UUID | None) -> bool:
        """Whether the topic downstream may be the one of this id; None: it is not known."""
        own = self.logs.remote
        return own is None or topic_id is None or own == topic_id

    def __str__(self) -> str:
        """Prints as Java's CheckpointFormatter does (C325)."""
        return (
            f"Checkpoint{{consumerGroupId={self.group}, topicPartition={self.partition}, "
            f"upstreamOffset={self.upstream_offset}, downstreamOffset={self.downstream_offset}, "
            f"metadata={self.metadata}}}"
        )


class OffsetSync(NamedTuple):
    """
    Says which offset of the copy a record of the source has; the topic's name is the source's.

    It has no version (C324).
    """

    partition: TopicPartition
    upstream_offset: int
    downstream_offset: int

    def key(self) -> bytes:
        """Returns the record's key."""
        return _text("topic", self.partition.topic) + _INT32.pack(self.partition.partition)

    def value(self) -> bytes:
        """Returns the record's value."""
        return _INT64.pack(self.upstream_offset) + _INT64.pack(self.downstream_offset)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> OffsetSync:
        """
        Reads an offset sync from a record's key and value.

        Raises:
            SchemaError: these bytes are no offset sync; the message names the field.
        """
        partition = _FieldReader(key, "offset sync").topic_partition()
        reader = _FieldReader(value, "offset sync")
        return cls(
            partition, reader.number("upstreamOffset", _INT64), reader.number("offset", _INT64)
        )

    def __str__(self) -> str:
        """Prints as Java's OffsetSyncFormatter does (C325)."""
        return (
            f"OffsetSync{{topicPartition={self.partition}, "
            f"upstreamOffset={self.upstream_offset}, downstreamOffset={self.downstream_offset}}}"
        )


class _FieldReader:
    __slots__ = ("_data", "_position")

    _MISSING: ClassVar = "Error reading {}: there is no key or no value"

    def __init__(self, data: bytes | None, what: str) -> None:
        if data is None:
            raise SchemaError(self._MISSING.format(what))
        self._data = data
        self._position = 0

    def number(self, name: str, form: struct.Struct) -> int:
        if len(self._data) - self._position < form.size:
            raise _unreadable(name, "the bytes end too soon")
        (found,) = form.unpack_from(self._data, self._position)
        self._position += form.size
        return int(found)

    def text(self, name: str) -> str:
        length = self.number(name, _INT16)
        end = self._position + length
        if length < 0 or end > len(self._data):
            raise _unreadable(name, f"a length of {length} is impossible")
        found = self._data[self._position : end]
        self._position = end
        # Java replaces what is no UTF-8.
        return found.decode(errors="replace")

    def topic_partition(self) -> TopicPartition:
        topic = TopicName(self.text("topic"))
        return TopicPartition(topic, self.number("partition", _INT32))


def _id(topic: UUID | None) -> bytes:
    return _UNKNOWN_ID if topic is None else topic.bytes


@lru_cache(maxsize=4096)
def _logs(data: bytes | None) -> Logs:
    """The ids in a header; there are few, and many checkpoints that have them."""
    if data is None or len(data) != 2 * _ID_SIZE:
        return UNKNOWN_LOGS
    ids = data[:_ID_SIZE], data[_ID_SIZE:]
    return Logs(*(None if each == _UNKNOWN_ID else UUID(bytes=each) for each in ids))


def _text(name: str, text: str) -> bytes:
    encoded = text.encode()
    if len(encoded) > _MAX_TEXT:
        raise SchemaError(
            f"Invalid value for field '{name}': {len(encoded)} bytes are more than {_MAX_TEXT}"
        )
    return _INT16.pack(len(encoded)) + encoded


def _unreadable(name: str, reason: str) -> SchemaError:
    return SchemaError(f"Error reading field '{name}': {reason}")
