"""How many bytes the logs of a broker have (DescribeLogDirs)."""

from __future__ import annotations

from struct import Struct
from typing import ClassVar, Final, Self

from aiokafka.protocol.api import Request, Response

from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.frame import I32, Frame, FrameResponse, Payload

_EVERY_TOPIC: Final = I32.pack(-1)
_PARTITION: Final = Struct(">iqq?")
"""Its number, its bytes, how far it lags, and whether it is about to move to another disk."""


class LogDirsResponse(FrameResponse):
    """
    Version 1.

    Attributes:
        is_allowed: whether we may know; who may not is answered as if there were no disk.
        sizes: bytes by topic and partition.
    """

    API_KEY: ClassVar[int] = 35
    API_VERSION: ClassVar[int] = 1

    is_allowed: bool
    sizes: dict[tuple[str, int], int]

    @classmethod
    def read(cls, frame: Frame) -> Self:
        """Reads the body."""
        response = cls()
        response.sizes = {}
        frame.int32()  # throttle time
        folders = frame.array(lambda: response._folder(frame))
        response.is_allowed = any(code == Code.NONE for code in folders)
        return response

    def _folder(self, frame: Frame) -> int:
        error = frame.int16()
        frame.text()
        frame.array(lambda: self._topic(frame))
        return error

    def _topic(self, frame: Frame) -> None:
        name = frame.text()
        for number, size, _lag, is_future in frame.rows(_PARTITION):
            if not is_future:
                self.sizes[name, number] = size


class LogDirsV1(Payload):
    """Kafka 2.0."""

    API_KEY: ClassVar[int] = 35
    API_VERSION: ClassVar[int] = 1
    RESPONSE_TYPE: ClassVar[type[Response]] = LogDirsResponse


class LogDirsRequest(Request[LogDirsV1]):
    """Asks a broker about all of its logs."""

    API_KEY: ClassVar[int] = 35

    def build(self, request_struct_class: type[LogDirsV1]) -> LogDirsV1:
        """Makes the request in the version that the broker and we share."""
        return request_struct_class(_EVERY_TOPIC)
