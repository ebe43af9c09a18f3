"""
The records of ``__consumer_offsets`` as far as they are commits of groups.

Numbers are big-endian with sign; a text is its length as 16 bits and then UTF-8. Values of later
versions add fields behind the offset, which stands first in all of them.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.errors import SchemaError

GROUP_OFFSETS_TOPIC: Final = "__consumer_offsets"
"""Where Kafka keeps what groups commit."""

_OF_COMMITS: Final = (0, 1)
"""Versions of keys of commits; others are of records about groups and their members."""

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_VALUE: Final = struct.Struct(">hq")


@dataclass(frozen=True, slots=True)
class GroupCommit:
    """
    One committed offset.

    Attributes:
        offset: the next one to read; None if the commit is deleted or has expired.
    """

    group: GroupId
    partition: TopicPartition
    offset: int | None


def decode_commit(key: bytes | None, value: bytes | None) -> GroupCommit | None:
    """
    Reads a commit from a record; None for a record about something else.

    Raises:
        SchemaError: these bytes are nothing that brokers write.
    """
    try:
        version, at = _number(key or b"", 0, _INT16)
        if version not in _OF_COMMITS:
            return None
        group, at = _text(key or b"", at)
        topic, at = _text(key or b"", at)
        partition, _ = _number(key or b"", at, _INT32)
        offset = None if value is None else int(_VALUE.unpack_from(value)[1])
    except (struct.error, UnicodeDecodeError) as error:
        raise SchemaError(f"a record of {GROUP_OFFSETS_TOPIC} cannot be read: {error}") from error
    return GroupCommit(GroupId(group), TopicPartition(TopicName(topic), partition), offset)


def _number(data: bytes, at: int, form: struct.Struct) -> tuple[int, int]:
    (found,) = form.unpack_from(data, at)
    return int(found), at + form.size


def _text(data: bytes, at: int) -> tuple[str, int]:
    length, at = _number(data, at, _INT16)
    if not 0 <= length <= len(data) - at:
        raise struct.error(f"a length of {length} is impossible")
    return data[at : at + length].decode(), at + length
