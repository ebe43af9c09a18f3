"""
Share groups (KIP-932), which no client library in Python knows.
"""

from __future__ import annotations

import base64
import uuid
from typing import ClassVar, Self

from aiokafka.client import CoordinationType
from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.codes import Code
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


class _Response(FrameResponse):
    API_KEY: ClassVar[int] = 76
    API_VERSION: ClassVar[int] = 1

    error: int

    @classmethod
    def read(cls, frame: Frame) -> Self:
        response = cls()
        frame.int32()  # throttle time
        response.error = frame.int16()
        return response


class _HeartbeatV1(Payload):
    FLEXIBLE_VERSION: ClassVar[bool] = True
    API_KEY: ClassVar[int] = 76
    API_VERSION: ClassVar[int] = 1
    RESPONSE_TYPE: ClassVar[type[Response]] = _Response


class _Heartbeat(Request[_HeartbeatV1]):  # type: ignore[misc]  # untyped
    """ShareGroupHeartbeat of a member that joins."""

    API_KEY: ClassVar[int] = 76

    def __init__(self, group: str, topic: str) -> None:
        self._group = group
        self._topic = topic

    def build(self, request_struct_class: type[_HeartbeatV1]) -> _HeartbeatV1:
        member = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        joins, no_rack = I32.pack(0), uvarint(0)
        return request_struct_class(
            compact_text(self._group)
            + compact_text(member)
            + joins
            + no_rack
            + compact_array([compact_text(self._topic)])
            + NO_TAGS
        )


async def join_share_group(bootstrap: str, group: str, topic: str) -> None:
    """Makes a share group; its member is never heard of again, and leaves after a while."""
    async with wire(bootstrap, topic) as client:

        async def join() -> int:
            node = await client.coordinator(CoordinationType.GROUP, group)
            return int((await client.ask(node, _Heartbeat(group, topic))).error)

        await eventually_async(join, until=lambda error: error == Code.NONE)
