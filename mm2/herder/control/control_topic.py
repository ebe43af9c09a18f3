"""The current contents of a flow's control topic, followed while the node serves the flow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import structlog

from mm2.errors import SchemaError
from mm2.kafka.logs.log_tail import LogTail
from mm2.kafka.logs.read_log import Record
from mm2.protocol.control_codec import ControlRecord, NewerRecord, decode_control
from mm2.protocol.desired_state import DesiredState

log = structlog.get_logger()

Listener = Callable[[ControlRecord], None]
"""Is called with each record that can be read."""

Reader = Callable[[Record], None]
"""Takes the records themselves."""


class ControlTopicState:
    """The last record under each key of a control topic, always current."""

    def __init__(self, alias: str, consumer: Mapping[str, str], topic: str) -> None:
        self._tail = LogTail(alias, consumer, topic)
        self._records: dict[bytes, Record] = {}
        self._readers: list[Reader] = []
        self._entries: dict[bytes, ControlRecord] = {}
        self._newer: dict[bytes, str] = {}
        self._listeners: list[Listener] = []
        self.desired = DesiredState()

    @property
    def caught_up(self) -> asyncio.Event:
        """Set once all that was there at the start has been taken in."""
        return self._tail.caught_up

    @property
    def newer(self) -> str | None:
        """A record that only a newer release understands, if there is one; so we must not lead."""
        return next(iter(self._newer.values()), None)

    @property
    def entries(self) -> tuple[ControlRecord, ...]:
        """The last record under each key, in the order of writing."""
        return tuple(self._entries.values())

    @contextmanager
    def subscribe_entries(self, listener: Listener) -> Iterator[None]:
        """Calls ``listener`` with each record that comes, in order, once it is taken in."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    @contextmanager
    def subscribe_records(self, reader: Reader) -> Iterator[None]:
        """
        Has ``reader`` take the topic's records, so that it need not read them a second time.

        First the last one under each key, in the order of writing, and then each that comes.
        """
        for record in self._records.values():
            reader(record)
        self._readers.append(reader)
        try:
            yield
        finally:
            self._readers.remove(reader)

    async def follow(self) -> None:
        """
        Follows the topic until cancelled.

        Raises:
            ClusterError: it cannot be read, and waiting does not help.
        """
        async for record in self._tail:
            self._take(record)

    def _take(self, record: Record) -> None:
        key = record.key or b""
        self._keep(key, record)
        self._entries.pop(key, None)
        entry = self._decoded(key, record)
        if entry is None:
            return
        self._entries[key] = entry
        self.desired = self.desired.then(entry)
        for listener in tuple(self._listeners):
            listener(entry)

    def _keep(self, key: bytes, record: Record) -> None:
        self._records.pop(key, None)
        if record.value is not None:
            self._records[key] = record
        for reader in tuple(self._readers):
            reader(record)

    def _decoded(self, key: bytes, record: Record) -> ControlRecord | None:
        self._newer.pop(key, None)
        try:
            return decode_control(record.key, record.value)
        except NewerRecord as error:
            self._newer[key] = str(error)
            # The node that a lease names leads, whatever else is in it.
            return error.lease
        except SchemaError as error:
            log.error("control.unreadable", offset=record.offset, error=str(error))
        return None
