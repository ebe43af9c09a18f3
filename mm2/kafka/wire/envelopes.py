"""What stands in front of requests and of answers."""

from __future__ import annotations

from io import BytesIO
from struct import Struct
from typing import Final

from aiokafka.protocol.api import RequestStruct, Response

from mm2.kafka.wire.frame import I32, NO_TAGS, Frame, FrameResponse

_HEADER: Final = Struct(">hhi")


def header(request: RequestStruct, correlation_id: int, client: bytes) -> bytes:
    """What every request begins with, versions 1 and 2 of it; aiokafka's takes longer than that."""
    head = _HEADER.pack(request.API_KEY, request.API_VERSION, correlation_id) + client
    return head + NO_TAGS if request.FLEXIBLE_VERSION else head


def decoded(request: RequestStruct, frame: bytearray) -> Response:
    """The answer to a request, in a frame without its length."""
    cursor = Frame(memoryview(frame), I32.size)
    if request.FLEXIBLE_VERSION:
        cursor.skip_tags()
    kind = request.RESPONSE_TYPE
    if issubclass(kind, FrameResponse):
        return kind.read(cursor)
    return kind.decode(BytesIO(cursor.view[cursor.at :]))
