"""
Share groups (KIP-932) and streams groups (KIP-1071), which no client library in Python knows.
"""

from __future__ import annotations

import base64
import uuid
from typing import Any, ClassVar, Self

from aiokafka.client import CoordinationType
from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.frame import (
    I32,
    NO_TAGS,
    Frame,
    FrameResponse,
    Payload,
    compact_array,
    compact_text,
    uvarint,
)
from tests.support.eventually import eventually_async
from tests.support.raw import wire

_NOTHING = uvarint(0)
_NO_STRUCT = b"\xff"
_SOME_STRUCT = b"\x01"


async def join_share_group(bootstrap: str, group: str, topic: str) -> None:
    """Makes a share group; its member is never heard of again, and leaves after a while."""
    await _join(bootstrap, group, topic, _ShareHeartbeat(group, topic))


async def join_streams_group(bootstrap: str, group: str, topic: str) -> None:
    """Makes a streams group; its member is never heard of again, and leaves after a while."""
    await _join(bootstrap, group, topic, _StreamsHeartbeat(group, topic))


async def _join(bootstrap: str, group: str, topic: str, heartbeat: Request[Any]) -> None:
    async with wire(bootstrap, topic) as client:

        async def join() -> int:
            node = await client.coordinator(CoordinationType.GROUP, group)
            return int((await client.ask(node, heartbeat)).error)

        await eventually_async(join, until=lambda error: error == Code.NONE)


def _member_id() -> bytes:
    return compact_text(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="))


class _Answer(FrameResponse):
    """What both kinds of group answer, as far as it matters here."""

    error: int

    @classmethod
    def read(cls, frame: Frame) -> Self:
        response = cls()
        frame.int32()  # throttle time
        response.error = frame.int16()
        return response


class _ShareAnswer(_Answer):
    API_KEY: ClassVar[int] = 76
    API_VERSION: ClassVar[int] = 1


class _ShareHeartbeatV1(Payload):
    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 76
    API_VERSION: ClassVar[int] = 1
    RESPONSE_TYPE: ClassVar[type[Response]] = _ShareAnswer


class _ShareHeartbeat(Request[_ShareHeartbeatV1]):  # type: ignore[misc]  # untyped
    """ShareGroupHeartbeat of a member that joins."""

    API_KEY: ClassVar[int] = 76

    def __init__(self, group: str, topic: str) -> None:
        self._group = group
        self._topic = topic

    def build(self, request_struct_class: type[_ShareHeartbeatV1]) -> _ShareHeartbeatV1:
        joins, no_rack = I32.pack(0), _NOTHING
        return request_struct_class(
            compact_text(self._group)
            + _member_id()
            + joins
            + no_rack
            + compact_array([compact_text(self._topic)])
            + NO_TAGS
        )


class _StreamsAnswer(_Answer):
    API_KEY: ClassVar[int] = 88
    API_VERSION: ClassVar[int] = 0


class _StreamsHeartbeatV0(Payload):
    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 88
    API_VERSION: ClassVar[int] = 0
    RESPONSE_TYPE: ClassVar[type[Response]] = _StreamsAnswer


class _StreamsHeartbeat(Request[_StreamsHeartbeatV0]):  # type: ignore[misc]  # untyped
    """StreamsGroupHeartbeat of a member that joins."""

    API_KEY: ClassVar[int] = 88

    def __init__(self, group: str, topic: str) -> None:
        self._group = group
        self._topic = topic

    def build(self, request_struct_class: type[_StreamsHeartbeatV0]) -> _StreamsHeartbeatV0:
        subtopology = (
            compact_text("0")
            + compact_array([compact_text(self._topic)])
            + compact_array([]) * 5  # patterns, changelogs, sinks, repartition topics, copartitions
            + NO_TAGS
        )
        topology = _SOME_STRUCT + I32.pack(0) + compact_array([subtopology]) + NO_TAGS
        joins = I32.pack(0) + I32.pack(0)
        return request_struct_class(
            compact_text(self._group)
            + _member_id()
            + joins
            + _NOTHING * 2  # instance, rack
            + I32.pack(30_000)
            + topology
            + compact_array([]) * 3  # its tasks
            + compact_text("process")
            + _NO_STRUCT
            + compact_array([])  # tags of the client
            + _NOTHING * 2  # offsets of tasks
            + b"\0"
            + NO_TAGS
        )
