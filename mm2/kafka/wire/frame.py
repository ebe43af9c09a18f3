"""
Kafka's primitive types, read from and written to frames without copying what need not be.

Both encodings: the older one with lengths of fixed size, and the compact one (KIP-482).
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from struct import Struct
from typing import ClassVar, Final, Self, TypeVar
from uuid import UUID

from aiokafka.protocol.api import RequestStruct, Response

I16: Final = Struct(">h")
I32: Final = Struct(">i")

NO_TAGS: Final = b"\0"
"""The end of a structure of a flexible version."""

_MORE: Final = 0x80
_LOW_BITS: Final = 0x7F

T = TypeVar("T")


def uvarint(value: int) -> bytes:
    """An unsigned number, seven bits to a byte, the lowest ones first."""
    out = bytearray()
    while value > _LOW_BITS:
        out.append(value & _LOW_BITS | _MORE)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value: str | None) -> bytes:
    """A text, or null."""
    if value is None:
        return I16.pack(-1)
    data = value.encode()
    return I16.pack(len(data)) + data


def compact_text(value: str) -> bytes:
    """A text of a flexible version."""
    data = value.encode()
    return uvarint(len(data) + 1) + data


def array(items: Iterable[bytes]) -> bytes:
    """Encoded items after their number."""
    encoded = list(items)
    return I32.pack(len(encoded)) + b"".join(encoded)


def compact_array(items: Iterable[bytes]) -> bytes:
    """Encoded items after their number, in a flexible version."""
    encoded = list(items)
    return uvarint(len(encoded) + 1) + b"".join(encoded)


class Frame:
    """A cursor over one response."""

    def __init__(self, view: memoryview, at: int = 0) -> None:
        self.view = view
        self.at = at

    def unpack(self, layout: Struct) -> tuple[int, ...]:
        """Numbers laid out one after the other."""
        values = layout.unpack_from(self.view, self.at)
        self.at += layout.size
        return values

    def rows(self, layout: Struct) -> Iterator[tuple[int, ...]]:
        """The same again and again, as often as the number before them says."""
        begin = self.at + I32.size
        self.at = begin + self.int32() * layout.size
        return layout.iter_unpack(self.view[begin : self.at])

    def int16(self) -> int:
        """A number of two bytes."""
        (value,) = self.unpack(I16)
        return value

    def int32(self) -> int:
        """A number of four bytes."""
        (value,) = self.unpack(I32)
        return value

    def flag(self) -> bool:
        """One byte, not 0 if true."""
        self.at += 1
        return self.view[self.at - 1] != 0

    def uvarint(self) -> int:
        """An unsigned number of as many bytes as it needs."""
        value = shift = 0
        while True:
            byte = self.view[self.at]
            self.at += 1
            value |= (byte & _LOW_BITS) << shift
            if byte < _MORE:
                return value
            shift += 7

    def uuid(self) -> UUID | None:
        """An id of sixteen bytes; None if all are 0."""
        self.at += 16
        value = UUID(bytes=bytes(self.view[self.at - 16 : self.at]))
        return value if value.int else None

    def text(self) -> str:
        """A text; empty if null."""
        return self._text(self.int16())

    def compact_text(self) -> str:
        """A text of a flexible version; empty if null."""
        return self._text(self.uvarint() - 1)

    def _text(self, size: int) -> str:
        begin = self.at
        if size > 0:
            self.at += size
        return str(self.view[begin : self.at], "utf-8")

    def blob(self) -> memoryview:
        """Bytes after their number, as a view on the frame; empty if null."""
        size = max(self.int32(), 0)
        self.at += size
        return self.view[self.at - size : self.at]

    def compact_blob(self) -> memoryview:
        """The same in a flexible version."""
        size = max(self.uvarint() - 1, 0)
        self.at += size
        return self.view[self.at - size : self.at]

    def array(self, item: Callable[[], T]) -> list[T]:
        """What ``item`` reads, as often as the number before them says; empty if null."""
        return [item() for _ in range(self.int32())]

    def compact_array(self, item: Callable[[], T]) -> list[T]:
        """The same in a flexible version."""
        return [item() for _ in range(self.uvarint() - 1)]

    def skip_tags(self) -> None:
        """Passes over the optional fields at the end of a structure."""
        for _ in range(self.uvarint()):
            self.uvarint()
            size = self.uvarint()
            self.at += size


class FrameResponse(Response):
    """A response that is read straight from its frame."""

    API_KEY: ClassVar[int] = -1
    API_VERSION: ClassVar[int] = -1

    @property
    def throttle_ms(self) -> int:
        """For how long the broker reads nothing more from the connection (KIP-219)."""
        return 0

    @classmethod
    @abc.abstractmethod
    def read(cls, frame: Frame) -> Self:
        """
        Reads the body.

        Raises:
            struct.error: the frame is too short.
        """

    @classmethod
    def decode(cls, data: BytesIO | bytes) -> Self:
        """Reads the body from where the cursor of ``data`` is."""
        buffer = BytesIO(data) if isinstance(data, bytes) else data
        return cls.read(Frame(buffer.getbuffer(), buffer.tell()))


class Payload(RequestStruct):
    """
    A request whose body is ready to be sent.

    Args:
        parts: the body; sent one after the other, not joined.
    """

    API_KEY: ClassVar[int] = -1
    API_VERSION: ClassVar[int] = -1
    RESPONSE_TYPE: ClassVar[type[Response]] = FrameResponse

    def __init__(self, *parts: bytes | bytearray | memoryview) -> None:
        super().__init__()
        self.parts = parts

    def encode(self) -> bytes:
        """The body in one piece."""
        return b"".join(self.parts)
