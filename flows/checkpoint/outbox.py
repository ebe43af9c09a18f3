"""
Writes the checkpoints that are due to their topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from flows.checkpoint.store import CheckpointStore
from mm2.core.codec import Checkpoint
from mm2.errors import ClusterError, SchemaError
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_AT_ONCE: Final = 200
"""Records that are sent before the first answer is waited for."""


class Outbox:
    """
    Writes what is due in a store.

    A producer whose record was refused has a gap in its numbering and is of no further use, so
    another takes its place at the next attempt.

    Args:
        alias: the target.
        properties: Java's client properties of the producer.
        topic: the topic of checkpoints.
        store: has what is to be written.
    """

    def __init__(
        self, alias: str, properties: Mapping[str, str], topic: str, store: CheckpointStore
    ) -> None:
        self._alias = alias
        self._properties = properties
        self._topic = topic
        self._store = store
        self._writer: Writer | None = None

    async def close(self) -> None:
        """Waits for what is under way, and disconnects."""
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.close()

    async def write(self) -> int:
        """
        Writes all that is due, and returns how many records that were.

        Raises:
            ClusterError: the first failure; what is not written stays due.
        """
        due = self._store.unsent()
        for first in range(0, len(due), _AT_ONCE):
            await self._write(due[first : first + _AT_ONCE])
        return len(due)

    async def _write(self, due: list[tuple[Checkpoint, int]]) -> None:
        writer = await self._connected()
        async with asyncio.TaskGroup() as group:
            sending = [
                group.create_task(self._send(writer, *each), name="checkpoint") for each in due
            ]
        failures = [failure for task in sending if (failure := task.result()) is not None]
        if any(not failure.retriable for failure in failures):
            await self.close()
        if failures:
            raise failures[0]

    async def _connected(self) -> Writer:
        if self._writer is None:
            writer = Writer(self._alias, self._properties)
            await writer.start()
            self._writer = writer
        return self._writer

    async def _send(
        self, writer: Writer, checkpoint: Checkpoint, timestamp_ms: int
    ) -> ClusterError | None:
        try:
            key, value = checkpoint.key(), checkpoint.value()
        except SchemaError as error:
            # Metadata of more than 32767 bytes will be no shorter next time.
            log.warning("checkpoint.unwritable", group=checkpoint.group, error=str(error))
            self._store.sent(checkpoint)
            return None
        try:
            await writer.send(self._topic, key, value, partition=0, timestamp_ms=timestamp_ms)
        except ClusterError as error:
            return error
        self._store.sent(checkpoint)
        return None
