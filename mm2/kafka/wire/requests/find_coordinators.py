"""Which groups there are, and which broker coordinates each, for many groups in one request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from aiokafka.errors import IncompatibleBrokerVersion
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
        node: the coordinator; -1 with an error.
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
        protocol_type: ``consumer`` for consumers; empty if nobody was ever in it.
        state: Kafka's word; empty if the broker (before 2.6) does not tell.
        kind: Kafka's word for the protocol of its members: classic, consumer, share, streams;
            empty if the broker (before 3.8) does not tell.
    """

    group_id: str
    protocol_type: str
    state: str = ""
    kind: str = ""


class ListGroupsResponse(FrameResponse):
    """Version 5."""

    API_KEY: ClassVar[int] = 16
    API_VERSION: ClassVar[int] = 5
    FIELDS: ClassVar[int] = 4

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

    @classmethod
    def _group(cls, frame: Frame) -> ListedGroup:
        group = ListedGroup(*(frame.compact_text() for _ in range(cls.FIELDS)))
        frame.skip_tags()
        return group


class ListGroupsResponseV4(ListGroupsResponse):
    """Without kinds."""

    API_VERSION: ClassVar[int] = 4
    FIELDS: ClassVar[int] = 3


class ListGroupsResponseV2(FrameResponse):
    """Without kinds and states, and not flexible."""

    API_KEY: ClassVar[int] = 16
    API_VERSION: ClassVar[int] = 2

    error: int
    groups: list[ListedGroup]

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        frame.int32()  # throttle time
        response.error = frame.int16()
        response.groups = frame.array(lambda: ListedGroup(frame.text(), frame.text()))
        return response


class ListGroupsV2(Payload):
    """Kafka 2.0."""

    API_KEY: ClassVar[int] = 16
    API_VERSION: ClassVar[int] = 2
    RESPONSE_TYPE: ClassVar[type[Response]] = ListGroupsResponseV2


class ListGroupsV4(Payload):
    """Kafka 2.6: with the states of groups (KIP-518)."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 16
    API_VERSION: ClassVar[int] = 4
    RESPONSE_TYPE: ClassVar[type[Response]] = ListGroupsResponseV4


class ListGroupsV5(Payload):
    """Kafka 3.8: with the kinds of groups (KIP-848)."""

    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 16
    API_VERSION: ClassVar[int] = 5
    RESPONSE_TYPE: ClassVar[type[Response]] = ListGroupsResponse


ListGroups = ListGroupsV2 | ListGroupsV4 | ListGroupsV5


class ListGroupsRequest(Request[ListGroupsV2 | ListGroupsV4 | ListGroupsV5]):
    """
    ListGroups: asks a broker which groups it coordinates.

    Args:
        kinds: only groups of these kinds, in Kafka's words; none: of any.

    Raises:
        IncompatibleBrokerVersion: when it is sent, if the broker knows no kinds.
    """

    API_KEY: ClassVar[int] = 16

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        self._kinds = list(kinds)

    def build(self, request_struct_class: type[ListGroups]) -> ListGroups:
        """Encodes the request."""
        version = request_struct_class.API_VERSION
        if self._kinds and version < ListGroupsV5.API_VERSION:
            raise IncompatibleBrokerVersion("the broker knows no kinds of groups")
        if version == ListGroupsV2.API_VERSION:
            return request_struct_class()
        kinds = compact_array(map(compact_text, self._kinds))
        any_state = compact_array(())
        fields = [any_state, kinds] if version == ListGroupsV5.API_VERSION else [any_state]
        return request_struct_class(b"".join(fields) + NO_TAGS)
