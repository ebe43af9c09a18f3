"""
What we, or a client, may do with a cluster, its topics and groups, and transactional ids (KIP-430).

Brokers tell nobody whether a client may commit to a group. Requests that change nothing show it by
their errors, because brokers look at rights before anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final, Self

from aiokafka.client import CoordinationType
from aiokafka.protocol.api import Request, Response
from aiokafka.protocol.commit import OffsetCommitRequest
from aiokafka.protocol.coordination import FindCoordinatorRequest

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
from mm2.kafka.wire.requests.metadata import MetadataResponse

_TRUE: Final = b"\1"
_FALSE: Final = b"\0"

_NO_PARTITION: Final = 2**31 - 1
"""No topic has it, so a commit for it is stored nowhere."""

_NO_GENERATION: Final = -1
_AS_LONG_AS_ALL: Final = -1


class RightsResponse(MetadataResponse):
    """
    Version 8 of Metadata.

    Attributes:
        topics: error code and what we may do, as Kafka's bits, by name.
        of_cluster: what we may do with the cluster, as Kafka's bits.
    """

    API_VERSION: ClassVar[int] = 8

    topics: dict[str, tuple[int, int]]
    of_cluster: int

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        cls.cluster(frame)
        response.topics = dict(frame.array(lambda: cls._rights(frame)))
        response.of_cluster = frame.int32()
        return response

    @classmethod
    def _rights(cls, frame: Frame) -> tuple[str, tuple[int, int]]:
        error, name = frame.int16(), frame.text()
        frame.flag()  # is internal
        frame.array(lambda: cls._partition(frame))
        return name, (error, frame.int32())


class RightsV8(Payload):
    """Kafka 2.3."""

    API_KEY: ClassVar[int] = 3
    API_VERSION: ClassVar[int] = 8
    RESPONSE_TYPE: ClassVar[type[Response]] = RightsResponse


class RightsRequest(Request[RightsV8]):
    """
    Asks what we may do with topics and with the cluster; creates no topic.

    Args:
        topics: names; none: about the cluster only.
    """

    API_KEY: ClassVar[int] = 3

    def __init__(self, topics: list[str]) -> None:
        self._topics = topics

    def build(self, request_struct_class: type[RightsV8]) -> RightsV8:
        """Makes the request in the version that the broker and we share."""
        return request_struct_class(array(map(text, self._topics)) + _FALSE + _TRUE + _TRUE)


class GroupRightsResponse(FrameResponse):
    """
    Version 3 of DescribeGroups, which aiokafka reads as version 2.

    Attributes:
        groups: error code and what we may do, as Kafka's bits, of each.
    """

    API_KEY: ClassVar[int] = 15
    API_VERSION: ClassVar[int] = 3

    groups: list[tuple[int, int]]

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        frame.int32()  # throttle time
        response.groups = frame.array(lambda: cls._group(frame))
        return response

    @classmethod
    def _group(cls, frame: Frame) -> tuple[int, int]:
        error = frame.int16()
        for _ in range(4):  # group, state, protocol's type and name
            frame.text()
        frame.array(lambda: cls._member(frame))
        return error, frame.int32()

    @classmethod
    def _member(cls, frame: Frame) -> None:
        for _ in range(3):  # member's id, client's id and host
            frame.text()
        frame.blob()
        frame.blob()


class GroupRightsV3(Payload):
    """Kafka 2.3."""

    API_KEY: ClassVar[int] = 15
    API_VERSION: ClassVar[int] = 3
    RESPONSE_TYPE: ClassVar[type[Response]] = GroupRightsResponse


class GroupRightsRequest(Request[GroupRightsV3]):
    """Asks what we may do with groups."""

    API_KEY: ClassVar[int] = 15

    def __init__(self, groups: list[str]) -> None:
        self._groups = groups

    def build(self, request_struct_class: type[GroupRightsV3]) -> GroupRightsV3:
        """Makes the request in the version that the broker and we share."""
        return request_struct_class(array(map(text, self._groups)) + _TRUE)


class TransactionsResponse(FrameResponse):
    """Version 0 of DescribeTransactions."""

    API_KEY: ClassVar[int] = 65
    API_VERSION: ClassVar[int] = 0

    error: int

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body, as far as the first id's error."""
        response = cls()
        frame.int32()  # throttle time
        response.error = frame.int16() if frame.uvarint() > 1 else 0
        return response


class TransactionsV0(Payload):
    """Kafka 3.0."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 65
    API_VERSION: ClassVar[int] = 0
    RESPONSE_TYPE: ClassVar[type[Response]] = TransactionsResponse


class TransactionsRequest(Request[TransactionsV0]):
    """
    Asks any broker about a transactional id: it says at first whether we may know.

    Unlike a search for its coordinator, this creates no topic.

    Args:
        transactional_id: need not exist.
    """

    API_KEY: ClassVar[int] = 65

    def __init__(self, transactional_id: str) -> None:
        self._id = transactional_id

    def build(self, request_struct_class: type[TransactionsV0]) -> TransactionsV0:
        """Makes the request in the version that the broker and we share."""
        return request_struct_class(compact_array([compact_text(self._id)]) + NO_TAGS)


def may_commit_request(group: str, topics: Iterable[str]) -> OffsetCommitRequest:
    """Asks any broker: without Read on group and topic the error is 30 or 29, and 3 with it."""
    asked = [(topic, [(_NO_PARTITION, 0, "")]) for topic in topics]
    return OffsetCommitRequest(group, _NO_GENERATION, "", _AS_LONG_AS_ALL, asked)


def may_describe_request(group: str) -> FindCoordinatorRequest:
    """Asks any broker: without Describe on the group the error is 30."""
    return FindCoordinatorRequest(group, CoordinationType.GROUP)
