"""Fetch sessions (KIP-227): a broker remembers what we fetch; both sides tell only what changes."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.fetch import FetchAnswer, Topic

NO_SESSION: Final = 0
_FIRST_EPOCH: Final = 0
_LAST_EPOCH: Final = 0x7FFF_FFFF


@dataclass(frozen=True, slots=True)
class SessionStep:
    """
    What one request of a session says.

    Attributes:
        session: its id; 0 asks for a new one.
        epoch: number of the request in it; 0 begins it with all that is wanted.
        topics: for each topic (partition, offset, max bytes) of what is new or has moved.
    """

    session: int
    epoch: int
    topics: dict[Topic, list[tuple[int, int, int]]]
    forgotten: dict[Topic, list[int]]
    by_id: bool = False


@dataclass(frozen=True, slots=True)
class _PartitionData:
    """From where a partition is wanted, of which topic (None: its id is not known), how much."""

    offset: int
    topic_id: UUID | None
    most: int


class FetchSession:
    """
    Our side of a session with one broker; one request at a time.

    Within a session the broker moves partitions that had data to the end of its list; without one
    (it may have no room for it) partitions whose offset moved go to the end here. So none starves.

    Topics are asked for by their ids once the ids of all are known, unless the broker is too old; a
    session knows either ids or names, so that a new one begins when that changes.
    """

    def __init__(self, max_partition_bytes: int) -> None:
        self._most = max_partition_bytes
        self._partitions: dict[TopicPartition, _PartitionData] = {}
        self._changed: dict[TopicPartition, None] = {}
        self._known: dict[TopicPartition, UUID | None] = {}
        self._gone: set[tuple[TopicPartition, UUID | None]] = set()
        self._no_id: set[TopicPartition] = set()
        self._names: dict[UUID, TopicName] = {}
        self._by_id = False
        self._takes_ids = True
        self._session = NO_SESSION
        self._epoch = _FIRST_EPOCH

    @property
    def is_empty(self) -> bool:
        """Whether nothing is wanted."""
        return not self._partitions

    def offset(self, partition: TopicPartition) -> int | None:
        """Where a partition is wanted from; None if it is not."""
        data = self._partitions.get(partition)
        return None if data is None else data.offset

    def partition(self, topic: Topic, number: int) -> TopicPartition | None:
        """The partition that an answer means; None if it is of a topic that was there before."""
        if isinstance(topic, str):
            return TopicPartition(TopicName(topic), number)
        name = self._names.get(topic)
        found = None if name is None else TopicPartition(name, number)
        data = None if found is None else self._partitions.get(found)
        return found if data is not None and data.topic_id == topic else None

    def fetch(
        self,
        partition: TopicPartition,
        offset: int,
        topic_id: UUID | None = None,
        *,
        doublings: int = 0,
    ) -> None:
        """
        From now on fetches the partition from this offset, of the topic with this id.

        Args:
            topic_id: None if it is not known.
            doublings: how often the bytes that are asked for are doubled.
        """
        data = _PartitionData(offset, topic_id, self._most << doublings)
        if self._partitions.get(partition) != data:
            self._partitions.pop(partition, None)
            self._partitions[partition] = data
            self._changed[partition] = None
            self._note_id(partition, topic_id)

    def _note_id(self, partition: TopicPartition, topic_id: UUID | None) -> None:
        if topic_id is None:
            self._no_id.add(partition)
        else:
            self._no_id.discard(partition)
            self._names[topic_id] = partition.topic
        self._gone.discard((partition, topic_id))
        known = self._known.get(partition, topic_id)
        if known != topic_id:
            self._gone.add((partition, known))

    def drop(self, partition: TopicPartition) -> None:
        """From now on does not fetch the partition."""
        if self._partitions.pop(partition, None) is not None:
            self._changed.pop(partition, None)
            self._no_id.discard(partition)
            if partition in self._known:
                self._gone.add((partition, self._known[partition]))

    def retain(self, partitions: Container[TopicPartition]) -> None:
        """From now on fetches none but these."""
        for partition in [p for p in self._partitions if p not in partitions]:
            self.drop(partition)

    def next(self) -> SessionStep:
        """What to ask now."""
        by_id = bool(self._partitions) and not self._no_id and self._takes_ids
        if self._partitions and by_id != self._by_id:
            self._by_id, self._epoch = by_id, _FIRST_EPOCH
        if self._epoch == _FIRST_EPOCH:
            self._known.clear()
            self._gone.clear()
            self._changed = dict.fromkeys(self._partitions)
        step = SessionStep(
            self._session,
            self._epoch,
            self._asked(self._changed),
            self._forgotten(),
            by_id=self._by_id,
        )
        for partition, topic_id in self._gone:
            if self._known.get(partition) == topic_id:
                self._known.pop(partition, None)
        self._known |= {each: self._partitions[each].topic_id for each in self._changed}
        self._gone.clear()
        self._changed.clear()
        return step

    def answered(self, answer: FetchAnswer | None, *, takes_ids: bool = True) -> None:
        """
        Learns how the broker took the request; None is no answer.

        After trouble a new session begins; if the broker still knows the old one, the first
        request of the new one ends it.

        Args:
            takes_ids: False if there is none because the broker does not know ids of topics: then
                it is asked by names until it is gone for a moment, as it is when it is upgraded.
        """
        if answer is None:
            self._takes_ids = takes_ids
        if answer is None or answer.error == Code.INVALID_FETCH_SESSION_EPOCH:
            self._epoch = _FIRST_EPOCH
        elif answer.error or answer.session == NO_SESSION:
            self._session, self._epoch = NO_SESSION, _FIRST_EPOCH
        else:
            self._session = answer.session
            self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1

    def _asked(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[Topic, list[tuple[int, int, int]]]:
        topics: dict[Topic, list[tuple[int, int, int]]] = {}
        for partition in partitions:
            data = self._partitions[partition]
            asked = (partition.partition, data.offset, data.most)
            topics.setdefault(self._called(partition, data.topic_id), []).append(asked)
        return topics

    def _forgotten(self) -> dict[Topic, list[int]]:
        topics: dict[Topic, list[int]] = {}
        for partition, topic_id in self._gone:
            called, data = self._called(partition, topic_id), self._partitions.get(partition)
            # What is called the same is not another one to the broker.
            if data is None or called != self._called(partition, data.topic_id):
                topics.setdefault(called, []).append(partition.partition)
        return topics

    def _called(self, partition: TopicPartition, topic_id: UUID | None) -> Topic:
        return topic_id if self._by_id and topic_id is not None else partition.topic
