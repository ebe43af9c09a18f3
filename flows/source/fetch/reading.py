"""
What is read from one node: which partitions, from where, and which to look at again.

A task may have thousands of partitions, most of them idle. What an idle one needs is decided once;
only those that something is under way of, that wait for something, or that had an answer are
looked at before each fetch. All are, whenever partitions or their readers change, and now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from flows.source.mirrored_partition import MirroredPartition
from mm2.core.model import TopicPartition
from mm2.kafka.wire.requests.fetch import FetchedPartition
from mm2.kafka.wire.sessions import FetchSession

_ALL_EVERY_S: Final = 0.5
_MOST_DOUBLINGS: Final = 4
LOOKED_AT_IN_A_SECOND: Final = 50
"""Thousands of partitions are all looked at less often: what changes tells so by itself."""


class NodeReading:
    """
    The partitions that one node is asked for.

    Args:
        max_partition_bytes: asked of each partition.
        may_fetch: whether a partition may be fetched just now.

    Attributes:
        session: what the node knows of it.
        are_waiting: whether some partitions cannot be fetched just now.
    """

    def __init__(
        self, max_partition_bytes: int, may_fetch: Callable[[MirroredPartition], bool]
    ) -> None:
        self.session = FetchSession(max_partition_bytes)
        self.are_waiting = False
        self._may_fetch = may_fetch
        self._all: dict[TopicPartition, MirroredPartition] = {}
        self._lively: dict[TopicPartition, MirroredPartition] = {}
        self._generation = -1
        self._seen_all_at = 0.0

    def is_due(self, generation: int, now: float) -> bool:
        """Whether all partitions must be looked at: there were changes, or it is some time ago."""
        every_s = _ALL_EVERY_S + len(self._all) / LOOKED_AT_IN_A_SECOND
        return generation != self._generation or now >= self._seen_all_at + every_s

    def assign(self, partitions: Iterable[MirroredPartition], generation: int, now: float) -> bool:
        """All partitions of the node, to be looked at; False if there are none."""
        self._all = {partition.source: partition for partition in partitions}
        self._lively = dict(self._all)
        self._generation, self._seen_all_at = generation, now
        self.session.retain(self._all)
        return bool(self._all)

    @property
    def lively(self) -> list[MirroredPartition]:
        """The partitions to look at."""
        return list(self._lively.values())

    @property
    def is_under_way(self) -> bool:
        """Whether something has come that the target does not have yet."""
        return any(partition.queued for partition in self._lively.values())

    def sort(self) -> None:
        """Decides what is fetched next."""
        self.are_waiting = False
        for source, partition in list(self._lively.items()):
            if self._may_fetch(partition):
                # What comes behind a damaged batch tells where that ends.
                self.session.want(
                    source,
                    partition.position or 0,
                    partition.topic_id,
                    doublings=min(partition.corrupt, _MOST_DOUBLINGS),
                )
                if not partition.queued:
                    del self._lively[source]
            else:
                self.session.drop(source)
                self.are_waiting |= partition.error is None and partition.is_remote_there

    def answered(self, answer: FetchedPartition) -> MirroredPartition | None:
        """
        The partition of an answer, which is to be looked at again.

        None if the answer is not to what is now asked: it is gone, or stopped or moved meanwhile,
        or of a topic that was there before.
        """
        source = self.session.partition(answer.topic, answer.partition)
        partition = None if source is None else self._all.get(source)
        if source is None or partition is None:
            return None
        self._lively[source] = partition
        return partition if partition.position == self.session.offset(source) else None
