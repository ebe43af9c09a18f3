"""
Keeps the worker's status topic true of each connector.

The worker that leads a connector writes its statuses, also when it ends. Where it was killed, or
the worker's cluster did not answer just then, any worker corrects those of connectors that are
paused, stopped or deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

import structlog

from mm2.connect.connector import Connector
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_table import statuses_when_idle
from mm2.errors import Mm2Error
from mm2.herder.status.status_diff import StatusDiff, Written
from mm2.herder.view.flow_follower import view_flow
from mm2.herder.view.flow_snapshot import FlowSnapshot

log = structlog.get_logger()


class ConnectorStatusStore:
    """
    Does for a connector what ``mm2.herder.status.status_topic`` does for a flow of dedicated nodes.

    Args:
        connector: the connector.
        board: the worker's status topic.
        wanted: what is wanted of the connector; None if it was deleted.
    """

    def __init__(
        self,
        connector: Connector,
        board: WorkerStatusTopic,
        wanted: Callable[[], TargetState | None],
    ) -> None:
        self._connector = connector
        self._board = board
        self._wanted = wanted

    @property
    def is_there(self) -> bool:
        """Whether the worker has such a topic; standalone workers have none."""
        return self._board.is_there

    async def look(self, snapshot: FlowSnapshot) -> None:
        """Has the snapshot show what the topic says, once it was read."""
        await self._board.loaded()
        connector = self._connector
        snapshot.statuses = self._board.table_of(connector.name, connector.kind.part)

    def last_words(self, snapshot: FlowSnapshot, ledger: StatusDiff) -> Iterable[Written]:
        """Final status records: the target state, or UNASSIGNED."""
        wanted = self._wanted()
        if wanted is TargetState.STARTED:
            return ledger.ends(snapshot)
        return statuses_when_idle(snapshot.statuses, wanted)

    async def write(self, snapshot: FlowSnapshot, records: Iterable[Written]) -> None:
        """
        Writes under the connector's own name.

        Raises:
            ClusterError: the worker's cluster does not answer, or refuses.
        """
        del snapshot  # which shows it at the next look
        await self._board.write(self._connector.name, records)

    async def close(self) -> None:
        """Nothing is open: the board is there for all connectors."""


class IdleConnectorStatuses:
    """
    Corrects statuses of idle connectors; each worker does so.

    Args:
        store: the connectors.
        board: the group's status topic.
        known: those of which the configuration makes sense; no others are run by anybody.
        every_s: how often it looks, in seconds; two looks in a row must find the same.
    """

    def __init__(
        self,
        store: ConnectorStore,
        board: WorkerStatusTopic,
        known: Callable[[], Mapping[str, Connector]],
        *,
        every_s: float = 5.0,
    ) -> None:
        self._store = store
        self._board = board
        self._known = known
        self._every_s = every_s

    async def run(self) -> None:
        """Looks every few seconds, until cancelled."""
        if not self._board.is_there:
            return
        await self._store.loaded()
        await self._board.loaded()
        before: set[str] = set()
        while True:
            await asyncio.sleep(self._every_s)
            # A leader that ends says it itself, in less time than from one look to the next.
            found = {name for name in self._board.connectors() if self._words(name)}
            for name in found & before:
                await self._correct(name)
            before = found

    def _words(self, name: str) -> list[Written]:
        contents = self._store.contents
        wanted = contents.state(name) if name in contents.configs else None
        if wanted is TargetState.STARTED:
            return []
        return list(statuses_when_idle(self._board.table_of(name, name), wanted))

    async def _correct(self, name: str) -> None:
        try:
            if not await self._is_led(name) and await self._rests(name):
                await self._board.write(name, self._words(name))
        except Mm2Error as error:
            # Of a cluster that does not answer nobody can tell: it is asked again. The reason may
            # quote what an expression stands for.
            log.debug("status.not_written", connector=name, error=type(error).__name__)

    async def _rests(self, name: str) -> bool:
        return name in self._store.contents.configs or await self._store.is_gone(name)

    async def _is_led(self, name: str) -> bool:
        connector = self._known().get(name)
        return connector is not None and (await view_flow(connector.flow)).is_led
