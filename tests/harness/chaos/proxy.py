"""
Links between a node and a broker that can be cut: a TCP proxy.

A cut link behaves as a network that loses every packet: connections stay open and silent, new ones
are never answered, and what was on its way arrives when the link is whole again, however late.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from mm2.demo.broker_settings import HOST

T = TypeVar("T")

_CHUNK: Final = 1 << 16
_WITHIN_S: Final = 60.0


class Link:
    """
    One listening port, and what it leads to; made by ``Links.open``.

    Args:
        loop: where its connections live.
        to: the port that it leads to.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, to: int) -> None:
        self._loop = loop
        self._to = to
        self._whole = asyncio.Event()
        self._whole.set()
        self._is_refusing = False
        self._writers: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Lets nothing through any more; nobody is told."""
        self._loop.call_soon_threadsafe(self._whole.clear)

    def refuse(self) -> None:
        """Breaks all connections off, and new ones at once."""
        self._loop.call_soon_threadsafe(self._break_off)

    def heal(self) -> None:
        """Lets everything through again, first of all what has been waiting."""
        self._loop.call_soon_threadsafe(self._let_through)

    def _break_off(self) -> None:
        self._is_refusing = True
        for writer in self._writers:
            writer.transport.abort()

    def _let_through(self) -> None:
        self._is_refusing = False
        self._whole.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carries one connection."""
        self._writers.add(writer)
        try:
            await self._whole.wait()
            if not self._is_refusing:
                await self._carry(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # one of the two has broken off, or all ends: then asyncio would print it
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_there, to_there = await asyncio.open_connection(HOST, self._to)
        self._writers.add(to_there)
        try:
            ways = [
                asyncio.ensure_future(self._pass_on(reader, to_there)),
                asyncio.ensure_future(self._pass_on(from_there, writer)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            self._writers.discard(to_there)
            to_there.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Bytes, and then the end of the connection."""
        while data := await reader.read(_CHUNK):
            await self._whole.wait()
            writer.write(data)
            await writer.drain()
        await self._whole.wait()


class Links:
    """
    Runs links in a thread of its own; a context manager.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._thread = threading.Thread(target=self._loop.run_forever, name="links", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def open(self, port: int, to: int) -> Link:
        """A link from a free port to another one of this machine."""
        link = Link(self._loop, to)
        self._servers.append(self._run(asyncio.start_server(link.serve, HOST, port)))
        return link

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_WITHIN_S)

    async def _end(self) -> None:
        """Ends servers and connections: all that runs in this loop."""
        for server in self._servers:
            server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*others, return_exceptions=True)
