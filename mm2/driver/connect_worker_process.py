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
from mm2.config.metrics_settings import read_metrics
from mm2.connect.checkpoint_sink_connector import run_checkpoint_sink
from mm2.connect.cluster_identity import reject_same_cluster
from mm2.connect.connector import Connector
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.idle_statuses import IdleConnectorStatuses
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.sink_group import SinkGroup
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_status_topic import ConnectorStatuses, WorkerStatusTopic
from mm2.core.connect.config_records import TargetState
from mm2.driver.flow_totals import totals_of
from mm2.driver.mirror_maker import Engine, run_to_the_end
from mm2.driver.otlp_start import send_metrics
from mm2.herder.election.group_election import NodeAssignments
from mm2.herder.herder import FlowHerder
from mm2.herder.status.status_keeper import StatusKeeper
from mm2.rest.listeners import ServerSetup, prepare
from mm2.stop_deadlines import herders_s
from mm2.supervision import keep_running

log = structlog.get_logger()


def worker_server_setup(config: WorkerConfig) -> ServerSetup | None:
    """
    The interface that a worker's file asks for; None if it wants none, or no port is free.

    Raises:
        FatalError: a listener that was asked for cannot be had.
        ConfigError: stores of certificates, passwords or patterns of origins cannot be used.
    """
    setup = prepare(config.rest) if config.rest is not None else None
    return setup if setup is not None and (setup.bound or setup.metrics) else None


class ConnectWorker:
    """
    Runs the connectors of a store until it is stopped (Java: ``Connect``, ``Worker``).

    Args:
        setup: of the REST interface; None if there is to be none.
    """

    def __init__(
        self,
        config: WorkerConfig,
        store: ConnectorStore,
        engine: Engine,
        setup: ServerSetup | None = None,
    ) -> None:
        self._setup = setup
        self._config = config
        self._store = store
        self._engine = engine
        self._worker_id = f"{socket.getfqdn()}/{uuid.uuid4()}"
        self._share = NodeAssignments(eligible=frozenset(), is_warm=False)
        self._status_topic = WorkerStatusTopic(config)
        self._stopping = asyncio.Event()
        self.connectors = RunningConnectors(
            config, store, self._flow, self._worker_id, reject_same_cluster
        )
        self._idle_statuses = IdleConnectorStatuses(
            store, self._status_topic, lambda: self.connectors.known
        )

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
            warm = group.create_task(self._follow_warmth(after=spark), name="warm")
            store = group.create_task(keep_running("connectors", self._store.run), name="store")
            statuses = group.create_task(
                keep_running("statuses", self._status_topic.run), name="statuses"
            )
            idle = group.create_task(
                keep_running("idle statuses", self._idle_statuses.run), name="idle statuses"
            )
            work = group.create_task(self.connectors.run(self._stopping), name="work")
            rest = group.create_task(self._serve(after=spark), name="rest")
            otlp = group.create_task(self._send_metrics(after=spark), name="otlp")
            totals = group.create_task(
                self._engine.show_totals(lambda: totals_of(self.connectors.led())), name="totals"
            )
            await self._stopping.wait()
            log.info("driver.stopping")
            otlp.cancel()
            totals.cancel()
            within_s = herders_s(read_shutdown_timeout(self._config.parsed))
            _, late = await asyncio.wait([work], timeout=within_s)
            for task in late:
                log.error("herder.not_stopped", herder="connectors", within_s=within_s)
                task.cancel()
            for task in (store, rest, idle, statuses, warm, spark):
                task.cancel()

    async def _follow_warmth(self, *, after: asyncio.Task[None]) -> None:
        await asyncio.wait([after])
        await self._engine.follow_warmth(self._share.tell_warmth)

    async def _serve(self, *, after: asyncio.Task[None]) -> None:
        """Serves REST; its library takes long to import, and connectors come first."""
        if self._setup is None:
            return
        await asyncio.wait([after])
        try:
            serve = await asyncio.to_thread(_service)
            await serve(self._config, self._store, self.connectors, self._status_topic, self._setup)
        except Exception as error:
            # Connectors run without it, and so do the other workers'.
            log.error("rest.ended", exc_info=error)

    async def _send_metrics(self, *, after: asyncio.Task[None]) -> None:
        await asyncio.wait([after])
        settings = read_metrics(self._config.properties)
        await send_metrics(self.connectors.led, settings, self._worker_id)

    def _flow(self, connector: Connector) -> FlowHerder:
        self._share.eligible = self.connectors.should_run
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
            lambda _: ConnectorStatuses(
                connector, self._status_topic, lambda: self._target(connector.name)
            ),
            owner=self._worker_id,
            worker_id=self._worker_id,
            companion=None if lag_group is None else lag_group.keep,
        )

    def _target(self, name: str) -> TargetState | None:
        contents = self._store.contents
        return contents.state(name) if name in contents.configs else None


def _service() -> Callable[
    [WorkerConfig, ConnectorStore, RunningConnectors, WorkerStatusTopic, ServerSetup],
    Coroutine[Any, Any, None],
]:
    from mm2.connect.worker_rest import serve_worker  # noqa: PLC0415 - see above

    return serve_worker
