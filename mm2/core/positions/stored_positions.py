"""
Positions of mirroring: what the records of Connect's offsets topic say, and what may be written.

``mm2-offsets.<source>.internal`` holds, for each source partition, the upstream offset of the last
mirrored record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, TypeVar

from mm2.core.connect.offset_records import (
    SourcePartition,
    decode_key,
    decode_offset,
    encode_offset,
)
from mm2.core.model import NO_OFFSET, SOURCE_CONNECTOR, ClusterAlias, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.core.positions.log_identity import HEADER, Lineage
from mm2.errors import SchemaError

_NOTHING_YET: Final = encode_offset(NO_OFFSET)
"""
The position of a partition of which nothing is mirrored yet, and which begins at offset 0.

Java takes it for no position (C207). It keeps ``auto.offset.reset=latest`` from passing over what
was written between a first look at an empty partition and a restart.
"""


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


R = TypeVar("R", bound=StoredRecord)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestRecords(Generic[R]):
    """
    The records that count, one for each source partition.

    Attributes:
        records: these, in no order.
        contested: source partitions of which the positions topic says different things in different
            partitions of its own.
        elsewhere_ms: of source partitions, the time of the newest record that is not where the
            position is written now; what is written is to be newer.
    """

    records: list[R] = field(default_factory=list)
    contested: set[TopicPartition] = field(default_factory=set)
    elsewhere_ms: dict[TopicPartition, int] = field(default_factory=dict)


def newest_records(
    records: Iterable[R],
    source: ClusterAlias,
    connector: str = SOURCE_CONNECTOR,
    *,
    partitions: int | None = None,
) -> NewestRecords[R]:
    """
    Finds the record that counts for each source partition.

    A key is in one partition of the topic, where the order of the log says what is the newest,
    unless the topic was given more partitions, or was written to by somebody who took it to have
    another number of them. Then it is in several, between which only the records' timestamps can
    tell; of equal ones the higher partition counts, where a key goes if partitions are added.

    Args:
        records: of the positions topic, those of each of its partitions in their order.
        source: whose partitions.
        connector: whose positions.
        partitions: how many the topic has, from which Connect's partitioner gives the one that is
            written to; None if nothing is to be written.
    """
    found: dict[TopicPartition, dict[int, R]] = {}
    for record in records:
        for where in last_positions([(record.key, record.value)], source, connector):
            found.setdefault(where, {})[record.partition] = record
    newest: NewestRecords[R] = NewestRecords()
    for where, places in found.items():
        counts = max(places.values(), key=lambda each: (each.timestamp_ms, each.partition))
        newest.records.append(counts)
        if any(_offset(each) != _offset(counts) for each in places.values()):
            newest.contested.add(where)
        if partitions is not None:
            given = partition_for(counts.key or b"", partitions)
            others = [each.timestamp_ms for each in places.values() if each.partition != given]
            if others:
                newest.elsewhere_ms[where] = max(others)
    return newest


def _offset(record: StoredRecord) -> int | None:
    return decode_offset(record.value)


def positions_of(
    records: Iterable[tuple[bytes | None, bytes | None]], source: ClusterAlias
) -> dict[TopicPartition, int]:
    """
    The last position of each partition of ``source``, from the records of the positions topic.
    """
    last = last_positions(records, source)
    return {where: offset for where, offset in last.items() if offset is not None}


def lineages_of(
    records: Iterable[tuple[bytes | None, bytes | None, Collection[tuple[str, bytes | None]]]],
    source: ClusterAlias,
    connector: str = SOURCE_CONNECTOR,
) -> dict[TopicPartition, Lineage]:
    """
    What the last position of each partition of ``source`` says of the logs that it speaks of.

    Positions without a lineage were written by others, and are left out.

    Args:
        records: key, value and headers of the records of the positions topic.
        source: the cluster.
        connector: whose positions.
    """
    lineages: dict[TopicPartition, Lineage] = {}
    for key, value, headers in records:
        has_lineage = any(name == HEADER for name, _ in headers)
        for where in last_positions([(key, value)], source, connector):
            lineages.pop(where, None)
            if has_lineage:
                lineages[where] = Lineage.of(headers)
    return lineages


def last_positions(
    records: Iterable[tuple[bytes | None, bytes | None]],
    source: ClusterAlias,
    connector: str = SOURCE_CONNECTOR,
) -> dict[TopicPartition, int | None]:
    """
    As ``positions_of``, with None for partitions whose position was reset.

    Records of other connectors, and records that are none of ours, are passed over: a Connect
    cluster may keep its offsets in the same topic.
    """
    positions: dict[TopicPartition, int | None] = {}
    for key, value in records:
        try:
            owner, partition = decode_key(key or b"")
            offset = decode_offset(value)
        except SchemaError:
            continue
        if owner != connector or not isinstance(partition, SourcePartition):
            continue
        if partition.cluster != source:
            continue
        where = TopicPartition(partition.topic, partition.partition)
        positions[where] = NO_OFFSET if value == _NOTHING_YET else offset
    return positions
