"""What time the active controller has (DescribeQuorum, KIP-836)."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import (
    I32,
    NO_TAGS,
    Frame,
    FrameResponse,
    Payload,
    compact_array,
    compact_text,
)

_TOPIC: Final = "__cluster_metadata"
_PARTITION: Final = Struct(">ihiiq")
"""Its number, error, leader, the leader's epoch, and its high watermark."""

_REPLICA: Final = Struct(">iqqq")
"""Its node, where its log ends, when it last fetched, and when it was last in step."""


class QuorumResponse(FrameResponse):
    """
    Version 1.

    Attributes:
        now_ms: the controller's clock when it answered: it is in step with itself at any time.
            None if it does not say.
    """

    API_KEY: ClassVar[int] = 55
    API_VERSION: ClassVar[int] = 1

    error: int
    now_ms: int | None

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body, as far as the voters of the one partition."""
        response = cls()
        response.error, response.now_ms = frame.int16(), None
        if response.error or not frame.uvarint() > 1:
            return response
        frame.compact_text()
        if not frame.uvarint() > 1:
            return response
        _number, response.error, leader, _epoch, _end = frame.unpack(_PARTITION)
        voters = frame.compact_array(lambda: cls._replica(frame))
        response.now_ms = next((at for node, at in voters if node == leader and at > 0), None)
        return response

    @staticmethod
    def _replica(frame: Frame) -> tuple[int, int]:
        node, _end, _fetched_ms, in_step_ms = frame.unpack(_REPLICA)
        frame.skip_tags()
        return node, in_step_ms


class QuorumV1(Payload):
    """Kafka 3.3."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 55
    API_VERSION: ClassVar[int] = 1
    RESPONSE_TYPE: ClassVar[type[Response]] = QuorumResponse


class QuorumRequest(Request[QuorumV1]):
    """Asks about the replicas of the cluster's metadata."""

    API_KEY: ClassVar[int] = 55

    def build(self, request_struct_class: type[QuorumV1]) -> QuorumV1:
        """Makes the request in the version that the broker and we share."""
        partitions = compact_array([I32.pack(0) + NO_TAGS])
        topics = compact_array([compact_text(_TOPIC) + partitions + NO_TAGS])
        return request_struct_class(topics + NO_TAGS)
