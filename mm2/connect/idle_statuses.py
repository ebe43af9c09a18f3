"""
Corrects the status entries of connectors that no worker runs.

The worker that leads a connector writes its entries, also when it ends. If it was killed, or the
worker's cluster did not answer then, any worker corrects those of paused, stopped and deleted
connectors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import structlog

from mm2.connect.connector import Connector
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import StatusChange
from mm2.core.connect.status_table import changes_without_worker
from mm2.errors import Mm2Error
from mm2.herder.view.flow_follower import view_flow

log = structlog.get_logger()


class IdleConnectorStatuses:
    """
    Corrects entries of idle connectors; each worker does so.

    Args:
        known: connectors with a valid configuration; workers run no others.
        every_s: between two checks, in seconds; two checks in a row must find the same.
    """

    def __init__(
        self,
        store: ConnectorStore,
        topic: WorkerStatusTopic,
        known: Callable[[], Mapping[str, Connector]],
        *,
        every_s: float = 5.0,
    ) -> None:
        self._store = store
        self._topic = topic
        self._known = known
        self._every_s = every_s

    async def run(self) -> None:
        """Checks every few seconds, until cancelled."""
        if not self._topic.is_enabled:
            return
        await self._store.loaded()
        await self._topic.loaded()
        before: set[str] = set()
        while True:
            await asyncio.sleep(self._every_s)
            # A leader that ends writes them itself, in less time than from one check to the next.
            found = {name for name in self._topic.connectors() if self._changes(name)}
            for name in found & before:
                await self._correct(name)
            before = found

    def _changes(self, name: str) -> list[StatusChange]:
        contents = self._store.contents
        target = contents.state(name) if name in contents.configs else None
        if target is TargetState.STARTED:
            return []
        return changes_without_worker(self._topic.table_of(name, name), target)

    async def _correct(self, name: str) -> None:
        try:
            if not await self._is_led(name) and await self._is_idle(name):
                await self._topic.write(name, self._changes(name))
        except Mm2Error as error:
            # While the cluster does not answer, no other worker knows either; the next check asks
            # again. The message may contain the value of an expression.
            log.debug("status.not_written", connector=name, error=type(error).__name__)

    async def _is_idle(self, name: str) -> bool:
        return name in self._store.contents.configs or await self._store.is_gone(name)

    async def _is_led(self, name: str) -> bool:
        connector = self._known().get(name)
        return connector is not None and (await view_flow(connector.flow)).is_led
