"""
Positions of mirroring: what the records of Connect's offsets topic say, and what may be written.

``mm2-offsets.<source>.internal`` holds, for each source partition, the upstream offset of the last
mirrored record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from mm2.core.connect_offsets import (
    SourcePartition,
    decode_key,
    decode_offset,
    encode_offset,
)
from mm2.core.lineage import HEADER, Lineage
from mm2.core.model import NO_OFFSET, SOURCE_CONNECTOR, ClusterAlias, TopicPartition
from mm2.errors import SchemaError

_NOTHING_YET: Final = encode_offset(NO_OFFSET)
"""
The position of a partition of which nothing is mirrored yet, and which begins at offset 0.

Java takes it for no position (C207). It keeps ``auto.offset.reset=latest`` from passing over what
was written between a first look at an empty partition and a restart.
"""


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
