"""
Records of the control topic by which a leader remembers what the flow itself made.

Only that may be deleted; names alone do not tell. Each kind has one record; versions that are not
known are read like this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from mm2.core.model import TopicName
from mm2.core.topics.acls import AclBinding
from mm2.protocol.codec import decode, encode


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredTopics:
    """
    Topics of the source of which the flow has made copies.

    Attributes:
        cluster: id of the source.
    """

    cluster: str
    topics: tuple[TopicName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMemory:
    """The topics that were mirrored."""

    document: MirroredTopics


@dataclass(frozen=True, slots=True, kw_only=True)
class AclMemory:
    """The rules about topics that were copied."""

    document: tuple[AclBinding, ...]


MemoryRecord: TypeAlias = TopicMemory | AclMemory

_MemoryT = TypeVar("_MemoryT", bound=MemoryRecord)

MEMORY_KEYS: Final[Mapping[type[object], bytes]] = {
    TopicMemory: b"memory-topics",
    AclMemory: b"memory-acls",
}


def encode_memory(record: MemoryRecord) -> tuple[bytes, bytes]:
    """Key and value of a record."""
    return MEMORY_KEYS[type(record)], encode(record)


def decode_memory(record_type: type[_MemoryT], value: bytes) -> _MemoryT:
    """
    The record in a value.

    Raises:
        SchemaError: it is damaged.
    """
    return decode(record_type, value, f"control record {MEMORY_KEYS[record_type].decode()!r}")
