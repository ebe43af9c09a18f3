"""
The status topic of a worker group (``status.storage.topic``), which Connect's own tools read.

The worker that leads a connector writes its entries; all workers follow the topic, so that each
writes only changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import structlog

from mm2.config.clients import worker_client_properties
from mm2.connect.connector import Connector
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import StatusChange, decode_key
from mm2.core.connect.status_table import StatusTable, changes_without_worker
from mm2.errors import ClusterError, SchemaError
from mm2.herder.status.status_topic import StatusWriter
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.kafka.admin import Admin
from mm2.kafka.logs.log_tail import LogTail

log = structlog.get_logger()

_ALIAS: Final = "of the worker"
_ROLE: Final = "statuses"


class WorkerStatusTopic:
    """Reads and writes the status topic of a worker."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._topic = worker.properties["status.storage.topic"]
        self._parsed = worker.parsed
        self._properties = {"client.id": worker.group_id, **worker.properties}
        self._tables: dict[str, StatusTable] = {}
        self._loaded = asyncio.Event()
        # One for all connectors.
        self._writer = StatusWriter(
            _ALIAS, self._topic, worker_client_properties(self._properties, "producer", _ROLE)
        )

    @property
    def is_enabled(self) -> bool:
        """Whether there is such a topic; standalone workers have none."""
        return bool(self._topic)

    async def run(self) -> None:
        """
        Follows the topic, which is made if it is not there, until cancelled.

        Raises:
            ClusterError: it cannot be made or read.
        """
        if not self.is_enabled:
            return
        await self._prepare()
        self._tables = {}
        properties = worker_client_properties(self._properties, "consumer", _ROLE)
        tail = LogTail(_ALIAS, properties, self._topic)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._set_loaded(tail), name="statuses-loaded")
                async for record in tail:
                    self._take(record.key, record.value)
        finally:
            await self._writer.close()

    async def loaded(self) -> None:
        """Waits until the topic was read up to the end that it had at the start."""
        await self._loaded.wait()

    def connectors(self) -> list[str]:
        """The names of all connectors with statuses."""
        return sorted(name for name, table in self._tables.items() if table.statuses)

    def table_of(self, connector: str, part: str) -> StatusTable:
        """A copy of the entries of one connector, under another name."""
        table = self._tables.get(connector, StatusTable())
        return StatusTable(
            statuses={replace(k, connector=part): each for k, each in table.statuses.items()},
            topics={replace(k, connector=part): each for k, each in table.topics.items()},
        )

    async def write(self, connector: str, changes: Iterable[StatusChange]) -> None:
        """
        Writes changes of one connector, under its name instead of the one in their keys.

        Raises:
            ClusterError: the cluster does not answer, or refuses.
        """
        renamed = [(replace(key, connector=connector), entry) for key, entry in changes]
        await self._writer.write(renamed, self._tables.setdefault(connector, StatusTable()))

    async def forget(self, connector: str) -> None:
        """Deletes the entries of a connector, if the cluster answers."""
        try:
            await self.write(
                connector, changes_without_worker(self.table_of(connector, connector), None)
            )
        except ClusterError as error:
            log.warning("status.not_written", error=str(error))

    async def _set_loaded(self, tail: LogTail) -> None:
        await tail.caught_up.wait()
        self._loaded.set()

    def _take(self, key: bytes | None, value: bytes | None) -> None:
        if (decoded := decode_key(key)) is None:
            return
        try:
            self._tables.setdefault(decoded.connector, StatusTable()).take(key, value)
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


class ConnectorStatuses:
    """
    The entries of one connector in the worker's topic; implements ``StatusEntries``.

    Args:
        target: the connector's target state; None if it was deleted.
    """

    def __init__(
        self,
        connector: Connector,
        topic: WorkerStatusTopic,
        target: Callable[[], TargetState | None],
    ) -> None:
        self._connector = connector
        self._topic = topic
        self._target = target

    @property
    def is_enabled(self) -> bool:
        """Whether the worker has a status topic; standalone workers have none."""
        return self._topic.is_enabled

    @property
    def target(self) -> TargetState | None:
        """The connector's target state; None if it was deleted."""
        return self._target()

    async def load(self, snapshot: FlowSnapshot) -> None:
        """Waits until the topic was read, and puts the connector's entries into the snapshot."""
        await self._topic.loaded()
        connector = self._connector
        snapshot.statuses = self._topic.table_of(connector.name, connector.kind.part)

    async def write(self, snapshot: FlowSnapshot, changes: Iterable[StatusChange]) -> None:
        """Writes under the connector's own name."""
        del snapshot  # which has the changes after the next load
        await self._topic.write(self._connector.name, changes)

    async def close(self) -> None:
        """No-op: all connectors share the topic's connection."""
