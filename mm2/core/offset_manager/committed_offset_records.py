"""
The records of an offset manager's log.

They are those of Kafka's own ``__consumer_offsets`` (``OffsetCommitKey``, ``OffsetCommitValue``),
so that tools which read that topic read this one. A value of version 3 has the leader epoch, one
of version 1 the time at which it expires; no version has both. Version 4 is Kafka's own since 4.3:
version 3 with a compact text, and perhaps tagged fields behind it.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final, NamedTuple

from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import StoredOffset
from mm2.errors import SchemaError

_KEY_VERSION: Final = 1
_KEY_VERSIONS: Final = (0, 1)
_WITHOUT_EPOCH: Final = 1
_WITH_EPOCH: Final = 3
_COMPACT: Final = 4
_MOST_SHIFT: Final = 28
_OLDEST: Final = 0
_NEVER: Final = -1
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_BARE: Final = struct.Struct(">hqihq")
"""A value with an epoch and without metadata."""

_KEYS_REMEMBERED: Final = 1024


class OffsetKey(NamedTuple):
    """Whose offset a record has."""

    group: str
    where: TopicPartition


def encode_key(key: OffsetKey) -> bytes:
    """A record's key."""
    group, (topic, partition) = key
    return _group_and_topic(group, topic) + _INT32.pack(partition)


@lru_cache(maxsize=_KEYS_REMEMBERED)
def _group_and_topic(group: str, topic: str) -> bytes:
    """How all keys of a group and a topic begin."""
    return _INT16.pack(_KEY_VERSION) + _text(group) + _text(topic)


def encode_value(stored: StoredOffset) -> bytes:
    """A record's value."""
    if not stored.metadata and stored.expire_ms is None:
        return _BARE.pack(_WITH_EPOCH, stored.offset, stored.leader_epoch, 0, stored.commit_ms)
    metadata, commit = _text(stored.metadata), _INT64.pack(stored.commit_ms)
    if stored.expire_ms is not None:
        head = _INT16.pack(_WITHOUT_EPOCH) + _INT64.pack(stored.offset)
        return head + metadata + commit + _INT64.pack(stored.expire_ms)
    head = _INT16.pack(_WITH_EPOCH) + _INT64.pack(stored.offset) + _INT32.pack(stored.leader_epoch)
    return head + metadata + commit


def decode_key(data: bytes) -> OffsetKey:
    """
    Reads a record's key.

    Raises:
        SchemaError: these bytes are none.
    """
    try:
        version, at = _number(_INT16, data, 0)
        if version not in _KEY_VERSIONS:
            raise SchemaError(f"a key of version {version} is not known")
        group, at = _read_text(data, at)
        topic, at = _read_text(data, at)
        partition, _ = _number(_INT32, data, at)
    except (struct.error, UnicodeDecodeError) as error:
        raise SchemaError(f"a key of the offsets topic cannot be read: {error}") from error
    return OffsetKey(group, TopicPartition(TopicName(topic), partition))


def group_of_other_key(data: bytes) -> str | None:
    """
    Whose record it is, by a key of what Kafka keeps beside offsets; None for an offset's key.

    Raises:
        SchemaError: these bytes are no key.
    """
    try:
        version, at = _number(_INT16, data, 0)
        if version in _KEY_VERSIONS:
            return None
        if version < 0:
            raise SchemaError(f"a key of version {version} is not known")
        return _read_text(data, at)[0]
    except (struct.error, UnicodeDecodeError) as error:
        raise SchemaError(f"a key of the offsets topic cannot be read: {error}") from error


def decode_value(data: bytes) -> StoredOffset:
    """
    Reads a record's value.

    Raises:
        SchemaError: these bytes are none.
    """
    try:
        return _decode_value(data)
    except (struct.error, UnicodeDecodeError) as error:
        raise SchemaError(f"a value of the offsets topic cannot be read: {error}") from error


def _decode_value(data: bytes) -> StoredOffset:
    version, at = _number(_INT16, data, 0)
    if not _OLDEST <= version <= _COMPACT:
        raise SchemaError(f"a value of version {version} is not known")
    offset, at = _number(_INT64, data, at)
    epoch = -1
    if version >= _WITH_EPOCH:
        epoch, at = _number(_INT32, data, at)
    metadata, at = (_read_compact if version == _COMPACT else _read_text)(data, at)
    commit_ms, at = _number(_INT64, data, at)
    expire_ms = _NEVER
    if version == _WITHOUT_EPOCH:
        expire_ms, at = _number(_INT64, data, at)
    return StoredOffset(
        offset=offset,
        metadata=metadata,
        leader_epoch=epoch,
        commit_ms=commit_ms,
        expire_ms=None if expire_ms == _NEVER else expire_ms,
    )


def _text(text: str) -> bytes:
    data = text.encode()
    return _INT16.pack(len(data)) + data


def _number(form: struct.Struct, data: bytes, at: int) -> tuple[int, int]:
    (found,) = form.unpack_from(data, at)
    return int(found), at + form.size


def _read_text(data: bytes, at: int) -> tuple[str, int]:
    length, at = _number(_INT16, data, at)
    return _text_of(data, at, length)


def _read_compact(data: bytes, at: int) -> tuple[str, int]:
    """Its length and 1 stand in front, seven bits a byte; 0 is no text."""
    length = 0
    for shift in range(0, _MOST_SHIFT + 1, 7):
        (byte,), at = data[at : at + 1] or b"\xff", at + 1
        length |= (byte & 0x7F) << shift
        if not byte & 0x80:
            break
    return _text_of(data, at, max(0, length - 1))


def _text_of(data: bytes, at: int, length: int) -> tuple[str, int]:
    if not 0 <= length <= len(data) - at:
        raise struct.error(f"a length of {length} is impossible")
    return data[at : at + length].decode(), at + length
