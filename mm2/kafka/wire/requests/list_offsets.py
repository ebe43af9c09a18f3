"""Offsets of partitions at a time, at their beginnings and ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import (
    NO_TAGS,
    Frame,
    FrameResponse,
    Payload,
    array,
    compact_array,
    compact_text,
    text,
)

LATEST: Final = -1
"""In place of a time: the offset of the next record."""

EARLIEST: Final = -2
"""In place of a time: the first offset that a broker still has."""

MAX_TIMESTAMP: Final = -3
"""In place of a time: the record with the highest timestamp (KIP-734)."""

_HEAD: Final = Struct(">ib")
_ASKED: Final = Struct(">iq")
_ASKED_OF_LEADER: Final = Struct(">iiq")
_FOUND: Final = Struct(">ihqq")
_CONSUMER: Final = -1
_ANY_EPOCH: Final = -1


@dataclass(frozen=True, slots=True)
class OffsetFound:
    """
    What a leader answers for a partition.

    Attributes:
        timestamp_ms: of the record at the offset, if a time was asked for; otherwise -1.
        offset: the offset; -1 if there is none.
    """

    topic: str
    partition: int
    error: int
    timestamp_ms: int
    offset: int


class ListOffsetsResponse(FrameResponse):
    """Version 2."""

    API_KEY: ClassVar[int] = 2
    API_VERSION: ClassVar[int] = 2

    found: list[OffsetFound]

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        response.found = []
        frame.int32()  # throttle time
        for _ in range(frame.int32()):
            topic = frame.text()
            response.found += [_found(topic, frame) for _ in range(frame.int32())]
        return response


class FlexibleListOffsetsResponse(ListOffsetsResponse):
    """Version 7."""

    API_VERSION: ClassVar[int] = 7

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        response.found = []
        frame.int32()  # throttle time
        for _ in range(frame.uvarint() - 1):
            topic = frame.compact_text()
            for _ in range(frame.uvarint() - 1):
                response.found.append(_found(topic, frame))
                frame.int32()  # leader epoch
                frame.skip_tags()
            frame.skip_tags()
        return response


def _found(topic: str, frame: Frame) -> OffsetFound:
    partition, error, timestamp_ms, offset = frame.unpack(_FOUND)
    return OffsetFound(topic, partition, error, timestamp_ms, offset)


class ListOffsetsV2(Payload):
    """Kafka 0.11: with the isolation level."""

    API_KEY: ClassVar[int] = 2
    API_VERSION: ClassVar[int] = 2
    RESPONSE_TYPE: ClassVar[type[Response]] = ListOffsetsResponse


class ListOffsetsV7(Payload):
    """Kafka 3.0: with the highest timestamp."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 2
    API_VERSION: ClassVar[int] = 7
    RESPONSE_TYPE: ClassVar[type[Response]] = FlexibleListOffsetsResponse


class ListOffsetsRequest(Request[ListOffsetsV2 | ListOffsetsV7]):
    """
    ListOffsets: asks a leader for offsets.

    Args:
        at: a time in milliseconds, ``EARLIEST``, ``LATEST`` or ``MAX_TIMESTAMP``.
        read_committed: the end stands before the first open transaction.
    """

    API_KEY: ClassVar[int] = 2

    def __init__(
        self, partitions: Mapping[str, Sequence[int]], at: int, *, read_committed: bool = False
    ) -> None:
        self._partitions = partitions
        self._at = at
        self._read_committed = read_committed

    def build(
        self, request_struct_class: type[ListOffsetsV2 | ListOffsetsV7]
    ) -> ListOffsetsV2 | ListOffsetsV7:
        """
        Encodes the request in the version that the broker and we share.

        Raises:
            NotImplementedError: the broker knows no highest timestamp.
        """
        head = _HEAD.pack(_CONSUMER, self._read_committed)
        if request_struct_class.FLEXIBLE_VERSION:
            return request_struct_class(head + self._compact() + NO_TAGS)
        if self._at == MAX_TIMESTAMP:
            raise NotImplementedError("brokers before 3.0 do not look for the highest timestamp")
        return request_struct_class(
            head
            + array(
                text(topic) + array(_ASKED.pack(number, self._at) for number in numbers)
                for topic, numbers in self._partitions.items()
            )
        )

    def _compact(self) -> bytes:
        return compact_array(
            compact_text(topic)
            + compact_array(
                _ASKED_OF_LEADER.pack(number, _ANY_EPOCH, self._at) + NO_TAGS for number in numbers
            )
            + NO_TAGS
            for topic, numbers in self._partitions.items()
        )
