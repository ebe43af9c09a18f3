"""Copies records one by one: for message handlers, and where keys decide about partitions."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Protocol

from flows.legacy.chunk_copies import ChunkCopies
from flows.legacy.copies_under_way import CopiesUnderWay, SourceCopies
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.mirrored_partition import MirroredPartition
from flows.source.transform.fetched_chunk import FetchedChunk, take_chunk
from mm2.config.record_clients import DataSettings
from mm2.kafka.wire.requests.fetch import FetchedPartition


class CopyChunk(Protocol):
    """Makes copies of fetched records."""

    async def copy(self, copies: ChunkCopies) -> None:
        """Copies a chunk; stops if its partition is given up meanwhile."""


class RecordCopier:
    """
    Takes fetched records apart, and sends what becomes of them.

    Args:
        chunks: makes the copies.
    """

    def __init__(
        self,
        chunks: CopyChunk,
        *,
        data: DataSettings,
        under_way: CopiesUnderWay,
        budget: MemoryBudget,
        errors: ErrorPolicy,
    ) -> None:
        self._copies = chunks
        self._data = data
        self._under_way = under_way
        self._budget = budget
        self._errors = errors
        self._chunks: deque[tuple[FetchedChunk, SourceCopies]] = deque()
        self._has_chunks = asyncio.Event()

    def take(self, partition: MirroredPartition, fetched: FetchedPartition) -> None:
        """Takes all whole batches from the partition's position on, and moves the position."""
        chunk = take_chunk(
            partition,
            fetched,
            read_committed=self._data.read_committed,
            unreadable=partial(self._errors.unreadable, partition, fetched.records),
        )
        if chunk is not None:
            self._budget.charge(chunk.size)
            partition.progress.enqueue(chunk.size)
            partition.progress.begin_copies()
            self._chunks.append((chunk, self._under_way.source(partition, chunk.position)))
            self._has_chunks.set()

    async def run(self) -> None:
        """Copies in order until cancelled; then what is half copied is sent, and no more."""
        try:
            while True:
                while not self._chunks:
                    self._has_chunks.clear()
                    await self._has_chunks.wait()
                await self._copy(*self._chunks[0])
                self._done(*self._chunks.popleft())
        finally:
            while self._chunks:
                self._done(*self._chunks.popleft())

    async def wait_for_copies(self, partitions: Iterable[MirroredPartition]) -> None:
        """Waits until the target has all copies of what was read of some partitions."""
        await self._under_way.wait_for_copies(partitions)

    def forget(self, partition: MirroredPartition) -> None:
        """Takes no more of what was read of a partition."""
        self._under_way.forget(partition)

    def _done(self, chunk: FetchedChunk, source: SourceCopies) -> None:
        self._budget.release(chunk.size)
        chunk.partition.progress.dequeue(chunk.size)
        chunk.partition.progress.end_copies()
        source.update()
        self._under_way.advanced()

    async def _copy(self, chunk: FetchedChunk, source: SourceCopies) -> None:
        if source.is_given_up:
            return
        copies = ChunkCopies(chunk, source, self._under_way, batch_size=self._data.batch_size)
        try:
            await self._copies.copy(copies)
            source.offsets.reach(chunk.end)
        finally:
            if not source.is_given_up:
                copies.send()
