"""
Fetch requests whose record batches stay bytes.

aiokafka's own classes copy each batch several times and drop what its consumer does not need.

Topics are asked for by their ids where brokers have them (KIP-516), which new topics do not share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from struct import Struct
from typing import ClassVar, NamedTuple, Self, TypeAlias, TypeVar
from uuid import UUID

from aiokafka.errors import IncompatibleBrokerVersion
from aiokafka.protocol.api import Request, Response

from mm2.errors import Unavailable
from mm2.kafka.wire.frame import (
    I32,
    NO_TAGS,
    Frame,
    FrameResponse,
    Payload,
    array,
    compact_array,
    compact_text,
    text,
)

_FETCH_HEAD = Struct(">iiiibii")
_FETCH_PARTITION = Struct(">iiqqi")
_FETCH_PARTITION_V13 = Struct(">iiqiqi")
_FETCHED = Struct(">ihqqq")
_TWO_I64 = Struct(">qq")
_CONSUMER = -1

Topic: TypeAlias = str | UUID
"""What a topic is asked for by: its name, or its id."""

Asked: TypeAlias = Sequence[tuple[int, int, int]]
"""Partition, offset and most bytes, of each partition of a topic."""

T = TypeVar("T", bound=Topic)


class NoTopicIds(Unavailable):
    """The broker cannot be asked for topics by their ids; by their names it can."""


class FetchedPartition(NamedTuple):
    """
    What a broker says of one partition.

    Attributes:
        topic: as it was asked for.
        high_watermark: first offset that is not yet replicated; -1 with an error.
        last_stable: first offset of the oldest open transaction, or the high watermark.
        log_start: first offset that the broker still has; -1 with an error.
        aborted: (producer id, first offset) of aborted transactions, in ``read_committed`` only.
        records: whole batches; the first may begin before the asked offset, the last may be cut.
        preferred_replica: node of a follower that should be asked instead (KIP-392); -1 is none.
    """

    topic: Topic
    partition: int
    error: int
    high_watermark: int
    last_stable: int
    log_start: int
    aborted: tuple[tuple[int, int], ...]
    records: memoryview
    preferred_replica: int = -1


class FetchAnswer(NamedTuple):
    """
    What a broker answers to a Fetch.

    Attributes:
        throttle_ms: how long we should not ask again, by our quota (KIP-219).
        partitions: those that were asked for; in a session only those with news.
    """

    throttle_ms: int
    error: int
    session: int
    partitions: Sequence[FetchedPartition]


class _FetchResponse(FrameResponse):
    API_KEY: ClassVar[int] = 1
    API_VERSION: ClassVar[int] = 11
    WITH_PREFERRED_REPLICA: ClassVar[bool] = True

    answer: FetchAnswer

    @property
    def throttle_ms(self) -> int:
        return self.answer.throttle_ms

    @classmethod
    def read(cls, frame: Frame) -> Self:
        response = cls()
        throttle_ms, error, session = frame.int32(), frame.int16(), frame.int32()
        partitions = []
        for _ in range(frame.int32()):
            topic = frame.text()
            partitions += [cls._partition(frame, topic) for _ in range(frame.int32())]
        response.answer = FetchAnswer(throttle_ms, error, session, partitions)
        return response

    @classmethod
    def _partition(cls, frame: Frame, topic: str) -> FetchedPartition:
        partition, error, high, stable, start = frame.unpack(_FETCHED)
        aborted = frame.array(lambda: frame.unpack(_TWO_I64))
        replica = frame.int32() if cls.WITH_PREFERRED_REPLICA else -1
        return FetchedPartition(
            topic,
            partition,
            error,
            high,
            stable,
            start,
            tuple((producer, first) for producer, first in aborted),
            frame.blob(),
            replica,
        )


class _FetchResponseV10(_FetchResponse):
    API_VERSION: ClassVar[int] = 10
    WITH_PREFERRED_REPLICA: ClassVar[bool] = False


class _FetchResponseV13(_FetchResponse):
    API_VERSION: ClassVar[int] = 13

    @classmethod
    def read(cls, frame: Frame) -> Self:
        response = cls()
        throttle_ms, error, session = frame.int32(), frame.int16(), frame.int32()
        partitions = list(chain.from_iterable(frame.compact_array(lambda: cls._topic(frame))))
        frame.skip_tags()
        response.answer = FetchAnswer(throttle_ms, error, session, partitions)
        return response

    @classmethod
    def _topic(cls, frame: Frame) -> list[FetchedPartition]:
        topic_id = frame.uuid() or UUID(int=0)
        partitions = frame.compact_array(lambda: cls._by_id(frame, topic_id))
        frame.skip_tags()
        return partitions

    @staticmethod
    def _by_id(frame: Frame, topic_id: UUID) -> FetchedPartition:
        partition, error, high, stable, start = frame.unpack(_FETCHED)
        aborted = frame.compact_array(lambda: _aborted(frame))
        replica, records = frame.int32(), frame.compact_blob()
        frame.skip_tags()
        return FetchedPartition(
            topic_id, partition, error, high, stable, start, tuple(aborted), records, replica
        )


def _aborted(frame: Frame) -> tuple[int, int]:
    producer, first = frame.unpack(_TWO_I64)
    frame.skip_tags()
    return producer, first


class _FetchV10(Payload):
    API_KEY: ClassVar[int] = 1
    API_VERSION: ClassVar[int] = 10
    RESPONSE_TYPE: ClassVar[type[Response]] = _FetchResponseV10


class _FetchV11(Payload):
    API_KEY: ClassVar[int] = 1
    API_VERSION: ClassVar[int] = 11
    RESPONSE_TYPE: ClassVar[type[Response]] = _FetchResponse


class _FetchV13(Payload):
    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 1
    API_VERSION: ClassVar[int] = 13
    RESPONSE_TYPE: ClassVar[type[Response]] = _FetchResponseV13


_Fetch = _FetchV10 | _FetchV11 | _FetchV13


class FetchRequest(Request[_Fetch]):
    """
    One Fetch: versions 10 (Kafka 2.1) and 11 for names of topics, 13 (Kafka 3.1) for their ids.

    Args:
        max_bytes: of the whole answer; one batch may exceed it.
        read_committed: ask for the list of aborted transactions and stop at the last stable offset.
        topics: filled by the broker in this order.
        rack: where we stand, for brokers that prefer a replica near us (KIP-392).
        session: id of the fetch session; 0 is none.
        epoch: of the session; -1 without one.
        forgotten: partitions that the session shall no longer fetch.
        by_id: whether all topics are given by their ids, and not by their names.
    """

    API_KEY: ClassVar[int] = 1

    def __init__(
        self,
        *,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        read_committed: bool,
        topics: Mapping[T, Asked],
        rack: str = "",
        session: int = 0,
        epoch: int = -1,
        forgotten: Mapping[T, Sequence[int]] | None = None,
        by_id: bool = False,
    ) -> None:
        self._head = _FETCH_HEAD.pack(
            _CONSUMER, max_wait_ms, min_bytes, max_bytes, int(read_committed), session, epoch
        )
        self._topics: list[tuple[Topic, Asked]] = list(topics.items())
        self._forgotten: list[tuple[Topic, Sequence[int]]] = list((forgotten or {}).items())
        self._rack = rack
        self._by_id = by_id

    def prepare(self, versions: dict[int, tuple[int, int]]) -> _Fetch:
        """
        Encodes the request in the newest version that the broker and we share.

        Raises:
            IncompatibleBrokerVersion: the broker does not know ids, unlike the one that told us.
        """
        lowest, highest = versions[self.API_KEY]
        if not self._by_id:
            highest = min(highest, _FetchV11.API_VERSION)
        elif highest < _FetchV13.API_VERSION:
            raise IncompatibleBrokerVersion("a broker does not know topic ids yet")
        prepared: _Fetch = super().prepare({self.API_KEY: (lowest, highest)})
        return prepared

    def build(self, request_struct_class: type[_Fetch]) -> _Fetch:
        """Encodes the request in a version that suits it."""
        version = request_struct_class.API_VERSION
        if version == _FetchV13.API_VERSION:
            return request_struct_class(self._body_by_id())
        body = self._body()
        return request_struct_class(
            body if version < _FetchV11.API_VERSION else body + text(self._rack)
        )

    def _body(self) -> bytes:
        parts = [self._head, I32.pack(len(self._topics))]
        for topic, partitions in self._topics:
            parts += (text(str(topic)), I32.pack(len(partitions)))
            parts += (
                _FETCH_PARTITION.pack(number, -1, offset, -1, max_bytes)
                for number, offset, max_bytes in partitions
            )
        parts.append(
            array(
                text(str(topic)) + array(map(I32.pack, numbers))
                for topic, numbers in self._forgotten
            )
        )
        return b"".join(parts)

    def _body_by_id(self) -> bytes:
        wanted = (
            _id(topic)
            + compact_array(
                _FETCH_PARTITION_V13.pack(number, -1, offset, -1, -1, max_bytes) + NO_TAGS
                for number, offset, max_bytes in partitions
            )
            + NO_TAGS
            for topic, partitions in self._topics
        )
        forgotten = (
            _id(topic) + compact_array(map(I32.pack, numbers)) + NO_TAGS
            for topic, numbers in self._forgotten
        )
        rest = compact_text(self._rack) + NO_TAGS
        return self._head + compact_array(wanted) + compact_array(forgotten) + rest


def _id(topic: Topic) -> bytes:
    assert isinstance(topic, UUID)  # noqa: S101 - the session gives ids to those who ask by them
    return topic.bytes
