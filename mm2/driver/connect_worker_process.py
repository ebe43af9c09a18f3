"""A Connect worker: one process that runs connectors, alone or with others of its group."""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from flows.checkpoint.checkpoint_flow import run_checkpoints
from flows.heartbeat.heartbeat_flow import run_heartbeats
from mm2.config.connector_reading import read_shutdown_timeout
from mm2.connect.checkpoint_sink_connector import run_checkpoint_sink
from mm2.connect.cluster_identity import reject_same_cluster
from mm2.connect.connector import Connector
from mm2.connect.connector_status import ConnectorStatusStore, IdleConnectorStatuses
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.sink_group import SinkGroup
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import TargetState
from mm2.driver.mirror_maker import Engine, run_to_the_end
from mm2.herder.election.group_election import NodeAssignments
from mm2.herder.herder import FlowHerder
from mm2.herder.status.status_keeper import StatusKeeper
from mm2.rest.listeners import ServerSetup, prepare
from mm2.stop_deadlines import herders_s
from mm2.supervision import keep_running

log = structlog.get_logger()


def worker_server_setup(config: WorkerConfig) -> ServerSetup | None:
    """
    The entrance that a worker's file asks for; None if it wants none, or no port is free.

    Raises:
        FatalError: a listener that was asked for cannot be had.
        ConfigError: stores of certificates, passwords or patterns of origins cannot be used.
    """
    entrance = prepare(config.rest) if config.rest is not None else None
    return entrance if entrance is not None and entrance.bound else None


class ConnectWorker:
    """
    Runs the connectors of a store until it is stopped (Java: ``Connect``, ``Worker``).

    Args:
        config: the worker's configuration.
        store: the connectors.
        engine: runs their bundles.
        entrance: of the REST interface; None if there is to be none.
    """

    def __init__(
        self,
        config: WorkerConfig,
        store: ConnectorStore,
        engine: Engine,
        entrance: ServerSetup | None = None,
    ) -> None:
        self._entrance = entrance
        self._config = config
        self._store = store
        self._engine = engine
        self._worker_id = f"{socket.getfqdn()}/{uuid.uuid4()}"
        self._share = NodeAssignments(could=frozenset(), warm=asyncio.Event())
        self._board = WorkerStatusTopic(config)
        self._stopping = asyncio.Event()
        self.connectors = RunningConnectors(
            config, store, self._flow, self._worker_id, reject_same_cluster
        )
        self._resting = IdleConnectorStatuses(store, self._board, lambda: self.connectors.known)

    def stop(self) -> None:
        """Asks ``run`` to drain all connectors and end."""
        self._stopping.set()

    async def run(self) -> int:
        """Runs until ``stop``; returns the exit status."""
        log.info("connect.started", group=self._config.group_id, worker=self._worker_id)
        for warning in self._config.warnings():
            log.warning("config.spelling", message=warning)
        return await run_to_the_end(self._run, self._engine)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            # Spark takes seconds to start; connectors and topics are read meanwhile.
            spark = group.create_task(self._engine.start(), name="spark")
            warm = group.create_task(self._become_warm(after=spark), name="warm")
            store = group.create_task(keep_running("connectors", self._store.run), name="store")
            board = group.create_task(keep_running("statuses", self._board.run), name="statuses")
            resting = group.create_task(keep_running("resting", self._resting.run), name="resting")
            work = group.create_task(self.connectors.run(self._stopping), name="work")
            rest = group.create_task(self._serve(after=spark), name="rest")
            await self._stopping.wait()
            log.info("driver.stopping")
            within_s = herders_s(read_shutdown_timeout(self._config.parsed))
            _, late = await asyncio.wait([work], timeout=within_s)
            for task in late:
                log.error("herder.not_stopped", herder="connectors", within_s=within_s)
                task.cancel()
            for task in (store, rest, resting, board, warm):
                task.cancel()

    async def _become_warm(self, *, after: asyncio.Task[None]) -> None:
        await asyncio.wait([after])
        await self._engine.until_warm()
        self._share.warm.set()

    async def _serve(self, *, after: asyncio.Task[None]) -> None:
        """Serves REST; its library takes long to import, and connectors come first."""
        if self._entrance is None:
            return
        await asyncio.wait([after])
        try:
            serve = await asyncio.to_thread(_service)
            await serve(self._config, self._store, self.connectors, self._board, self._entrance)
        except Exception as error:
            # Connectors run without it, and so do the other workers'.
            log.error("rest.ended", exc_info=error)

    def _flow(self, connector: Connector) -> FlowHerder:
        self._share.could = self.connectors.wanted
        is_sink = connector.kind.is_checkpoint_sink
        return FlowHerder(
            connector.flow,
            runner=self._engine,
            heartbeats=run_heartbeats,
            checkpoints=run_checkpoint_sink if is_sink else run_checkpoints,
            worker_id=self._worker_id,
            share=self._share,
            status=self._status(connector),
        )

    def _status(self, connector: Connector) -> StatusKeeper:
        lag_group = SinkGroup.of(connector)
        return StatusKeeper(
            lambda: connector.flow,
            ConnectorStatusStore(connector, self._board, lambda: self._wanted(connector.name)),
            owner=self._worker_id,
            worker_id=self._worker_id,
            also=None if lag_group is None else lag_group.keep,
        )

    def _wanted(self, name: str) -> TargetState | None:
        contents = self._store.contents
        return contents.state(name) if name in contents.configs else None


def _service() -> Callable[
    [WorkerConfig, ConnectorStore, RunningConnectors, WorkerStatusTopic, ServerSetup],
    Coroutine[Any, Any, None],
]:
    from mm2.connect.worker_rest import serve_worker  # noqa: PLC0415 - see above

    return serve_worker
