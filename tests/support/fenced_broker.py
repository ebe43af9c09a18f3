"""
A broker that its controller has fenced: it answers, but knows of no broker that serves clients.

Real ones say so for a moment only, after they were silent for longer than their session.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from mm2.demo.broker_settings import HOST

CLUSTER_ID = "fenced"
HELD = "a topic of which it does not tell at once"
LED = "a topic with partitions"
END = 7
"""Of all partitions that it leads."""

GROUP = "a-share-group"

_LIST_OFFSETS, _METADATA, _LIST_GROUPS, _API_VERSIONS = 2, 3, 16, 18
_NEWEST_LIST_OFFSETS = 2
_NEWEST_METADATA = 7
_UNSUPPORTED_VERSION = 35


class FencedBroker:
    """
    Answers ApiVersions and Metadata, on a free port.

    Attributes:
        port: where it listens.
        is_fenced: whether it is among the brokers that it knows.
        asked: set when it has told that it knows of none.
        others: ports of other brokers that it knows unless it is fenced, by their nodes; it is 1.
        leaders: nodes that lead the partitions of the topic ``LED``, in their order.
        told: numbers of the partitions of which it has told offsets.
        has_told: set when it has told offsets, or which groups there are: ``GROUP``.
        held: set when it was asked about the topic ``HELD``.
        may_answer: what it waits for until it answers that.
    """

    def __init__(self) -> None:
        self.port = 0
        self.is_fenced = True
        self.asked = asyncio.Event()
        self.others: dict[int, int] = {}
        self.leaders: list[int] = []
        self.told: list[int] = []
        self.has_told = asyncio.Event()
        self.held = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers all requests of one connection."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                request = await reader.readexactly(size)
                api, version, correlation = struct.unpack(">hhi", request[:8])
                if HELD.encode() in request:
                    self.held.set()
                    await self.may_answer.wait()
                data = struct.pack(">i", correlation) + self._answer(api, version, request)
                writer.write(struct.pack(">i", len(data)) + data)
        writer.close()

    def _answer(self, api: int, version: int, request: bytes) -> bytes:
        if api == _API_VERSIONS:
            return self._versions(version)
        if api == _LIST_OFFSETS:
            return self._offsets(request)
        if api == _LIST_GROUPS:
            return self._groups()
        return self._metadata(has_topic=LED.encode() in request)

    @staticmethod
    def _versions(version: int) -> bytes:
        known = [
            (_LIST_OFFSETS, 0, _NEWEST_LIST_OFFSETS),
            (_METADATA, 3, _NEWEST_METADATA),
            (_LIST_GROUPS, 5, 5),
            (_API_VERSIONS, 0, 0),
        ]
        error = _UNSUPPORTED_VERSION if version else 0
        return struct.pack(">hi", error, len(known)) + b"".join(
            struct.pack(">hhh", *each) for each in known
        )

    def _metadata(self, *, has_topic: bool) -> bytes:
        """Version 7; alike from version 3 on as long as there are no topics."""
        known = {} if self.is_fenced else {1: self.port, **self.others}
        if self.is_fenced:
            self.asked.set()
        brokers = struct.pack(">i", len(known)) + b"".join(
            struct.pack(">i", node) + _text(HOST) + struct.pack(">ih", port, -1)
            for node, port in known.items()
        )
        topics = self._topic() if has_topic else b""
        controller = struct.pack(">ii", 1, has_topic)
        return struct.pack(">i", 0) + brokers + _text(CLUSTER_ID) + controller + topics

    def _topic(self) -> bytes:
        """Nobody has replicas of it."""
        head = struct.pack(">h", 0) + _text(LED) + struct.pack(">bi", 0, len(self.leaders))
        return head + b"".join(
            struct.pack(">hiiiiii", 0, number, leader, 0, 0, 0, 0)
            for number, leader in enumerate(self.leaders)
        )

    def _offsets(self, request: bytes) -> bytes:
        """Of one topic, as it was asked."""
        at = request.index(LED.encode()) + len(LED)
        (count,) = struct.unpack_from(">i", request, at)
        asked = [struct.unpack_from(">iq", request, at + 4 + 12 * n)[0] for n in range(count)]
        self.told += asked
        self.has_told.set()
        head = struct.pack(">ii", 0, 1) + _text(LED) + struct.pack(">i", count)
        return head + b"".join(struct.pack(">ihqq", each, 0, -1, END) for each in asked)

    def _groups(self) -> bytes:
        """One share group."""
        self.has_told.set()
        words = b"".join(_compact(each) for each in (GROUP, "", "Empty", "share"))
        return struct.pack(">bihb", 0, 0, 0, 2) + words + b"\0\0"


@asynccontextmanager
async def fenced_broker() -> AsyncIterator[FencedBroker]:
    """One that runs."""
    broker = FencedBroker()
    async with await asyncio.start_server(broker.serve, HOST, 0) as server:
        broker.port = server.sockets[0].getsockname()[1]
        yield broker


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def _compact(value: str) -> bytes:
    return bytes([len(value) + 1]) + value.encode()
