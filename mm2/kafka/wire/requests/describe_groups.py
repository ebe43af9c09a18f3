"""How groups are: those of the classic protocol, and those of the new one (KIP-848)."""

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


class DescribeGroupsRequest(
    Request[DescribeGroupsRequest_v0 | DescribeGroupsRequest_v1 | DescribeGroupsRequest_v2]
):
    """aiokafka's own, without version 3, whose answers it reads as if they were of version 2."""

    API_KEY = DescribeGroupsRequest_v0.API_KEY

    def __init__(self, group_ids: Iterable[str]) -> None:
        self._group_ids = list(group_ids)

    def build(self, request_struct_class: type[Any]) -> Any:
        """Makes the request in the version that the broker and we share."""
        return request_struct_class(self._group_ids)


@dataclass(frozen=True, slots=True)
class DescribedMember:
    """
    A member of a group of the new protocol.

    Attributes:
        topics: that it has subscribed to by their names.
        assigned: partitions that it has now, by topics; those that it is to have may be others.
    """

    member_id: str
    client_id: str
    host: str
    topics: tuple[str, ...]
    assigned: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """
    A group of the new protocol.

    Attributes:
        epoch: grows whenever a member comes or goes.
    """

    group_id: str
    error: int
    state: str
    epoch: int
    members: tuple[DescribedMember, ...] = ()


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
        members = frame.compact_array(lambda: cls._member(frame))
        frame.int32()  # permissions
        frame.skip_tags()
        return DescribedGroup(group_id, error, state, epoch, tuple(members))

    @classmethod
    def _member(cls, frame: Frame) -> DescribedMember:
        member_id = frame.compact_text()
        for _ in range(2):
            frame.compact_text()  # its instance's id, and its rack
        frame.int32()  # epoch
        client_id, host = frame.compact_text(), frame.compact_text()
        topics = frame.compact_array(frame.compact_text)
        frame.compact_text()  # pattern of topics
        assigned, _ = (cls._assignment(frame) for _ in range(2))  # the other one is to come
        frame.skip_tags()
        return DescribedMember(member_id, client_id, host, tuple(topics), assigned)

    @classmethod
    def _assignment(cls, frame: Frame) -> tuple[tuple[str, tuple[int, ...]], ...]:
        topics = frame.compact_array(lambda: cls._topic(frame))
        frame.skip_tags()
        return tuple(topics)

    @staticmethod
    def _topic(frame: Frame) -> tuple[str, tuple[int, ...]]:
        frame.uuid()
        name, partitions = frame.compact_text(), frame.compact_array(frame.int32)
        frame.skip_tags()
        return name, tuple(partitions)


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
    """

    API_KEY: ClassVar[int] = 69

    def __init__(self, group_ids: Iterable[str]) -> None:
        self._group_ids = list(group_ids)

    def build(self, request_struct_class: type[ConsumerGroupsV0]) -> ConsumerGroupsV0:
        """Encodes the request."""
        groups = compact_array(map(compact_text, self._group_ids))
        return request_struct_class(groups + _NO_PERMISSIONS + NO_TAGS)
