"""
Which acknowledged records become offset syncs (Java: ``OffsetSyncWriter``).

Java asks for every record. Our acknowledgements come for runs of records with consecutive offsets
on both sides, so the answer for a whole run is computed at once; it is the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mm2.core.internal_records import OffsetSync
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.translation.runs import Runs

MAX_IN_FLIGHT: Final = 10
"""Syncs that may be sent and not yet acknowledged (Java: ``MAX_OUTSTANDING_OFFSET_SYNCS``)."""


class PartitionState:
    """
    Decides for one source partition when a sync is due (Java: ``PartitionState``; C224, C225).

    Args:
        max_lag: ``offset.lag.max``, how far a group's translated offset may lag behind.
    """

    __slots__ = (
        "_last_sync_downstream",
        "_max_lag",
        "_previous_downstream",
        "_previous_upstream",
        "_should_sync",
    )

    def __init__(self, max_lag: int) -> None:
        self._max_lag = max_lag
        self._previous_upstream = NO_OFFSET
        self._previous_downstream = NO_OFFSET
        self._last_sync_downstream = NO_OFFSET
        self._should_sync = False

    def update(self, upstream: int, downstream: int) -> bool:
        """Notes one acknowledged record; True if a sync is due, now or since before the reset."""
        if self._is_due(upstream, downstream):
            self._last_sync_downstream = downstream
            self._should_sync = True
        self._previous_upstream = upstream
        self._previous_downstream = downstream
        return self._should_sync

    def update_range(self, upstream: int, downstream: int, count: int) -> range:
        """
        Notes ``count`` acknowledged records with consecutive offsets on both sides.

        Returns which of them are due, as indexes into the run, if each due sync is queued and the
        state reset at once. Takes the same time for any count.
        """
        if count < 1:
            return range(0)
        first = 0
        if not self.update(upstream, downstream):
            # Inside a run only the lag can make a sync due.
            first = max(self._last_sync_downstream + 1 + self._max_lag - downstream, 1)
        due = range(first, count, max(self._max_lag + 1, 1))
        if due:
            self._last_sync_downstream = downstream + due[-1]
        self._previous_upstream = upstream + count - 1
        self._previous_downstream = downstream + count - 1
        self.reset()
        return due

    def reset(self) -> None:
        """Notes that the due sync is on its way."""
        self._should_sync = False

    def _is_due(self, upstream: int, downstream: int) -> bool:
        never_synced = self._last_sync_downstream == NO_OFFSET
        too_far = downstream - (self._last_sync_downstream + 1) >= self._max_lag
        gap = upstream - self._previous_upstream != 1
        truncated = downstream < self._previous_downstream
        return never_synced or too_far or gap or truncated


@dataclass(slots=True)
class _PendingRun:
    partition: TopicPartition
    upstream: int
    downstream: int
    due: range

    def take(self) -> OffsetSync:
        index = self.due[0]
        self.due = self.due[1:]
        return OffsetSync(self.partition, self.upstream + index, self.downstream + index)


class OffsetSyncQueue:
    """
    The syncs of a task that wait to be sent (Java: ``OffsetSyncWriter``; C229-C235).

    A due sync is *pending*; the newest of a partition that is not due is *delayed*, and becomes
    pending when the task commits, so that idle partitions end up fully synced. What waits and is
    overtaken by newer syncs of its partition is dropped, and its place in the queue kept.

    Not safe to use from several threads.
    """

    def __init__(self, max_lag: int, max_in_flight: int = MAX_IN_FLIGHT) -> None:
        self._max_lag = max_lag
        self._permits = max_in_flight
        self._states: dict[TopicPartition, PartitionState] = {}
        self._pending: dict[TopicPartition, _PendingRun] = {}
        self._delayed: dict[TopicPartition, OffsetSync] = {}

    def acknowledged(
        self, partition: TopicPartition, upstream: int, downstream: int, count: int = 1
    ) -> None:
        """
        Notes that ``count`` records with consecutive offsets on both sides are on the target.

        Runs of a partition come in upstream order (C452). All due syncs of the run become pending,
        as they would if Java sent each before the next record was acknowledged.
        """
        if count < 1:
            return
        state = self._states.get(partition)
        if state is None:
            state = self._states[partition] = PartitionState(self._max_lag)
        due = state.update_range(upstream, downstream, count)
        if due:
            self._delayed.pop(partition, None)
            self._pending[partition] = _PendingRun(partition, upstream, downstream, due)
        last = count - 1
        if not due or due[-1] != last:
            self._delayed[partition] = OffsetSync(partition, upstream + last, downstream + last)

    def acknowledged_runs(self, partition: TopicPartition, runs: Runs) -> None:
        """
        Notes runs, as ``acknowledged`` does one by one.

        A run behind a gap is due whatever was before it, so that those before the last gap need no
        look: their syncs would be overtaken at once.
        """
        first = len(runs) - 1
        while first > 0 and runs[first].upstream == runs[first - 1].upstream_end:
            first -= 1
        for index in range(max(first, 0), len(runs)):
            self.acknowledged(partition, *runs[index])

    def promote_delayed(self) -> None:
        """Makes delayed syncs pending; call it when the task's positions are committed (C231)."""
        for partition, sync in self._delayed.items():
            self._pending[partition] = _PendingRun(
                partition, sync.upstream_offset, sync.downstream_offset, range(1)
            )
        self._delayed.clear()

    def fire(self) -> Iterator[OffsetSync]:
        """
        Yields the syncs to send now, oldest partition first, as long as permits last (C232, C233).

        Each one taken holds a permit until ``completed`` is called for it.
        """
        while self._permits and self._pending:
            partition, waiting = next(iter(self._pending.items()))
            self._permits -= 1
            sync = waiting.take()
            if not waiting.due:
                del self._pending[partition]
            yield sync

    def completed(self) -> None:
        """Notes that one sending has ended, well or not; a failed sync is not sent again (C233)."""
        self._permits += 1

    def forget(self, partition: TopicPartition) -> None:
        """Drops all that is known of a partition that this task no longer copies."""
        self._states.pop(partition, None)
        self._pending.pop(partition, None)
        self._delayed.pop(partition, None)
