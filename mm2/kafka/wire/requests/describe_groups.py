"""
How groups are: those of the classic protocol, and those of the new one (KIP-848).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from aiokafka.protocol.admin import (
    DescribeGroupsRequest_v0,
    DescribeGroupsRequest_v1,
    DescribeGroupsRequest_v2,
)
from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import (
    NO_TAGS,
    Frame,
    FrameResponse,
    Payload,
    compact_array,
    compact_text,
)

_NO_PERMISSIONS: Final = b"\0"
"""We do not want to know what we may do to the group."""

_TEXTS_OF_A_MEMBER: Final = 3
"""Its id, its instance's and its rack."""


class DescribeGroupsRequest(
    Request[DescribeGroupsRequest_v0 | DescribeGroupsRequest_v1 | DescribeGroupsRequest_v2]
):
    """
    aiokafka's own, without version 3, whose answers it reads as if they were of version 2.

    Args:
        group_ids: groups that the asked broker coordinates.
    """

    API_KEY = DescribeGroupsRequest_v0.API_KEY

    def __init__(self, group_ids: Iterable[str]) -> None:
        self._group_ids = list(group_ids)

    def build(self, request_struct_class: type[Any]) -> Any:
        """Makes the request in the version that the broker and we share."""
        return request_struct_class(self._group_ids)


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """
    A group of the new protocol.

    Attributes:
        error: Kafka's error code; 0 is none.
        epoch: grows whenever a member comes or goes.
    """

    group_id: str
    error: int
    state: str
    epoch: int


class ConsumerGroupsResponse(FrameResponse):
    """Version 0."""

    API_KEY: ClassVar[int] = 69
    API_VERSION: ClassVar[int] = 0

    groups: list[DescribedGroup]

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        frame.int32()  # throttle time
        response.groups = frame.compact_array(lambda: cls._group(frame))
        return response

    @classmethod
    def _group(cls, frame: Frame) -> DescribedGroup:
        error = frame.int16()
        frame.compact_text()  # message
        group_id, state, epoch = frame.compact_text(), frame.compact_text(), frame.int32()
        frame.int32()  # epoch of the assignment
        frame.compact_text()  # assignor
        frame.compact_array(lambda: cls._pass_member(frame))
        frame.int32()  # permissions
        frame.skip_tags()
        return DescribedGroup(group_id, error, state, epoch)

    @classmethod
    def _pass_member(cls, frame: Frame) -> None:
        for _ in range(_TEXTS_OF_A_MEMBER):
            frame.compact_text()
        frame.int32()  # epoch
        for _ in range(2):
            frame.compact_text()  # client's id and host
        frame.compact_array(frame.compact_text)  # topics
        frame.compact_text()  # pattern of topics
        for _ in range(2):
            cls._pass_assignment(frame)
        frame.skip_tags()

    @classmethod
    def _pass_assignment(cls, frame: Frame) -> None:
        frame.compact_array(lambda: cls._pass_topic(frame))
        frame.skip_tags()

    @staticmethod
    def _pass_topic(frame: Frame) -> None:
        frame.uuid()
        frame.compact_text()
        frame.compact_array(frame.int32)
        frame.skip_tags()


class ConsumerGroupsV0(Payload):
    """Kafka 3.7."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 69
    API_VERSION: ClassVar[int] = 0
    RESPONSE_TYPE: ClassVar[type[Response]] = ConsumerGroupsResponse


class ConsumerGroupsRequest(Request[ConsumerGroupsV0]):
    """
    ConsumerGroupDescribe: asks a coordinator how groups of the new protocol are.

    Groups of other kinds are answered as not found.

    Args:
        group_ids: groups that it coordinates.
    """

    API_KEY: ClassVar[int] = 69

    def __init__(self, group_ids: Iterable[str]) -> None:
        self._group_ids = list(group_ids)

    def build(self, request_struct_class: type[ConsumerGroupsV0]) -> ConsumerGroupsV0:
        """Encodes the request."""
        groups = compact_array(map(compact_text, self._group_ids))
        return request_struct_class(groups + _NO_PERMISSIONS + NO_TAGS)
