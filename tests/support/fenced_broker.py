"""
A broker that its controller has fenced: it answers, but knows of no broker that serves clients.

Real ones say so for a moment only, after they were silent for longer than their session.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.support.layout import HOST

CLUSTER_ID = "fenced"
HELD = "a topic of which it does not tell at once"

_METADATA, _API_VERSIONS = 3, 18
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
        held: set when it was asked about the topic ``HELD``.
        may_answer: what it waits for until it answers that.
    """

    def __init__(self) -> None:
        self.port = 0
        self.is_fenced = True
        self.asked = asyncio.Event()
        self.others: dict[int, int] = {}
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
                answer = self._versions(version) if api == _API_VERSIONS else self._metadata()
                data = struct.pack(">i", correlation) + answer
                writer.write(struct.pack(">i", len(data)) + data)
        writer.close()

    @staticmethod
    def _versions(version: int) -> bytes:
        known = [(_METADATA, 3, _NEWEST_METADATA), (_API_VERSIONS, 0, 0)]
        error = _UNSUPPORTED_VERSION if version else 0
        return struct.pack(">hi", error, len(known)) + b"".join(
            struct.pack(">hhh", *each) for each in known
        )

    def _metadata(self) -> bytes:
        """Alike from version 3 to 7 as long as there are no topics."""
        known = {} if self.is_fenced else {1: self.port, **self.others}
        if self.is_fenced:
            self.asked.set()
        brokers = struct.pack(">i", len(known)) + b"".join(
            struct.pack(">i", node) + _text(HOST) + struct.pack(">ih", port, -1)
            for node, port in known.items()
        )
        return struct.pack(">i", 0) + brokers + _text(CLUSTER_ID) + struct.pack(">ii", 1, 0)


@asynccontextmanager
async def fenced_broker() -> AsyncIterator[FencedBroker]:
    """One that runs."""
    broker = FencedBroker()
    async with await asyncio.start_server(broker.serve, HOST, 0) as server:
        broker.port = server.sockets[0].getsockname()[1]
        yield broker


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()
