"""Copies of what a message handler makes of records."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Final

from flows.legacy.chunk_copies import ChunkCopies
from flows.source.forward.dead_letters import Failure
from flows.source.forward.record_body import DecodedRecord
from flows.source.transform.message_handler import (
    Handle,
    WrongRecords,
    copy_of,
    handled,
    source_record,
)
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.model import TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.errors import ClusterError
from mm2.kafka.wire.compression import Compression
from mm2.kafka.wire.error_codes import Code

_HANDLER: Final = "TRANSFORMATION"
"""Connect's name of the stage at which the user's code fails."""

_OF_CODECS: Final = tuple(map(Compression, range(8)))
"""By their numbers, which have three bits."""

_partition_for = lru_cache(1 << 16)(partition_for)

PartitionsOf = Callable[[TopicName, TopicName, int], Awaitable[int]]
"""
The number of partitions of a topic of the target.

It prepares the topic if that has fewer than asked for, as the second one is on the source.
"""


class HandledCopies:
    """
    Hands records to the handler, one at a time.

    Args:
        repartitions: whether keys decide about the partitions of unchanged records.
        compression: None keeps that of the source.
    """

    def __init__(
        self,
        handle: Handle,
        *,
        repartitions: bool,
        partitions_of: PartitionsOf,
        compression: Compression | None,
    ) -> None:
        self._handle = handle
        self._repartitions = repartitions
        self._partitions_of = partitions_of
        self._compression = compression

    async def copy(self, copies: ChunkCopies) -> None:
        """Copies a chunk; stops if its partition is given up meanwhile."""
        source = copies.source
        counts: dict[str, int] = {}
        for batch in copies.chunk.batches:
            how = self._compression or _OF_CODECS[batch.codec]
            for record in await copies.read(batch):
                found = await self._handled(copies, record, counts)
                if source.is_given_up:
                    return
                for target, copy in found:
                    copies.add(target, copy, how)
                source.offsets.reach(record.offset + 1)
            await asyncio.sleep(0)  # others must have their turn

    async def _handled(
        self, copies: ChunkCopies, record: DecodedRecord, counts: dict[str, int]
    ) -> list[tuple[TopicPartition, DecodedRecord]]:
        """What a record becomes; ``counts`` has the partitions of topics that were seen."""
        where = copies.source.partition.source
        try:
            read = source_record(where, record)
            found = []
            for each in await handled(self._handle, read):
                copy = copy_of(each, read, record)
                wanted = self._wanted(each)
                # Where a record stays in its partition, its topic grows with the source's.
                least = where.partition + 1 if wanted == where.partition else 1
                if counts.get(each.topic, 0) < least:
                    topic = TopicName(each.topic)
                    counts[topic] = await self._partitions_of(topic, where.topic, least)
                at = _partition(each, wanted, counts[each.topic], copies.keyless)
                found.append((TopicPartition(TopicName(each.topic), at), copy))
        except ClusterError:
            raise
        except Exception as error:  # noqa: BLE001 - the handler is the user's
            failure = Failure(
                source=where,
                offset=record.offset,
                stage=_HANDLER,
                code=Code.UNKNOWN_SERVER_ERROR,
                reason=f"the message handler fails at offset {record.offset}: {error!r}",
            )
            await copies.failed(failure, record)
            return []
        return found

    def _wanted(self, record: SourceRecord | TargetRecord) -> int | None:
        """The partition that a record names; None has its key decide."""
        wanted = record.partition
        if wanted is None or (self._repartitions and isinstance(record, SourceRecord)):
            return None
        if type(wanted) is not int or wanted < 0:
            raise WrongRecords(f"{wanted!r} is no partition")
        return wanted


def _partition(
    record: SourceRecord | TargetRecord, wanted: int | None, partitions: int, keyless: int
) -> int:
    if wanted is None:
        key = record.key
        return keyless % partitions if key is None else _partition_for(key, partitions)
    if wanted >= partitions:
        raise WrongRecords(f"{record.topic} has {partitions} partitions, and none is {wanted}")
    return wanted
