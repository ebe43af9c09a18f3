"""
Fetch and Produce requests whose record batches stay bytes.

aiokafka's own classes copy each batch several times and drop what its consumer does not need.
These are read and written with ``struct`` straight on the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import I16, I32, Frame, FrameResponse, Payload, array, text

_FETCH_HEAD = Struct(">iiiibii")
_FETCH_PARTITION = Struct(">iiqqi")
_FETCHED = Struct(">ihqqq")
_PRODUCED = Struct(">ihqqq")
_TWO_I64 = Struct(">qq")
_ALL_REPLICAS = -1
_CONSUMER = -1
_COPIED: Final = 4 << 10
"""Smaller batches are cheaper copied into one piece than sent as pieces of their own."""

Buffer = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    """
    What a broker says of one partition.

    Attributes:
        topic: its name.
        partition: its number.
        error: Kafka's error code; 0 is none.
        high_watermark: first offset that is not yet replicated; -1 with an error.
        last_stable: first offset of the oldest open transaction, or the high watermark.
        log_start: first offset that the broker still has; -1 with an error.
        aborted: (producer id, first offset) of aborted transactions, in ``read_committed`` only.
        records: whole batches; the first may begin before the asked offset, the last may be cut.
        preferred_replica: node of a follower that should be asked instead (KIP-392); -1 is none.
    """

    topic: str
    partition: int
    error: int
    high_watermark: int
    last_stable: int
    log_start: int
    aborted: tuple[tuple[int, int], ...]
    records: memoryview
    preferred_replica: int = -1


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    """
    What a broker answers to a Fetch.

    Attributes:
        throttle_ms: how long we should not ask again, by our quota (KIP-219).
        error: Kafka's error code for the whole request; 0 is none.
        session: id of the fetch session; 0 is none.
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
        """For how long the broker reads nothing more from the connection."""
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


class _FetchV10(Payload):
    API_KEY: ClassVar[int] = 1
    API_VERSION: ClassVar[int] = 10
    RESPONSE_TYPE: ClassVar[type[Response]] = _FetchResponseV10


class _FetchV11(Payload):
    API_KEY: ClassVar[int] = 1
    API_VERSION: ClassVar[int] = 11
    RESPONSE_TYPE: ClassVar[type[Response]] = _FetchResponse


class FetchRequest(Request[_FetchV10 | _FetchV11]):
    """
    One Fetch, versions 10 (Kafka 2.1) and 11.

    Args:
        max_wait_ms: how long the broker may wait for ``min_bytes``.
        min_bytes: answer as soon as there is this much.
        max_bytes: of the whole answer; one batch may exceed it.
        read_committed: ask for the list of aborted transactions and stop at the last stable offset.
        topics: for each topic (partition, offset, max bytes); filled by the broker in this order.
        rack: where we stand, for brokers that prefer a replica near us (KIP-392).
        session: id of the fetch session that the request is part of (``sessions``); 0 is none.
        epoch: number of the request in the session; -1 without one.
        forgotten: for each topic partitions that the session shall no longer fetch.
    """

    API_KEY: ClassVar[int] = 1

    def __init__(
        self,
        *,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        read_committed: bool,
        topics: Mapping[str, Sequence[tuple[int, int, int]]],
        rack: str = "",
        session: int = 0,
        epoch: int = -1,
        forgotten: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self._head = _FETCH_HEAD.pack(
            _CONSUMER, max_wait_ms, min_bytes, max_bytes, int(read_committed), session, epoch
        )
        self._topics = topics
        self._forgotten = forgotten or {}
        self._rack = rack

    def build(self, request_struct_class: type[_FetchV10 | _FetchV11]) -> _FetchV10 | _FetchV11:
        """Encodes the request in the version that the broker and we share."""
        parts = [self._head, I32.pack(len(self._topics))]
        for topic, partitions in self._topics.items():
            parts += (text(topic), I32.pack(len(partitions)))
            parts += (
                _FETCH_PARTITION.pack(number, -1, offset, -1, max_bytes)
                for number, offset, max_bytes in partitions
            )
        parts.append(
            array(text(topic) + array(map(I32.pack, n)) for topic, n in self._forgotten.items())
        )
        if request_struct_class.API_VERSION >= _FetchV11.API_VERSION:
            parts.append(text(self._rack))
        return request_struct_class(b"".join(parts))


@dataclass(frozen=True, slots=True)
class ProducedPartition:
    """
    What a broker says of one appended batch.

    Attributes:
        topic: its name.
        partition: its number.
        error: Kafka's error code; 0 is none.
        base_offset: offset of the batch's first record; -1 with an error.
    """

    topic: str
    partition: int
    error: int
    base_offset: int


@dataclass(frozen=True, slots=True)
class ProduceAnswer:
    """
    What a broker answers to a Produce.

    Attributes:
        throttle_ms: how long we should not send again, by our quota (KIP-219).
        partitions: one for each batch.
    """

    throttle_ms: int
    partitions: Sequence[ProducedPartition]


class _ProduceResponse(FrameResponse):
    API_KEY: ClassVar[int] = 0
    API_VERSION: ClassVar[int] = 7

    answer: ProduceAnswer

    @property
    def throttle_ms(self) -> int:
        """For how long the broker reads nothing more from the connection."""
        return self.answer.throttle_ms

    @classmethod
    def read(cls, frame: Frame) -> Self:
        response = cls()
        partitions = []
        for _ in range(frame.int32()):
            topic = frame.text()
            for _ in range(frame.int32()):
                partition, error, base, _append_time, _log_start = frame.unpack(_PRODUCED)
                partitions.append(ProducedPartition(topic, partition, error, base))
        response.answer = ProduceAnswer(frame.int32(), partitions)
        return response


class _ProduceV7(Payload):
    API_KEY: ClassVar[int] = 0
    API_VERSION: ClassVar[int] = 7
    RESPONSE_TYPE: ClassVar[type[Response]] = _ProduceResponse


class ProduceRequest(Request[_ProduceV7]):
    """
    One Produce, version 7 (Kafka 2.1, the first that knows zstd), acknowledged by all replicas.

    Args:
        timeout_ms: how long the broker may wait for its replicas.
        batches: exactly one v2 batch for each (topic, partition), as the broker demands.
        transactional_id: set in transactions only.
    """

    API_KEY: ClassVar[int] = 0

    def __init__(
        self,
        *,
        timeout_ms: int,
        batches: Iterable[tuple[str, int, Buffer]],
        transactional_id: str | None = None,
    ) -> None:
        self._timeout_ms = timeout_ms
        self._transactional_id = transactional_id
        self._topics: dict[str, list[tuple[int, Buffer]]] = {}
        for topic, partition, batch in batches:
            self._topics.setdefault(topic, []).append((partition, batch))

    def build(self, request_struct_class: type[_ProduceV7]) -> _ProduceV7:
        """Encodes the request around the batches; large ones are not copied."""
        parts: list[Buffer] = []
        small = bytearray(text(self._transactional_id) + I16.pack(_ALL_REPLICAS))
        small += I32.pack(self._timeout_ms) + I32.pack(len(self._topics))
        for topic, partitions in self._topics.items():
            small += text(topic) + I32.pack(len(partitions))
            for number, batch in partitions:
                small += I32.pack(number) + I32.pack(len(batch))
                if len(batch) < _COPIED:
                    small += batch
                else:
                    parts += (small, batch)
                    small = bytearray()
        return request_struct_class(*parts, small)
