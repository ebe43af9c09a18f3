"""
Which groups there are, and which broker coordinates each, for many groups in one request.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.frame import (
    NO_TAGS,
    Frame,
    FrameResponse,
    Payload,
    compact_array,
    compact_text,
)

_OF_GROUPS: Final = b"\0"
"""FindCoordinator's kind of key: the id of a group."""


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """
    Who coordinates a group.

    Attributes:
        group_id: the group.
        node: the coordinator; -1 with an error.
        error: Kafka's error code; 0 is none.
    """

    group_id: str
    node: int
    error: int


class FindCoordinatorsResponse(FrameResponse):
    """Version 4."""

    API_KEY: ClassVar[int] = 10
    API_VERSION: ClassVar[int] = 4

    found: list[CoordinatorFound]

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        frame.int32()  # throttle time
        response.found = frame.compact_array(lambda: cls._coordinator(frame))
        return response

    @staticmethod
    def _coordinator(frame: Frame) -> CoordinatorFound:
        group_id, node = frame.compact_text(), frame.int32()
        frame.compact_text()  # host
        frame.int32()  # port
        found = CoordinatorFound(group_id, node, frame.int16())
        frame.compact_text()  # message
        frame.skip_tags()
        return found


class FindCoordinatorsV4(Payload):
    """Kafka 3.0: several keys (KIP-699)."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 10
    API_VERSION: ClassVar[int] = 4
    RESPONSE_TYPE: ClassVar[type[Response]] = FindCoordinatorsResponse


class FindCoordinatorsRequest(Request[FindCoordinatorsV4]):
    """
    FindCoordinator: asks any broker who coordinates groups.

    Args:
        group_ids: the groups, whether they exist or not.
    """

    API_KEY: ClassVar[int] = 10

    def __init__(self, group_ids: Iterable[str]) -> None:
        self._group_ids = list(group_ids)

    def build(self, request_struct_class: type[FindCoordinatorsV4]) -> FindCoordinatorsV4:
        """Encodes the request."""
        keys = compact_array(map(compact_text, self._group_ids))
        return request_struct_class(_OF_GROUPS + keys + NO_TAGS)


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """
    A group as a broker lists it.

    Attributes:
        group_id: its name.
        state: Kafka's word.
        kind: Kafka's word for the protocol of its members: classic, consumer, share, streams.
    """

    group_id: str
    state: str
    kind: str


class ListGroupsResponse(FrameResponse):
    """Version 5."""

    API_KEY: ClassVar[int] = 16
    API_VERSION: ClassVar[int] = 5

    error: int
    groups: list[ListedGroup]

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        frame.int32()  # throttle time
        response.error = frame.int16()
        response.groups = frame.compact_array(lambda: cls._group(frame))
        return response

    @staticmethod
    def _group(frame: Frame) -> ListedGroup:
        group_id, _protocol = frame.compact_text(), frame.compact_text()
        group = ListedGroup(group_id, frame.compact_text(), frame.compact_text())
        frame.skip_tags()
        return group


class ListGroupsV5(Payload):
    """Kafka 3.8: with the kinds of groups (KIP-848)."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 16
    API_VERSION: ClassVar[int] = 5
    RESPONSE_TYPE: ClassVar[type[Response]] = ListGroupsResponse


class ListGroupsRequest(Request[ListGroupsV5]):
    """
    ListGroups: asks a broker which groups it coordinates.

    Args:
        kinds: only groups of these kinds, in Kafka's words; none: of any.
    """

    API_KEY: ClassVar[int] = 16

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        self._kinds = list(kinds)

    def build(self, request_struct_class: type[ListGroupsV5]) -> ListGroupsV5:
        """Encodes the request."""
        any_state = compact_array(())
        kinds = compact_array(map(compact_text, self._kinds))
        return request_struct_class(any_state + kinds + NO_TAGS)
