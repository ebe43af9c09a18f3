"""
Prints the records of internal topics: Java's three formatters, and the like for our own records.

Java's formatters raise for a record that they cannot read, and so does ``Formatter.line``;
``Formatter.shown`` shows whatever a topic holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from mm2.client import group_offset_fields
from mm2.core.connect.offset_records import decode_key, decode_offset
from mm2.core.internal_records import Checkpoint, Heartbeat, OffsetSync
from mm2.core.json_text import read_json
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy
from mm2.core.positions.log_identity import HEADER as LINEAGE
from mm2.core.translation.run_codec import decode_key as decode_block_key
from mm2.core.translation.run_codec import decode_value as decode_block
from mm2.errors import SchemaError
from mm2.kafka.logs.records import Record

Fields: TypeAlias = dict[str, str | int | None]

_RECORD: Final = "record"
_WRITTEN: Final = "written"
_ERROR: Final = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormattedRecord:
    """
    A record as people read it.

    Attributes:
        readable: whether it is what its topic should hold; a tombstone is.
    """

    line: str
    fields: Fields
    readable: bool = True


@dataclass(frozen=True, slots=True)
class Formatter:
    """
    Prints one kind of record.

    Attributes:
        fields: of a record; raises ``SchemaError`` if it is of another kind. Of a tombstone
            only its key counts.
        columns: names of the fields, in their order.
        text: the record in one line, as Java prints it; None for kinds that Java does not have.
    """

    name: str
    fields: Callable[[Record], Fields]
    columns: tuple[str, ...]
    text: Callable[[Record], str] | None = None

    @property
    def all_columns(self) -> tuple[str, ...]:
        """With where a record stands, when it was written, and what is wrong with it."""
        return (_RECORD, _WRITTEN, *self.columns, _ERROR)

    def line(self, record: Record) -> str:
        """
        The record in one line.

        Raises:
            SchemaError: it is of another kind, or a tombstone (C322, C325).
        """
        return self.text(record) if self.text else _line(self.name, self.fields(record))

    def shown(self, record: Record) -> FormattedRecord:
        """The record, also if it is damaged or a tombstone."""
        place: Fields = {
            _RECORD: f"{record.partition}:{record.offset}",
            _WRITTEN: record.timestamp_ms,
        }
        try:
            fields = self.fields(record)
            line = _tombstone(place, fields) if record.value is None else self.line(record)
        except SchemaError as error:
            return self._damaged(record, place, str(error))
        return FormattedRecord(line=line, fields={**place, **fields, _ERROR: None})

    def _damaged(self, record: Record, place: Fields, reason: str) -> FormattedRecord:
        raw = {"key": _hex(record.key), "value": _hex(record.value)}
        line = _line("Undecodable", {**place, "reason": reason, **raw})
        fields = {**place, **dict.fromkeys(self.columns), _ERROR: reason}
        return FormattedRecord(line=line, fields=fields, readable=False)


def formatter_for(topic: TopicName, policy: ReplicationPolicy) -> Formatter | None:
    """The formatter of what a topic holds, by its name; None for a topic of the user's."""
    if policy.is_heartbeats_topic(topic):
        return HEARTBEATS
    if policy.is_checkpoints_topic(topic):
        return CHECKPOINTS
    if topic == _OFFSETS_OF_GROUPS:
        return GROUP_OFFSETS
    for beginning, formatter in _BY_BEGINNING.items():
        if topic.startswith(beginning) and topic.endswith("internal"):
            return formatter
    return None


def _heartbeat(record: Record) -> Fields:
    beat = Heartbeat.decode(record.key, _NO_BEAT if record.value is None else record.value)
    time_ms = None if record.value is None else beat.timestamp_ms
    return {"source": beat.source, "target": beat.target, "timestamp": time_ms}


def _checkpoint(record: Record) -> Fields:
    value = _NO_POINT if record.value is None else record.value
    found = Checkpoint.decode(record.key, value, record.headers)
    rest: Fields = {
        "upstream": found.upstream_offset,
        "downstream": found.downstream_offset,
        "exact": found.exact,
        "metadata": found.metadata,
    }
    return {
        "group": found.group,
        "topic": found.partition.topic,
        "partition": found.partition.partition,
        **(dict.fromkeys(rest) if record.value is None else rest),
    }


def _offset_sync(record: Record) -> Fields:
    sync = OffsetSync.decode(record.key, _NO_SYNC if record.value is None else record.value)
    rest: Fields = {"upstream": sync.upstream_offset, "downstream": sync.downstream_offset}
    return {
        "topic": sync.partition.topic,
        "partition": sync.partition.partition,
        **(dict.fromkeys(rest) if record.value is None else rest),
    }


def _offset_runs(record: Record) -> Fields:
    partition, name = decode_block_key(record.key)
    where: Fields = {
        "topic": partition.topic,
        "partition": partition.partition,
        "start": name.start,
    }
    if record.value is None:
        return {**where, "end": None, "runs": None, "flags": None}
    block = decode_block(name, record.value)
    flags = {
        "fresh": block.is_fresh,
        "sparse": block.is_sparse,
        "transactional": block.is_transactional,
    }
    return {
        **where,
        "end": block.end,
        "runs": " ".join(f"{run.upstream}->{run.downstream}+{run.records}" for run in block.runs),
        "flags": " ".join(name for name, is_set in flags.items() if is_set),
    }


def _position(record: Record) -> Fields:
    connector, partition = decode_key(record.key or b"")
    lineage = next((value for name, value in record.headers if name == LINEAGE), None)
    return {
        "connector": connector,
        "partition": _compact(partition.fields()),
        "offset": decode_offset(record.value),
        "lineage": None if lineage is None else lineage.decode(errors="replace"),
    }


def _json(record: Record) -> Fields:
    key = None if record.key is None else record.key.decode(errors="replace")
    if record.value is None:
        return {"key": key, "value": None}
    try:
        return {"key": key, "value": _compact(read_json(record.value))}
    except ValueError as error:
        raise SchemaError(f"Error reading value: not JSON: {error}") from error


def _of_groups(name: str, fields: Callable[[Record], Fields]) -> Formatter:
    columns = group_offset_fields.COLUMNS
    return Formatter(name, fields, columns, lambda record: _known(name, fields(record)))


HEARTBEATS: Final = Formatter(
    "Heartbeat",
    _heartbeat,
    ("source", "target", "timestamp"),
    lambda record: str(Heartbeat.decode(record.key, record.value)),
)
"""Prints as Java's ``HeartbeatFormatter``."""

CHECKPOINTS: Final = Formatter(
    "Checkpoint",
    _checkpoint,
    ("group", "topic", "partition", "upstream", "downstream", "exact", "metadata"),
    lambda record: str(Checkpoint.decode(record.key, record.value)),
)
"""Prints as Java's ``CheckpointFormatter``."""

OFFSET_SYNCS: Final = Formatter(
    "OffsetSync",
    _offset_sync,
    ("topic", "partition", "upstream", "downstream"),
    lambda record: str(OffsetSync.decode(record.key, record.value)),
)
"""Prints as Java's ``OffsetSyncFormatter``."""

OFFSET_RUNS: Final = Formatter(
    "OffsetRuns", _offset_runs, ("topic", "partition", "start", "end", "runs", "flags")
)
"""Prints blocks of exact runs, each run as source offset, remote offset and number of records."""

POSITIONS: Final = Formatter("Position", _position, ("connector", "partition", "offset", "lineage"))
"""Prints Connect's positions, with our lineage (``mm2-offsets``)."""

GROUP_OFFSETS: Final = _of_groups("GroupRecord", group_offset_fields.group_record)
"""Prints what groups have committed to Kafka (``__consumer_offsets``)."""

MANAGED_OFFSETS: Final = _of_groups("ManagedOffset", group_offset_fields.committed_offset)
"""Prints what groups have committed to an offset manager."""

CONTROL: Final = Formatter("Control", _json, ("key", "value"))

PROGRESS: Final = Formatter("Progress", _json, ("key", "value"))

FORMATTERS: Final[Mapping[str, Formatter]] = {
    "heartbeat": HEARTBEATS,
    "checkpoint": CHECKPOINTS,
    "offset-sync": OFFSET_SYNCS,
    "offset-run": OFFSET_RUNS,
    "position": POSITIONS,
    "control": CONTROL,
    "progress": PROGRESS,
    "group-offset": GROUP_OFFSETS,
    "offset-manager": MANAGED_OFFSETS,
}
"""All kinds, by the names that users choose them with."""

_BY_BEGINNING: Final[Mapping[str, Formatter]] = {
    "mm2-offset-syncs": OFFSET_SYNCS,
    "mm2-offset-runs": OFFSET_RUNS,
    "mm2-offsets": POSITIONS,
    "mm2-control": CONTROL,
    "mm2-progress": PROGRESS,
    "mm2-group-offsets": MANAGED_OFFSETS,
}

_OFFSETS_OF_GROUPS: Final = "__consumer_offsets"
_NOWHERE: Final = TopicPartition(TopicName(""), 0)
_NO_BEAT: Final = Heartbeat(ClusterAlias(""), ClusterAlias(""), 0).value()
_NO_POINT: Final = Checkpoint(GroupId(""), _NOWHERE, 0, 0).value()
_NO_SYNC: Final = OffsetSync(_NOWHERE, 0, 0).value()


def _tombstone(place: Fields, fields: Fields) -> str:
    return _known("Tombstone", {**place, **fields})


def _known(name: str, fields: Fields) -> str:
    return _line(name, {field: value for field, value in fields.items() if value is not None})


def _line(name: str, fields: Mapping[str, object]) -> str:
    return f"{name}{{{', '.join(f'{field}={value}' for field, value in fields.items())}}}"


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()


def _compact(value: object) -> str:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    # JSON can write halves of characters, which no terminal can.
    return text.encode(errors="replace").decode()
