"""
Positions of mirroring: what the records of Connect's offsets topic mean, and what may be written.

``mm2-offsets.<source>.internal`` holds, for each source partition, the upstream offset of the last
mirrored record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from mm2.core.connect.offset_records import (
    SourcePartition,
    decode_key,
    decode_offset,
    encode_key,
    encode_offset,
)
from mm2.core.model import NO_OFFSET, SOURCE_CONNECTOR, ClusterAlias, TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.core.positions.log_identity import HEADER, Lineage
from mm2.errors import SchemaError

_NOTHING_YET: Final = encode_offset(NO_OFFSET)
"""
The position of a partition of which nothing is mirrored yet, and which begins at offset 0.

Java takes it for no position (C207). It keeps ``auto.offset.reset=latest`` from passing over what
was written between a first look at an empty partition and a restart.
"""

_ANY_TOPIC: Final = TopicName("T")


class StoredRecord(Protocol):
    """A record of the positions topic, as ``mm2.kafka.logs.read_log`` reads it."""

    @property
    def partition(self) -> int:
        """Of the positions topic."""
        ...

    @property
    def timestamp_ms(self) -> int:
        """When it was written."""
        ...

    @property
    def key(self) -> bytes | None:
        """What it is about."""
        ...

    @property
    def value(self) -> bytes | None:
        """The position; None resets it."""
        ...

    @property
    def headers(self) -> Collection[tuple[str, bytes | None]]:
        """Names and values."""
        ...


R = TypeVar("R", bound=StoredRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestRecords(Generic[R]):
    """
    The records that count, one for each source partition.

    Attributes:
        records: these, by source partition.
        offsets: what they say; None if a position was reset.
        contested: source partitions of which the positions topic has different ones in different
            partitions of its own.
        elsewhere_ms: of source partitions, the time of the newest record that is not where the
            position is written now; what is written is to be newer.
    """

    records: dict[TopicPartition, R] = field(default_factory=dict)
    offsets: dict[TopicPartition, int | None] = field(default_factory=dict)
    contested: set[TopicPartition] = field(default_factory=set)
    elsewhere_ms: dict[TopicPartition, int] = field(default_factory=dict)

    def lineages(self) -> dict[TopicPartition, Lineage]:
        """The logs that the positions are of; those without a lineage were written by others."""
        return {
            where: Lineage.of(record.headers)
            for where, record in self.records.items()
            if any(name == HEADER for name, _ in record.headers)
        }


def newest_records(
    records: Iterable[R],
    source: ClusterAlias,
    connector: str = SOURCE_CONNECTOR,
    *,
    partitions: int | None = None,
) -> NewestRecords[R]:
    """
    Finds the record that counts for each source partition.

    A key is in one partition of the topic, where the order of the log decides what is the newest,
    unless the topic was given more partitions, or was written to by somebody who took it to have
    another number of them. Then it is in several, between which only the records' timestamps can
    tell; of equal ones the higher partition counts, where a key goes if partitions are added.

    Args:
        records: of the positions topic, those of each of its partitions in their order.
        partitions: how many the topic has, from which Connect's partitioner gives the one that is
            written to; None if nothing is to be written.
    """
    found: dict[TopicPartition, dict[int, R]] = {}
    newest: NewestRecords[R] = NewestRecords()
    for record in records:
        position = _decode(record.key, record.value, source, connector)
        if position is not None:
            found.setdefault(position[0], {})[record.partition] = record
            newest.offsets[position[0]] = position[1]
    for where, places in found.items():
        counts = max(places.values(), key=lambda each: (each.timestamp_ms, each.partition))
        newest.records[where] = counts
        if len(places) > 1:
            newest.offsets[where] = _offset(counts.value)
        if any(
            decode_offset(each.value) != decode_offset(counts.value) for each in places.values()
        ):
            newest.contested.add(where)
        if partitions is not None:
            given = partition_for(counts.key or b"", partitions)
            others = [each.timestamp_ms for each in places.values() if each.partition != given]
            if others:
                newest.elsewhere_ms[where] = max(others)
    return newest


def may_be_about(
    source: ClusterAlias, connector: str, partitions: Iterable[TopicPartition]
) -> Callable[[bytes | None], bool]:
    """
    Makes a filter of keys: it rejects those that are certainly about other partitions.

    It looks at a key's bytes, which costs a tenth of decoding it. What is not written as mm2 and
    Java write it, and what is not of this source and connector, is left to ``newest_records``.
    """
    keys = {encode_key(connector, SourcePartition(source, *each)) for each in partitions}
    pattern = re.escape(encode_key(connector, SourcePartition(source, _ANY_TOPIC, 0)))
    others = re.compile(
        pattern.replace(b'"partition":0', rb'"partition":(?:0|[1-9][0-9]*)').replace(
            _ANY_TOPIC.encode(), rb"[a-zA-Z0-9._-]+"
        )
    ).fullmatch
    return lambda key: key in keys or key is None or others(key) is None


def _decode(
    key: bytes | None, value: bytes | None, source: ClusterAlias, connector: str
) -> tuple[TopicPartition, int | None] | None:
    """
    The source partition and its position; None for a record that is not about this source.

    Records of other connectors, and records that are none of ours, are passed over: a Connect
    cluster may keep its offsets in the same topic.
    """
    try:
        owner, partition = decode_key(key or b"")
        offset = _offset(value)
    except SchemaError:
        return None
    if owner != connector or not isinstance(partition, SourcePartition):
        return None
    if partition.cluster != source:
        return None
    return TopicPartition(partition.topic, partition.partition), offset


def _offset(value: bytes | None) -> int | None:
    return NO_OFFSET if value == _NOTHING_YET else decode_offset(value)
