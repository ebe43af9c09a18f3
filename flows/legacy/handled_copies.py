"""Copies of what a message handler makes of records."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Final, NamedTuple

from flows.legacy.chunk_copies import ChunkCopies
from flows.source.forward.dead_letters import TRANSFORMED, Failure
from flows.source.forward.record_body import DecodedRecord
from flows.source.transform.message_handler import (
    Handle,
    WrongRecords,
    copy_of,
    handled,
    named_partition,
    source_record,
)
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.model import TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.kafka.wire.compression import Compression
from mm2.kafka.wire.error_codes import Code

_OF_CODECS: Final = tuple(map(Compression, range(8)))
"""By their numbers, which have three bits."""

_partition_for = lru_cache(1 << 16)(partition_for)

PartitionsOf = Callable[[TopicName, TopicName, int], Awaitable[int]]
"""
The number of partitions of a topic of the target.

It prepares the topic if that has fewer than asked for, as the second one is on the source.
"""


class _Made(NamedTuple):
    """A copy, and where it goes; ``wanted`` of None has its key decide."""

    topic: TopicName
    key: bytes | None
    wanted: int | None
    copy: DecodedRecord


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
            made = await self._made(where, record)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the handler is the user's
            return await _failed(copies, record, error)
        try:
            return [
                (await self._target(each, where, counts, copies.keyless), each.copy)
                for each in made
            ]
        except WrongRecords as error:
            return await _failed(copies, record, error)

    async def _made(self, where: TopicPartition, record: DecodedRecord) -> list[_Made]:
        """Runs the user's code, which may raise anything, also what the clusters' errors are."""
        read = source_record(where, record)
        return [
            _Made(TopicName(each.topic), each.key, self._wanted(each), copy_of(each, read, record))
            for each in await handled(self._handle, read)
        ]

    async def _target(
        self, made: _Made, source: TopicPartition, counts: dict[str, int], keyless: int
    ) -> TopicPartition:
        # Where a record stays in its partition, its topic grows with the source's.
        least = source.partition + 1 if made.wanted == source.partition else 1
        if counts.get(made.topic, 0) < least:
            counts[made.topic] = await self._partitions_of(made.topic, source.topic, least)
        return TopicPartition(made.topic, _partition(made, counts[made.topic], keyless))

    def _wanted(self, record: SourceRecord | TargetRecord) -> int | None:
        """The partition that a record names; None has its key decide."""
        if self._repartitions and isinstance(record, SourceRecord):
            return None
        return named_partition(record)


def _partition(made: _Made, partitions: int, keyless: int) -> int:
    if made.wanted is None:
        key = made.key
        return keyless % partitions if key is None else _partition_for(key, partitions)
    if made.wanted >= partitions:
        raise WrongRecords(f"{made.topic} has {partitions} partitions, and none is {made.wanted}")
    return made.wanted


async def _failed(
    copies: ChunkCopies, record: DecodedRecord, error: BaseException
) -> list[tuple[TopicPartition, DecodedRecord]]:
    """Nothing becomes of a record; returns only if it may be skipped."""
    failure = Failure(
        source=copies.source.partition.source,
        offset=record.offset,
        stage=TRANSFORMED,
        code=Code.UNKNOWN_SERVER_ERROR,
        reason=f"the message handler fails at offset {record.offset}: {error!r}",
    )
    await copies.failed(failure, record)
    return []
