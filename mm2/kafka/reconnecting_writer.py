"""A writer for those who have something to say now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from mm2.errors import Unavailable
from mm2.kafka.writer import Writer


class ReconnectingWriter:
    """Connects when there is something to write, and again when the cluster was away."""

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self._alias = alias
        self._properties = properties
        self._writer: Writer | None = None
        self._opening = asyncio.Lock()

    async def send(self, topic: str, key: bytes, value: bytes | None) -> None:
        """
        Writes one record; returns once all in-sync replicas have it.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        # Each time, because whoever was not answered meanwhile has closed it.
        writer = await self._opened()
        try:
            await writer.send(topic, key, value)
        except Unavailable:
            await self._close(writer)
            raise

    async def close(self) -> None:
        """Closes what is open; whoever has something to say connects again."""
        await self._close(self._writer)

    async def _opened(self) -> Writer:
        async with self._opening:
            if self._writer is None:
                writer = Writer(self._alias, self._properties)
                await writer.start()
                self._writer = writer
            return self._writer

    async def _close(self, writer: Writer | None) -> None:
        if self._writer is writer:
            self._writer = None
        if writer is not None:
            await writer.close()
