"""What groups have committed, as records of Kafka or of an offset manager have it."""

from __future__ import annotations

from typing import Final, TypeAlias

from mm2.core.display_text import printable
from mm2.core.offset_manager.committed_offset_records import (
    decode_key,
    decode_value,
    group_of_other_key,
)
from mm2.kafka.logs.records import Record

_Fields: TypeAlias = dict[str, str | int | None]

_OFFSET: Final = "offset"
_MEMBERS: Final = "members"
_OF_VALUE: Final = (_OFFSET, "leader_epoch", "committed", "expires", "metadata")
COLUMNS: Final = ("kind", "group", "topic", "partition", *_OF_VALUE)


def committed_offset(record: Record) -> _Fields:
    """
    The fields of a record that commits an offset, or deletes one.

    Raises:
        SchemaError: it is of another kind.
    """
    group, (topic, partition) = decode_key(record.key or b"")
    fields: _Fields = {
        "kind": _OFFSET,
        "group": printable(group),
        "topic": printable(topic),
        "partition": partition,
    }
    if record.value is None:
        return {**fields, **dict.fromkeys(_OF_VALUE)}
    stored = decode_value(record.value)
    fields[_OFFSET] = stored.offset
    fields["leader_epoch"] = stored.leader_epoch
    fields["committed"] = stored.commit_ms
    fields["expires"] = stored.expire_ms
    fields["metadata"] = printable(stored.metadata)
    return fields


def group_record(record: Record) -> _Fields:
    """
    Likewise; of what Kafka keeps of a group's members only whose it is.

    Raises:
        SchemaError: it is no record of a group.
    """
    group = group_of_other_key(record.key or b"")
    if group is None:
        return committed_offset(record)
    return {**dict.fromkeys(COLUMNS), "kind": _MEMBERS, "group": printable(group)}
