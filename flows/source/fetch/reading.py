"""
What is read from one node: which partitions, from where, and which to check again.

A task may have thousands of partitions, most of them idle. What an idle one needs is decided once;
only those with records under way, those that wait, and those that had an answer are checked
before each fetch, and once more when a transaction with their records has ended. All are, whenever
partitions or their readers change, and at intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from flows.source.mirrored_partition import MirroredPartition
from mm2.config.record_clients import DataSettings
from mm2.core.model import TopicPartition
from mm2.kafka.wire.requests.fetch import FetchedPartition, FetchRequest
from mm2.kafka.wire.sessions import FetchSession

_SHORT_WAIT_MS: Final = 20
"""While a partition waits for room, the others may not hold up the next fetch for long."""

_ALL_EVERY_S: Final = 0.5
_MOST_DOUBLINGS: Final = 4
CHECKED_IN_A_SECOND: Final = 50
"""Thousands of partitions are all checked less often; changes are signalled anyway."""


class NodeReading:
    """
    The partitions that one node is asked for.

    Attributes:
        are_waiting: whether partitions are left out because they lack room or are paused.
    """

    def __init__(
        self, max_partition_bytes: int, may_fetch: Callable[[MirroredPartition], bool]
    ) -> None:
        self.session = FetchSession(max_partition_bytes)
        self.are_waiting = False
        self._may_fetch = may_fetch
        self._all: dict[TopicPartition, MirroredPartition] = {}
        self._active: dict[TopicPartition, MirroredPartition] = {}
        self._uncommitted: dict[TopicPartition, MirroredPartition] = {}
        self._generation = -1
        self._seen_all_at = 0.0

    def is_due(self, generation: int, now: float) -> bool:
        """Whether all partitions must be checked: there were changes, or it is some time ago."""
        every_s = _ALL_EVERY_S + len(self._all) / CHECKED_IN_A_SECOND
        return generation != self._generation or now >= self._seen_all_at + every_s

    def assign(self, partitions: Iterable[MirroredPartition], generation: int, now: float) -> bool:
        """Sets the partitions of the node, all to be checked; False if there are none."""
        self._all = {partition.source: partition for partition in partitions}
        self._active, self._uncommitted = dict(self._all), {}
        self._generation, self._seen_all_at = generation, now
        self.session.retain(self._all)
        return bool(self._all)

    @property
    def active(self) -> list[MirroredPartition]:
        """The partitions to check."""
        return list(self._active.values())

    @property
    def is_under_way(self) -> bool:
        """Whether something has come that the target does not have yet."""
        return any(partition.progress.queued for partition in self._active.values())

    def sort(self) -> None:
        """Decides what is fetched next."""
        self.are_waiting = False
        self._check_uncommitted()
        for source, partition in list(self._active.items()):
            if self._may_fetch(partition):
                # The batch behind a damaged one shows where that ends.
                self.session.fetch(
                    source,
                    partition.fetch.position or 0,
                    partition.validation.topic_id,
                    doublings=min(partition.fetch.failed_reads, _MOST_DOUBLINGS),
                )
                if not partition.progress.queued:
                    del self._active[source]
                    if partition.progress.uncommitted:
                        self._uncommitted[source] = partition
            else:
                self.session.drop(source)
                self.are_waiting |= partition.error is None and partition.remote.is_there

    def _check_uncommitted(self) -> None:
        """Checks partitions again whose transaction has ended: their records may come back."""
        ended = [s for s, each in self._uncommitted.items() if not each.progress.uncommitted]
        for source in ended:
            self._active[source] = self._uncommitted.pop(source)

    def is_idle(self, generation: int) -> bool:
        """Whether all partitions are fetched, and nothing is under way that may come back."""
        return generation == self._generation and not self._active and not self._uncommitted

    def next_request(
        self, settings: DataSettings, wait_ms: int, max_bytes: int, rack: str
    ) -> FetchRequest:
        """The next fetch of the session; its outcome must be given to ``session.answered``."""
        step = self.session.next()
        return FetchRequest(
            max_wait_ms=_SHORT_WAIT_MS if self.are_waiting else wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=max_bytes,
            read_committed=settings.read_committed,
            topics=step.topics,
            rack=rack,
            session=step.session,
            epoch=step.epoch,
            forgotten=step.forgotten,
            by_id=step.by_id,
        )

    def answered(self, answer: FetchedPartition) -> MirroredPartition | None:
        """
        Returns the partition of an answer, which is to be checked again.

        None if the answer is not to what is now asked: it is gone, or stopped or moved meanwhile,
        or of a topic that was there before.
        """
        source = self.session.partition(answer.topic, answer.partition)
        partition = None if source is None else self._all.get(source)
        if source is None or partition is None:
            return None
        self._active[source] = partition
        return partition if partition.fetch.position == self.session.offset(source) else None
