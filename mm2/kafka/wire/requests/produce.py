"""
Produce requests whose record batches stay bytes.

aiokafka's own class copies each batch several times. This is written with ``struct`` around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import ClassVar, Final, NamedTuple, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import I16, I32, Frame, FrameResponse, Payload, text

_PRODUCED = Struct(">ihqqq")
_ALL_REPLICAS = -1
_COPIED: Final = 4 << 10
"""Smaller batches are cheaper copied into one piece than sent as pieces of their own."""

Buffer = bytes | bytearray | memoryview


class ProducedPartition(NamedTuple):
    """
    What a broker says of one appended batch.

    Attributes:
        base_offset: offset of the batch's first record; -1 with an error.
    """

    topic: str
    partition: int
    error: int
    base_offset: int


class ProduceAnswer(NamedTuple):
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
            partitions += [
                ProducedPartition(topic, partition, error, base)
                for partition, error, base, _append_time, _log_start in frame.rows(_PRODUCED)
            ]
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
