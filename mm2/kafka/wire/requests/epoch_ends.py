"""The ends of leader epochs, which tell a log from one that was truncated (KIP-101, KIP-320)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import ClassVar, Final, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import I32, Frame, FrameResponse, Payload, array, text

_EPOCH: Final = Struct(">iii")
_EPOCH_END: Final = Struct(">hiiq")
_CONSUMER: Final = -1


@dataclass(frozen=True, slots=True)
class EpochEnd:
    """
    Where a leader epoch ends in a partition's log.

    Attributes:
        leader_epoch: the asked epoch, or the largest smaller one that the log has; -1 if it has
            none.
        end_offset: first offset after that epoch; -1 if it has none.
    """

    topic: str
    partition: int
    error: int
    leader_epoch: int
    end_offset: int


class EpochEndsResponse(FrameResponse):
    """Versions 2 and 3."""

    API_KEY: ClassVar[int] = 23
    API_VERSION: ClassVar[int] = 3

    ends: list[EpochEnd]

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        response.ends = []
        frame.int32()  # throttle time
        for _ in range(frame.int32()):
            topic = frame.text()
            for _ in range(frame.int32()):
                error, partition, epoch, end = frame.unpack(_EPOCH_END)
                response.ends.append(EpochEnd(topic, partition, error, epoch, end))
        return response


class EpochEndsV2(Payload):
    """Kafka 2.1, where it takes the permission CLUSTER_ACTION."""

    API_KEY: ClassVar[int] = 23
    API_VERSION: ClassVar[int] = 2
    RESPONSE_TYPE: ClassVar[type[Response]] = EpochEndsResponse


class EpochEndsV3(Payload):
    """Kafka 2.3, where DESCRIBE on the topic is enough."""

    API_KEY: ClassVar[int] = 23
    API_VERSION: ClassVar[int] = 3
    RESPONSE_TYPE: ClassVar[type[Response]] = EpochEndsResponse


class EpochEndsRequest(Request[EpochEndsV2 | EpochEndsV3]):
    """
    OffsetForLeaderEpoch: asks leaders where epochs end in their logs.

    Args:
        topics: for each topic (partition, current leader epoch or -1, epoch to look up).
    """

    API_KEY: ClassVar[int] = 23

    def __init__(self, topics: Mapping[str, Sequence[tuple[int, int, int]]]) -> None:
        self._topics = topics

    def build(
        self, request_struct_class: type[EpochEndsV2 | EpochEndsV3]
    ) -> EpochEndsV2 | EpochEndsV3:
        """Encodes the request in the version that the broker and we share."""
        body = array(
            text(topic) + array(_EPOCH.pack(*partition) for partition in partitions)
            for topic, partitions in self._topics.items()
        )
        has_replica = request_struct_class.API_VERSION >= EpochEndsV3.API_VERSION
        return request_struct_class(I32.pack(_CONSUMER) + body if has_replica else body)
