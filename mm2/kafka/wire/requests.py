"""
Fetch and Produce requests whose record batches stay bytes.

aiokafka's own classes copy each batch several times and drop what its consumer does not need.
These are read and written with ``struct`` straight on the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from struct import Struct
from typing import ClassVar, Self

from aiokafka.protocol.api import Request, RequestStruct, Response

_I16 = Struct(">h")
_I32 = Struct(">i")
_FETCH_HEAD = Struct(">iiiibii")
_FETCH_PARTITION = Struct(">iiqqi")
_FETCHED = Struct(">ihqqq")
_PRODUCED = Struct(">ihqqq")
_TWO_I64 = Struct(">qq")


def _text(value: str) -> bytes:
    data = value.encode()
    return _I16.pack(len(data)) + data


class _Frame:
    """A cursor over one response frame."""

    def __init__(self, frame: BytesIO) -> None:
        self.view = frame.getbuffer()
        self.at = frame.tell()

    def int16(self) -> int:
        (value,) = _I16.unpack_from(self.view, self.at)
        self.at += 2
        return int(value)

    def int32(self) -> int:
        (value,) = _I32.unpack_from(self.view, self.at)
        self.at += 4
        return int(value)

    def text(self) -> str:
        end = self.at + 2 + self.int16()
        value = bytes(self.view[self.at : end]).decode()
        self.at = end
        return value

    def blob(self) -> memoryview:
        size = max(self.int32(), 0)
        self.at += size
        return self.view[self.at - size : self.at]

    def unpack(self, layout: Struct) -> tuple[int, ...]:
        values = layout.unpack_from(self.view, self.at)
        self.at += layout.size
        return values


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
    """

    topic: str
    partition: int
    error: int
    high_watermark: int
    last_stable: int
    log_start: int
    aborted: tuple[tuple[int, int], ...]
    records: memoryview


class _FetchResponse(Response):
    API_KEY: ClassVar[int] = 1
    API_VERSION: ClassVar[int] = 11
    WITH_PREFERRED_REPLICA: ClassVar[bool] = True

    error: int
    partitions: list[FetchedPartition]

    @classmethod
    def decode(cls, data: BytesIO | bytes) -> Self:
        frame = _Frame(BytesIO(data) if isinstance(data, bytes) else data)
        response = cls()
        frame.int32()  # throttle time: the broker delays its answers by itself
        response.error = frame.int16()
        frame.int32()  # session id
        response.partitions = []
        for _ in range(frame.int32()):
            topic = frame.text()
            for _ in range(frame.int32()):
                response.partitions.append(cls._partition(frame, topic))
        return response

    @classmethod
    def _partition(cls, frame: _Frame, topic: str) -> FetchedPartition:
        partition, error, high, stable, start = frame.unpack(_FETCHED)
        aborted = [frame.unpack(_TWO_I64) for _ in range(max(frame.int32(), 0))]
        if cls.WITH_PREFERRED_REPLICA:
            frame.int32()
        return FetchedPartition(
            topic,
            partition,
            error,
            high,
            stable,
            start,
            tuple((producer, first) for producer, first in aborted),
            frame.blob(),
        )


class _FetchResponseV10(_FetchResponse):
    API_VERSION: ClassVar[int] = 10
    WITH_PREFERRED_REPLICA: ClassVar[bool] = False


class _Payload(RequestStruct):
    """A request whose body is ready to be sent."""

    API_KEY: ClassVar[int] = -1
    API_VERSION: ClassVar[int] = -1
    RESPONSE_TYPE: ClassVar[type[Response]] = _FetchResponse

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._body = body

    def encode(self) -> bytes:
        return self._body


class _FetchV10(_Payload):
    API_KEY: ClassVar[int] = 1
    API_VERSION: ClassVar[int] = 10
    RESPONSE_TYPE: ClassVar[type[Response]] = _FetchResponseV10


class _FetchV11(_Payload):
    API_KEY: ClassVar[int] = 1
    API_VERSION: ClassVar[int] = 11
    RESPONSE_TYPE: ClassVar[type[Response]] = _FetchResponse


class FetchRequest(Request[_FetchV10 | _FetchV11]):
    """
    One Fetch, versions 10 (Kafka 2.1) and 11, without a fetch session.

    Args:
        max_wait_ms: how long the broker may wait for ``min_bytes``.
        min_bytes: answer as soon as there is this much.
        max_bytes: of the whole answer; one batch may exceed it.
        read_committed: ask for the list of aborted transactions and stop at the last stable offset.
        topics: for each topic (partition, offset, max bytes); filled by the broker in this order.
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
    ) -> None:
        isolation = 1 if read_committed else 0
        self._head = _FETCH_HEAD.pack(-1, max_wait_ms, min_bytes, max_bytes, isolation, 0, -1)
        self._topics = topics

    def build(self, request_struct_class: type[_FetchV10 | _FetchV11]) -> _FetchV10 | _FetchV11:
        """Encodes the request in the version that the broker and we share."""
        parts = [self._head, _I32.pack(len(self._topics))]
        for topic, partitions in self._topics.items():
            parts += (_text(topic), _I32.pack(len(partitions)))
            parts += (
                _FETCH_PARTITION.pack(number, -1, offset, -1, max_bytes)
                for number, offset, max_bytes in partitions
            )
        parts.append(_I32.pack(0))
        if request_struct_class.API_VERSION >= _FetchV11.API_VERSION:
            parts.append(_text(""))
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


class _ProduceResponse(Response):
    API_KEY: ClassVar[int] = 0
    API_VERSION: ClassVar[int] = 7

    partitions: list[ProducedPartition]

    @classmethod
    def decode(cls, data: BytesIO | bytes) -> Self:
        frame = _Frame(BytesIO(data) if isinstance(data, bytes) else data)
        response = cls()
        response.partitions = []
        for _ in range(frame.int32()):
            topic = frame.text()
            for _ in range(frame.int32()):
                partition, error, base, _append_time, _log_start = frame.unpack(_PRODUCED)
                response.partitions.append(ProducedPartition(topic, partition, error, base))
        return response


class _ProduceV7(_Payload):
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
        batches: Iterable[tuple[str, int, bytes | bytearray]],
        transactional_id: str | None = None,
    ) -> None:
        self._timeout_ms = timeout_ms
        self._transactional_id = transactional_id
        self._topics: dict[str, list[tuple[int, bytes | bytearray]]] = {}
        for topic, partition, batch in batches:
            self._topics.setdefault(topic, []).append((partition, batch))

    def build(self, request_struct_class: type[_ProduceV7]) -> _ProduceV7:
        """Encodes the request; the batches are copied once, into the frame."""
        tid = self._transactional_id
        parts: list[bytes | bytearray] = [
            _I16.pack(-1) if tid is None else _text(tid),
            _I16.pack(-1),
            _I32.pack(self._timeout_ms),
            _I32.pack(len(self._topics)),
        ]
        for topic, partitions in self._topics.items():
            parts += (_text(topic), _I32.pack(len(partitions)))
            for number, batch in partitions:
                parts += (_I32.pack(number), _I32.pack(len(batch)), batch)
        return request_struct_class(b"".join(parts))
