"""What groups have committed, many groups in one request (OffsetFetch 8, KIP-709)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, NamedTuple, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import (
    NO_TAGS,
    Frame,
    FrameResponse,
    Payload,
    compact_array,
    compact_text,
    uvarint,
)

_OFFSET: Final = Struct(">iqi")
_HEAD: Final = Struct(">iqiB")
"""Partition, offset, epoch, and the size of the metadata plus one, if that is below 128."""

_FOOT: Final = Struct(">hB")
"""Error, and the number of tags."""

_SHORT: Final = 0x80
_ALL_TOPICS: Final = uvarint(0)
_MAY_BE_UNSTABLE: Final = b"\0"
"""Offsets of transactions that are still open do not make the answer an error (KIP-447)."""


class FetchedOffset(NamedTuple):
    """
    An offset that a group has committed.

    Attributes:
        offset: of the next record to read; -1 for none.
    """

    topic: str
    partition: int
    offset: int
    metadata: str
    error: int


@dataclass(frozen=True, slots=True)
class FetchedOffsets:
    """
    All that a group has committed.

    Attributes:
        offsets: none for a group that does not exist.
    """

    group_id: str
    offsets: list[FetchedOffset]
    error: int


class OffsetsResponse(FrameResponse):
    """Version 8."""

    API_KEY: ClassVar[int] = 9
    API_VERSION: ClassVar[int] = 8

    groups: list[FetchedOffsets]

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        frame.int32()  # throttle time
        response.groups = frame.compact_array(lambda: cls._group(frame))
        return response

    @classmethod
    def _group(cls, frame: Frame) -> FetchedOffsets:
        group_id = frame.compact_text()
        topics = frame.compact_array(lambda: cls._topic(frame))
        group = FetchedOffsets(group_id, [each for one in topics for each in one], frame.int16())
        frame.skip_tags()
        return group

    @classmethod
    def _topic(cls, frame: Frame) -> list[FetchedOffset]:
        topic, count = frame.compact_text(), frame.uvarint() - 1
        offsets = [cls._short_offset(frame, topic) for _ in range(count)]
        frame.skip_tags()
        return offsets

    @classmethod
    def _short_offset(cls, frame: Frame, topic: str) -> FetchedOffset:
        """As nearly all are, of which a cluster may have hundreds of thousands."""
        view, at = frame.view, frame.at
        partition, offset, _, size = _HEAD.unpack_from(view, at)
        end = at + _HEAD.size + size - 1
        if not 0 < size < _SHORT or (foot := _FOOT.unpack_from(view, end))[1]:
            return cls._offset(frame, topic)
        frame.at = end + _FOOT.size
        metadata = str(view[at + _HEAD.size : end], "utf-8") if size > 1 else ""
        return FetchedOffset(topic, partition, offset, metadata, foot[0])

    @staticmethod
    def _offset(frame: Frame, topic: str) -> FetchedOffset:
        partition, offset, _ = frame.unpack(_OFFSET)
        metadata = frame.compact_text()
        found = FetchedOffset(topic, partition, offset, metadata, frame.int16())
        frame.skip_tags()
        return found


class OffsetsV8(Payload):
    """Kafka 3.0."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 9
    API_VERSION: ClassVar[int] = 8
    RESPONSE_TYPE: ClassVar[type[Response]] = OffsetsResponse


class OffsetsRequest(Request[OffsetsV8]):
    """OffsetFetch: asks a coordinator for all that groups have committed."""

    API_KEY: ClassVar[int] = 9

    def __init__(self, group_ids: Iterable[str]) -> None:
        self._group_ids = list(group_ids)

    def build(self, request_struct_class: type[OffsetsV8]) -> OffsetsV8:
        """Encodes the request."""
        groups = compact_array(
            compact_text(group_id) + _ALL_TOPICS + NO_TAGS for group_id in self._group_ids
        )
        return request_struct_class(groups + _MAY_BE_UNSTABLE + NO_TAGS)
