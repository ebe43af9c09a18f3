"""
Positions as Kafka Connect keeps them, in ``mm2-offsets.<source>.internal``.

Connect finds a position by the bytes of its key, so the bytes must be Java's own: the order of the
names is that of Java's hash map, there are no blanks, and only what JSON demands is escaped (C450).
Java MirrorMaker and mm2 can then take over from each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.core.json_text import read_json
from mm2.core.model import ClusterAlias, GroupId, TopicName
from mm2.errors import SchemaError

_SHOWN: Final = 200
_SUPPLEMENTARY: Final = re.compile("[\U00010000-\U0010ffff]")
_LOWER_HEX_ESCAPE: Final = re.compile(r"(?<!\\)((?:\\\\)*\\u00)([01][a-f])")


@dataclass(frozen=True, slots=True, order=True)
class SourcePartition:
    """What a position of MirrorSourceConnector is about: one partition of the source cluster."""

    cluster: ClusterAlias
    topic: TopicName
    partition: int

    def fields(self) -> dict[str, str | int]:
        """Returns the names and values in the order of Java's bytes."""
        return {"cluster": self.cluster, "partition": self.partition, "topic": self.topic}


@dataclass(frozen=True, slots=True, order=True)
class CheckpointPartition:
    """What a position of MirrorCheckpointConnector is about; the topic has its downstream name."""

    group: GroupId
    topic: TopicName
    partition: int

    def fields(self) -> dict[str, str | int]:
        """Returns the names and values in the order of Java's bytes."""
        return {"partition": self.partition, "topic": self.topic, "group": self.group}


@dataclass(frozen=True, slots=True, order=True)
class HeartbeatPartition:
    """What a position of MirrorHeartbeatConnector is about: one flow."""

    source: ClusterAlias
    target: ClusterAlias

    def fields(self) -> dict[str, str | int]:
        """Returns the names and values in the order of Java's bytes."""
        return {"sourceClusterAlias": self.source, "targetClusterAlias": self.target}


OffsetPartition = SourcePartition | CheckpointPartition | HeartbeatPartition


def encode_key(connector: str, partition: OffsetPartition) -> bytes:
    """Returns the key of the position of ``partition``; ``connector`` is the connector's name."""
    return _json([connector, partition.fields()])


def encode_offset(offset: int) -> bytes:
    """Returns the value of a position: for data, the offset of the last record mirrored."""
    return _json({"offset": offset})


def decode_key(key: bytes) -> tuple[str, OffsetPartition]:
    """
    Returns the connector's name and what the position is about; names may stand in any order.

    Raises:
        SchemaError: these bytes are no key of a MirrorMaker connector.
    """
    match _parsed(key, "key"):
        case [str(connector), dict(fields)]:
            return connector, _partition(fields)
        case _:
            raise SchemaError(f"Error reading offset key: not [name, partition]: {key!r}")


def decode_offset(value: bytes | None) -> int | None:
    """
    Returns the offset; None if the position was reset, or was never written (C207).

    Raises:
        SchemaError: these bytes are no position.
    """
    if value is None:
        return None
    match _parsed(value, "value"):
        case None | {"offset": None}:
            return None
        case {"offset": int(offset)} if not isinstance(offset, bool):
            return offset if offset >= 0 else None
        case dict(fields) if "offset" not in fields:
            return None
        case _:
            raise SchemaError(f"Error reading field 'offset': {value!r}")


def _partition(fields: Mapping[str, object]) -> OffsetPartition:
    for names, build in _SHAPES:
        if names == fields.keys():
            return build(fields)
    raise SchemaError(f"Error reading offset key: unknown fields {sorted(fields)}")


def _source(fields: Mapping[str, object]) -> SourcePartition:
    return SourcePartition(
        ClusterAlias(_text(fields, "cluster")),
        TopicName(_text(fields, "topic")),
        _number(fields, "partition"),
    )


def _checkpoint(fields: Mapping[str, object]) -> CheckpointPartition:
    return CheckpointPartition(
        GroupId(_text(fields, "group")),
        TopicName(_text(fields, "topic")),
        _number(fields, "partition"),
    )


def _heartbeat(fields: Mapping[str, object]) -> HeartbeatPartition:
    return HeartbeatPartition(
        ClusterAlias(_text(fields, "sourceClusterAlias")),
        ClusterAlias(_text(fields, "targetClusterAlias")),
    )


_SHAPES: Final[tuple[tuple[set[str], Callable[[Mapping[str, object]], OffsetPartition]], ...]] = (
    ({"cluster", "topic", "partition"}, _source),
    ({"group", "topic", "partition"}, _checkpoint),
    ({"sourceClusterAlias", "targetClusterAlias"}, _heartbeat),
)


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise SchemaError(f"Error reading field '{name}': {value!r} is no text")
    return value


def _number(fields: Mapping[str, object], name: str) -> int:
    value = fields[name]
    if not isinstance(value, int) or isinstance(value, bool):
        raise SchemaError(f"Error reading field '{name}': {value!r} is no whole number")
    return value


def _json(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Jackson writes control characters with capital letters, and what UTF-16 needs two units for
    # as two escapes.
    text = _LOWER_HEX_ESCAPE.sub(lambda found: found[1] + found[2].upper(), text)
    return _SUPPLEMENTARY.sub(lambda found: _surrogates(found[0]), text).encode()


def _surrogates(character: str) -> str:
    high, low = character.encode("utf-16-be")[:2], character.encode("utf-16-be")[2:]
    return f"\\u{high.hex().upper()}\\u{low.hex().upper()}"


def _parsed(data: bytes, what: str) -> object:
    try:
        return read_json(data)
    except ValueError as problem:
        shown = f"{data[:_SHOWN]!r}"
        raise SchemaError(f"Error reading offset {what}: not JSON: {shown}") from problem
