"""
Fetch sessions (KIP-227): a broker remembers what we fetch; both sides tell only what changes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Final

from mm2.core.model import TopicPartition
from mm2.kafka.wire.codes import Code
from mm2.kafka.wire.requests import FetchAnswer

NO_SESSION: Final = 0
_FIRST_EPOCH: Final = 0
_LAST_EPOCH: Final = 0x7FFF_FFFF


@dataclass(frozen=True, slots=True)
class Step:
    """
    What one request of a session says.

    Attributes:
        session: its id; 0 asks for a new one.
        epoch: number of the request in it; 0 begins it with all that is wanted.
        topics: for each topic (partition, offset, max bytes) of what is new or has moved.
        forgotten: partitions of each topic that are no longer wanted.
    """

    session: int
    epoch: int
    topics: dict[str, list[tuple[int, int, int]]]
    forgotten: dict[str, list[int]]


class FetchSession:
    """
    Our side of a session with one broker; one request at a time.

    Within a session the broker moves partitions that had data to the end of its list; without one
    (it may have no room for it) partitions whose offset moved go to the end here. So none starves.

    Args:
        max_partition_bytes: asked of each partition.
    """

    def __init__(self, max_partition_bytes: int) -> None:
        self._most = max_partition_bytes
        self._wanted: dict[TopicPartition, int] = {}
        self._changed: dict[TopicPartition, None] = {}
        self._known: set[TopicPartition] = set()
        self._gone: set[TopicPartition] = set()
        self._session = NO_SESSION
        self._epoch = _FIRST_EPOCH

    @property
    def is_empty(self) -> bool:
        """Whether nothing is wanted."""
        return not self._wanted

    def offset(self, partition: TopicPartition) -> int | None:
        """Where a partition is wanted from; None if it is not."""
        return self._wanted.get(partition)

    def want(self, partition: TopicPartition, offset: int) -> None:
        """From now on fetches the partition from this offset."""
        if self._wanted.get(partition) != offset:
            self._wanted.pop(partition, None)
            self._wanted[partition] = offset
            self._changed[partition] = None
            self._gone.discard(partition)

    def drop(self, partition: TopicPartition) -> None:
        """From now on does not fetch the partition."""
        if self._wanted.pop(partition, None) is not None:
            self._changed.pop(partition, None)
            if partition in self._known:
                self._gone.add(partition)

    def retain(self, partitions: Container[TopicPartition]) -> None:
        """From now on fetches none but these."""
        for partition in [p for p in self._wanted if p not in partitions]:
            self.drop(partition)

    def next(self) -> Step:
        """What to ask now."""
        if self._epoch == _FIRST_EPOCH:
            self._known.clear()
            self._gone.clear()
            self._changed = dict.fromkeys(self._wanted)
        step = Step(self._session, self._epoch, self._asked(self._changed), _by_topic(self._gone))
        self._known -= self._gone
        self._known |= self._changed.keys()
        self._gone.clear()
        self._changed.clear()
        return step

    def answered(self, answer: FetchAnswer | None) -> None:
        """
        Learns how the broker took the request; None is no answer.

        After trouble a new session begins; if the broker still knows the old one, the first
        request of the new one ends it.
        """
        if answer is None or answer.error == Code.INVALID_FETCH_SESSION_EPOCH:
            self._epoch = _FIRST_EPOCH
        elif answer.error or answer.session == NO_SESSION:
            self._session, self._epoch = NO_SESSION, _FIRST_EPOCH
        else:
            self._session = answer.session
            self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1

    def _asked(self, partitions: Iterable[TopicPartition]) -> dict[str, list[tuple[int, int, int]]]:
        topics: dict[str, list[tuple[int, int, int]]] = {}
        for partition in partitions:
            asked = (partition.partition, self._wanted[partition], self._most)
            topics.setdefault(partition.topic, []).append(asked)
        return topics


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics
