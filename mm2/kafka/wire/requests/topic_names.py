"""
Metadata for all topics, parsed for names only.

A cluster may have a hundred thousand partitions, and takes seconds to be read whole. So no more is
read at once than what brokers there are, and partitions are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import ClassVar, Final, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import I32, NO_TAGS, Frame, FrameResponse, Payload
from mm2.kafka.wire.requests.metadata import (
    BrokerMetadata,
    FlexibleMetadataResponse,
    MetadataResponse,
)

_PARTITION: Final = Struct(">hiii")
_LISTS: Final = 3
"""Of nodes, in each partition: replicas, those in sync, those offline."""

_EVERY: Final = I32.pack(-1)
_COMPACT_EVERY: Final = b"\0"
_FALSE: Final = b"\0"


class TopicNamesResponse(FrameResponse):
    """
    Version 7.

    Attributes:
        brokers: all that are ready to serve clients, which may be none.
    """

    API_KEY: ClassVar[int] = 3
    API_VERSION: ClassVar[int] = 7

    brokers: Sequence[BrokerMetadata]
    _topics: Frame

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads what comes before the topics."""
        response = cls()
        response.brokers, _, _ = cls._cluster(frame)
        response._topics = frame
        return response

    def names(self) -> list[str]:
        """Reads the names of all topics, which may take long: not to be done in an event loop."""
        frame = Frame(self._topics.view, self._topics.at)
        return self._names(frame)

    @staticmethod
    def _cluster(frame: Frame) -> tuple[Sequence[BrokerMetadata], str, int]:
        return MetadataResponse.cluster(frame)

    @classmethod
    def _names(cls, frame: Frame) -> list[str]:
        return frame.array(lambda: _name(frame))


class FlexibleTopicNamesResponse(TopicNamesResponse):
    """Version 12."""

    API_VERSION: ClassVar[int] = 12

    @staticmethod
    def _cluster(frame: Frame) -> tuple[Sequence[BrokerMetadata], str, int]:
        return FlexibleMetadataResponse.cluster(frame)

    @classmethod
    def _names(cls, frame: Frame) -> list[str]:
        return frame.compact_array(lambda: _compact_name(frame))


def _name(frame: Frame) -> str:
    frame.int16()  # error
    name = frame.text()
    frame.flag()  # is internal
    for _ in range(frame.int32()):
        frame.at += _PARTITION.size
        for _ in range(_LISTS):
            nodes = frame.int32()
            frame.at += I32.size * max(nodes, 0)
    return name


def _compact_name(frame: Frame) -> str:
    frame.int16()  # error
    name = frame.compact_text()
    frame.uuid()
    frame.flag()  # is internal
    for _ in range(frame.uvarint() - 1):
        frame.at += _PARTITION.size
        for _ in range(_LISTS):
            nodes = frame.uvarint() - 1
            frame.at += I32.size * max(nodes, 0)
        frame.skip_tags()
    frame.int32()  # authorized operations
    frame.skip_tags()
    return name


class TopicNamesV7(Payload):
    """Kafka 2.1."""

    API_KEY: ClassVar[int] = 3
    API_VERSION: ClassVar[int] = 7
    RESPONSE_TYPE: ClassVar[type[Response]] = TopicNamesResponse


class TopicNamesV12(Payload):
    """Kafka 3.1."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 3
    API_VERSION: ClassVar[int] = 12
    RESPONSE_TYPE: ClassVar[type[Response]] = FlexibleTopicNamesResponse


class TopicNamesRequest(Request[TopicNamesV7 | TopicNamesV12]):
    """Asks for the metadata of all topics."""

    API_KEY: ClassVar[int] = 3

    def build(
        self, request_struct_class: type[TopicNamesV7 | TopicNamesV12]
    ) -> TopicNamesV7 | TopicNamesV12:
        """Encodes the request in the version that the broker and we share."""
        if not request_struct_class.FLEXIBLE_VERSION:
            return request_struct_class(_EVERY + _FALSE)
        # Neither create topics nor tell what we are allowed to do.
        return request_struct_class(_COMPACT_EVERY + _FALSE + _FALSE + NO_TAGS)
