"""Writes the checkpoints that are due to their topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import structlog

from flows.checkpoint.checkpoint_store import CheckpointStore, Due
from mm2.core.internal_records import Checkpoint
from mm2.core.transforms import TransformChain, own_record
from mm2.errors import ClusterError, SchemaError, TransformError
from mm2.kafka.client_errors import Refused
from mm2.kafka.writer import Stamped, Writer

log = structlog.get_logger()

_AT_ONCE: Final = 2_000
"""Records that are sent before the first answer is waited for; others have their turn then."""

_BATCH_BYTES: Final = 256 << 10
"""Hundreds of thousands of checkpoints may be due; each is small, and larger than none of these."""


class CheckpointOutbox:
    """
    Writes the records that are due in a store.

    A producer whose record was refused has a gap in its numbering and is of no further use, so
    another takes its place at the next attempt.

    ``on_written`` gets each checkpoint that is written, and its record's timestamp. ``chain``
    changes or drops records, as Java's checkpoint connector has its transforms do; but all stay in
    the topic, where clients look for them.
    """

    def __init__(
        self,
        alias: str,
        properties: Mapping[str, str],
        topic: str,
        store: CheckpointStore,
        *,
        on_written: Callable[[Checkpoint, int], None],
        chain: TransformChain | None = None,
    ) -> None:
        self._alias = alias
        self._properties = properties
        self._topic = topic
        self._store = store
        self._on_written = on_written
        self._chain = chain
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

    async def write_report(self, topic: str, key: bytes, value: bytes) -> None:
        """
        Writes a record about the checkpoints to another topic.

        Raises:
            ClusterError: it is not written.
        """
        try:
            await (await self._connected()).send(topic, key, value, partition=0)
        except ClusterError as error:
            if not error.retriable:
                await self.close()
            raise

    async def _write(self, due: list[Due]) -> None:
        """In as few batches as possible; what is refused keeps no other one from being written."""
        writer = await self._connected()
        records = [(one, record) for one in due if (record := self._record(one)) is not None]
        try:
            if refusal := await self._refusal(writer, records):
                raise refusal
        except ClusterError as error:
            if not error.retriable:
                await self.close()
            raise

    async def _refusal(self, writer: Writer, records: list[tuple[Due, Stamped]]) -> Refused | None:
        """Writes records; halves those that are refused until it is known which one is."""
        if not records:
            return None
        try:
            stamped = (record for _, record in records)
            await writer.send_stamped(self._topic, stamped, partition=0)
        except Refused as refusal:
            if len(records) == 1:
                return refusal
            middle = len(records) // 2
            first = await self._refusal(writer, records[:middle])
            return await self._refusal(writer, records[middle:]) or first
        for due, _ in records:
            self._written(due)
        return None

    async def _connected(self) -> Writer:
        if self._writer is None:
            writer = Writer(self._alias, self._properties, batch_bytes=_BATCH_BYTES)
            await writer.start()
            self._writer = writer
        return self._writer

    def _record(self, due: Due) -> Stamped | None:
        checkpoint = due.checkpoint
        try:
            found = self._transformed(due)
        except (SchemaError, TransformError) as error:
            # Metadata of more than 32767 bytes will be no shorter next time.
            log.warning("checkpoint.unwritable", group=checkpoint.group, error=str(error))
            found = None
        if found is None:
            self._store.sent(due)
        return found

    def _transformed(self, due: Due) -> Stamped | None:
        checkpoint, at = due.checkpoint, due.timestamp_ms
        key, value, headers = checkpoint.key(), checkpoint.value(), checkpoint.headers()
        if due.deleted:
            # Java writes no tombstones here. One that a Filter drops would leave its checkpoint.
            return Stamped(key, None, at, ())
        if self._chain is None:
            return Stamped(key, value, at, headers)
        record = own_record(self._topic, key, value, at, headers, chain=self._chain)
        if record is None:
            return None
        return Stamped(record.key, record.value, record.timestamp, record.headers)

    def _written(self, due: Due) -> None:
        self._store.sent(due)
        if not due.deleted:
            self._on_written(due.checkpoint, due.timestamp_ms)
