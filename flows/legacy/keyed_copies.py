"""
Copies in the partitions that keys lead to, as Java's producer has it.

Compiled code divides whole batches. Python does it record by record until that is compiled, and for
formats before record batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from flows.legacy.chunk_copies import ChunkCopies
from flows.legacy.handled_copies import PartitionsOf
from flows.source.forward.merge_batches import common_codec
from flows.source.forward.recode import batch_of, joined
from flows.source.forward.record_batch import Batch
from flows.source.forward.record_body import key_of
from mm2.core.model import TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.kafka.wire.compiled import compile_division, divide
from mm2.kafka.wire.compression import MOST_PLAIN, Compression

_MOST_TOGETHER: Final = 1 << 20
"""Bytes of batches that are divided in one go, as they were fetched."""

_MOST_PLAIN_TOGETHER: Final = 64 << 20
"""The same, decompressed; a batch that is alone may have more."""

_partition_for = lru_cache(1 << 16)(partition_for)


class KeyedCopies:
    """
    Looks at keys, and at nothing else of a record.

    Args:
        compression: None keeps that of the source.
    """

    def __init__(self, partitions_of: PartitionsOf, compression: Compression | None) -> None:
        self._partitions_of = partitions_of
        self._compression = compression
        compile_division()

    async def copy(self, copies: ChunkCopies) -> None:
        """Copies a chunk; stops if its partition is given up meanwhile."""
        topic = copies.source.partition.source.topic
        partitions = await self._partitions_of(topic, topic, 1)
        for group, how in self._groups(copies.chunk.batches):
            if copies.source.is_given_up:
                return
            if not _divide(copies, topic, partitions, group, how):
                for batch in group:
                    own = self._compression or Compression(batch.codec)
                    if not _divide(copies, topic, partitions, [batch], own):
                        await _copy_each(copies, topic, partitions, batch, own)
            await asyncio.sleep(0)  # others must have their turn

    def _groups(self, batches: Iterable[Batch]) -> Iterator[tuple[list[Batch], Compression]]:
        """Neighbours that may become batches together."""
        group: list[Batch] = []
        size, how = 0, None
        for batch in batches:
            own = self._compression or Compression(batch.codec)
            both = common_codec(how, own)
            if how is not None and (both is None or size + len(batch.data) > _MOST_TOGETHER):
                yield group, how
                group, size, both = [], 0, own
            group.append(batch)
            size, how = size + len(batch.data), both or own
        if how is not None:
            yield group, how


def _divide(
    copies: ChunkCopies,
    topic: TopicName,
    partitions: int,
    group: Sequence[Batch],
    how: Compression,
) -> bool:
    """Sends copies of the records of some batches; False if that cannot be done in this way."""
    most = MOST_PLAIN if len(group) == 1 else _MOST_PLAIN_TOGETHER
    try:
        sections = divide(
            joined(group, most, together=most),
            copies.chunk.position,
            partitions=partitions,
            keyless=copies.keyless % partitions,
            most=copies.most_bytes(topic),
        )
    except ValueError:
        return False
    for partition, section in sections:
        data = batch_of(section, how, len(section.offsets))
        copies.add_batch(TopicPartition(topic, partition), data, section.offsets)
    copies.source.offsets.reach(group[-1].last_offset + 1)
    return True


async def _copy_each(
    copies: ChunkCopies, topic: TopicName, partitions: int, batch: Batch, how: Compression
) -> None:
    for record in await copies.read(batch):
        key = key_of(record.body)
        at = copies.keyless % partitions if key is None else _partition_for(key, partitions)
        copies.add(TopicPartition(topic, at), record, how)
        copies.source.offsets.reach(record.offset + 1)
