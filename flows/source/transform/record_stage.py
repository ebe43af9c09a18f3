"""
The stage of a source task that has records changed, for partitions with a transform.

Each such partition has its own queue of fetched chunks, so that one that waits (for an asynchronous
handler, or for a dead letter) holds up no other. Within a partition records are handled one at a
time and in order.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial

from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.merge_batches import MergePolicy
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.transform.changed_batches import ChangedBatches, RoutedCommits
from flows.source.transform.chunk_transform import ChunkTransform
from flows.source.transform.fetched_chunk import FetchedChunk, append_or_merge, take_chunk
from flows.source.transform.target_routes import Routes
from mm2.core.model import TopicPartition
from mm2.kafka.wire.requests.fetch import FetchedPartition


class RecordStage:
    """
    Has fetched records changed, and sends what becomes of them.

    Args:
        partitions: of the task; may change at any time.
        freed: called when there is room again, and a position may have moved.
        routes: to other partitions of the target.
        commits: of what goes there; None: what the target has counts at once.
    """

    def __init__(
        self,
        producer: Producer,
        budget: MemoryBudget,
        errors: ErrorPolicy,
        partitions: Mapping[TopicPartition, MirroredPartition],
        *,
        read_committed: bool,
        policy: MergePolicy,
        freed: Callable[[MirroredPartition], None],
        routes: Routes,
        commits: RoutedCommits | None = None,
    ) -> None:
        self._budget = budget
        self._errors = errors
        self._read_committed = read_committed
        self._policy = policy
        self._freed = freed
        changed = ChangedBatches(producer, budget, errors, policy, freed, commits=commits)
        self._transform = ChunkTransform(changed, errors, partitions, policy, routes)
        self._chunks: dict[MirroredPartition, deque[FetchedChunk]] = {}
        self._begun: asyncio.Queue[MirroredPartition] = asyncio.Queue()
        self._is_over = False

    def take(self, partition: MirroredPartition, fetched: FetchedPartition) -> None:
        """Takes all whole batches from the partition's position on, and moves the position."""
        if partition.fetch.waits_for_overlap:
            return
        chunk = take_chunk(
            partition,
            fetched,
            read_committed=self._read_committed,
            unreadable=partial(self._errors.unreadable, partition, fetched.records),
        )
        partition.stats.saw_end(partition.fetch.end)
        if chunk is not None:
            self._queue(chunk)
        partition.advance_past_skipped()

    def supplied(self) -> None:
        """More is known of what the target has."""
        self._transform.supplied()

    async def run(self) -> None:
        """Has records changed, until cancelled."""
        async with asyncio.TaskGroup() as group:
            try:
                while True:
                    partition = await self._begun.get()
                    queue = self._chunks[partition]
                    job = self._work(partition, queue)
                    task = group.create_task(job, name=f"transform-{partition.source}")
                    task.add_done_callback(partial(self._ended, partition, queue))
            finally:
                self._is_over = True

    def _ended(
        self, partition: MirroredPartition, queue: deque[FetchedChunk], task: asyncio.Task[None]
    ) -> None:
        """Stops a partition whose transform has cancelled the task in which it is called."""
        if self._is_over or not task.cancelled() or not queue:
            return
        del self._chunks[partition]
        for chunk in queue:
            self._drop(chunk)
        if self._transform.is_current(queue[-1]):
            partition.fetch.go_back(partition.fetch.handed_on)
            at = f"offset {partition.fetch.position} or behind it"
            self._errors.stop(partition, f"the transform cancels its own asyncio task, at {at}")
        self._freed(partition)

    def _queue(self, chunk: FetchedChunk) -> None:
        self._budget.charge(chunk.size)
        chunk.partition.progress.enqueue(chunk.size)
        chunk.partition.fetch.leave_pending(chunk.position)
        queue = self._chunks.setdefault(chunk.partition, deque())
        append_or_merge(queue, chunk)
        if len(queue) == 1:
            self._begun.put_nowait(chunk.partition)

    async def _work(self, partition: MirroredPartition, queue: deque[FetchedChunk]) -> None:
        while queue:
            chunk = queue[0]
            if self._transform.is_current(chunk):
                await self._transform.change(chunk)
            self._drop(queue.popleft())
            if self._transform.is_current(chunk):
                partition.fetch.hand_on(queue[0].position if queue else None)
                partition.fetch.reset_failed_reads()
            partition.advance_past_skipped()
            self._freed(partition)
        del self._chunks[partition]

    def _drop(self, chunk: FetchedChunk) -> None:
        self._budget.release(chunk.size)
        chunk.partition.progress.dequeue(chunk.size)
