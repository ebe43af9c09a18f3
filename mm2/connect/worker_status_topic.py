"""
The status topic of a worker group, in which Connect's own tools look (``status.storage.topic``).

One worker writes what it knows of the connectors that it leads; all follow the topic, so that each
writes only what is not there yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import structlog

from mm2.config.clients import worker_client_properties
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.status_records import (
    ConnectorKey,
    TaskKey,
    TopicKey,
    decode_key,
    decode_topic,
    encode_status,
    encode_topic,
)
from mm2.core.connect.status_table import StatusTable
from mm2.errors import ClusterError, SchemaError
from mm2.herder.status.status_diff import Written
from mm2.kafka.admin import Admin
from mm2.kafka.logs.log_tail import LogTail
from mm2.kafka.reconnecting_writer import ReconnectingWriter

log = structlog.get_logger()

_ALIAS: Final = "of the worker"
_ROLE: Final = "statuses"


class WorkerStatusTopic:
    """
    Reads and writes the status topic of a worker.

    Args:
        worker: the worker's configuration.
    """

    def __init__(self, worker: WorkerConfig) -> None:
        self._topic = worker.properties["status.storage.topic"]
        self._parsed = worker.parsed
        self._properties = {"client.id": worker.group_id, **worker.properties}
        self._tables: dict[str, StatusTable] = {}
        self._loaded = asyncio.Event()
        # One for all connectors.
        self._writer = ReconnectingWriter(
            _ALIAS, worker_client_properties(self._properties, "producer", _ROLE)
        )

    @property
    def is_there(self) -> bool:
        """Whether there is such a topic; standalone workers have none."""
        return bool(self._topic)

    async def run(self) -> None:
        """
        Follows the topic, which is made if it is not there, until cancelled.

        Raises:
            ClusterError: it cannot be made or read.
        """
        if not self.is_there:
            return
        await self._prepare()
        self._tables = {}
        properties = worker_client_properties(self._properties, "consumer", _ROLE)
        tail = LogTail(_ALIAS, properties, self._topic)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._tell_loaded(tail), name="statuses-loaded")
                async for record in tail:
                    self._take(record.key, record.value)
        finally:
            await self._writer.close()

    async def loaded(self) -> None:
        """Waits until the topic was read to the end that it had at the start."""
        await self._loaded.wait()

    def connectors(self) -> list[str]:
        """The names of all connectors with statuses."""
        return sorted(name for name, table in self._tables.items() if table.statuses)

    def table_of(self, connector: str, part: str) -> StatusTable:
        """The entries of one connector, under another name."""
        said = self._tables.get(connector, StatusTable())
        return StatusTable(
            statuses={replace(k, connector=part): each for k, each in said.statuses.items()},
            topics={replace(k, connector=part): each for k, each in said.topics.items()},
        )

    async def write(self, connector: str, records: Iterable[Written]) -> None:
        """
        Writes records of one connector, under its name instead of the one in their keys.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        for key, value in [_of(connector, *record) for record in records]:
            await self._writer.send(self._topic, key, value)
            # What is written is known at once: nobody is to write it twice meanwhile.
            self._take(key, value)

    async def forget(self, connector: str) -> None:
        """Deletes the entries of a connector, if the cluster answers."""
        said = self.table_of(connector, connector)
        records = [encode_status(key, None) for key in said.statuses]
        records += [encode_topic(key, None) for key in said.topics]
        try:
            await self.write(connector, records)
        except ClusterError as error:
            log.warning("status.not_written", error=str(error))

    async def _tell_loaded(self, tail: LogTail) -> None:
        await tail.caught_up.wait()
        self._loaded.set()

    def _take(self, key: bytes | None, value: bytes | None) -> None:
        if (about := decode_key(key)) is None:
            return
        try:
            self._tables.setdefault(about.connector, StatusTable()).take(key, value)
        except SchemaError as error:
            log.warning("status.unreadable", topic=self._topic, error=str(error))

    async def _prepare(self) -> None:
        admin = Admin(_ALIAS, worker_client_properties(self._properties, "admin", _ROLE))
        try:
            await admin.create_internal_topic(
                self._topic,
                partitions=self._parsed.integer("status.storage.partitions"),
                replication_factor=self._parsed.integer("status.storage.replication.factor"),
                configs={"cleanup.policy": "compact"},
            )
        finally:
            await admin.close()


def _of(connector: str, key: bytes, value: bytes | None) -> Written:
    """The same record for a connector of another name."""
    match decode_key(key):
        case ConnectorKey() | TaskKey() as about:
            return str(replace(about, connector=connector)).encode(), value
        case TopicKey() as topic:
            found = None if value is None else decode_topic(value)
            return encode_topic(replace(topic, connector=connector), found)
        case None:
            return key, value
