"""Runs on this worker what its store holds: each connector is a flow of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from mm2.config.connector_reading import read_shutdown_timeout
from mm2.config.text.expressions import hide
from mm2.connect.connector import Connector, read_connector
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.config_records import TargetState
from mm2.errors import ConfigErrors, root_cause
from mm2.herder.flow_classes import HeldClasses, load_classes
from mm2.herder.view.led_flow import LedFlow
from mm2.stop_deadlines import connectors_s

log = structlog.get_logger()


class RunningFlow(Protocol):
    """What mirrors one flow on this node."""

    async def run(self) -> None:
        """Runs until ``stop``; everything under way is committed then."""

    def stop(self) -> None:
        """Asks ``run`` to drain and end."""

    @property
    def led(self) -> LedFlow | None:
        """The flow, if this node leads it now."""


@dataclass(frozen=True, slots=True)
class _Running:
    config: Mapping[str, str]
    restarts: int
    flow: RunningFlow
    task: asyncio.Task[None]


class RunningConnectors:
    """
    Starts, replaces and stops connectors as the store changes.

    Args:
        check: says before a connector runs what speaks against it, by an error.

    Attributes:
        known: those of which the configuration makes sense.
        rejected: why the others' does not.
        failed: why connectors ended that nobody has stopped.
    """

    def __init__(
        self,
        worker: WorkerConfig,
        store: ConnectorStore,
        flow: Callable[[Connector], RunningFlow],
        worker_id: str,
        check: Callable[[Connector, WorkerConfig], Awaitable[None]] | None = None,
    ) -> None:
        self.worker_id = worker_id
        self._worker = worker
        self._store = store
        self._flow = flow
        self._check = check
        self._runs: dict[str, _Running] = {}
        self._read: dict[str, Mapping[str, str]] = {}
        self.should_run: frozenset[str] = frozenset()
        self.known: dict[str, Connector] = {}
        self.rejected: dict[str, ConfigErrors] = {}
        self.failed: dict[str, str] = {}

    async def run(self, stopping: asyncio.Event) -> None:
        """Runs what the store wants until ``stopping``; then all connectors drain and end."""
        async with asyncio.TaskGroup() as group:
            stop = group.create_task(stopping.wait(), name="stopping")
            stop.add_done_callback(lambda _: self._store.changed.set())
            await self._store.loaded()
            while not stopping.is_set():
                self._store.changed.clear()
                await self._read_configs()
                await self._adjust(group)
                await self._store.changed.wait()
            await self._end(list(self._runs))

    def led(self) -> list[LedFlow]:
        """The flows of connectors that this worker leads now."""
        return [led for each in self._runs.values() if (led := each.flow.led) is not None]

    def failure(self, name: str) -> str | None:
        """Why a connector does not run that should; None if nothing keeps it from running."""
        if name in self.rejected:
            return str(self.rejected[name])
        return self.failed.get(name)

    async def _read_configs(self) -> None:
        contents = self._store.contents
        for name in self._read.keys() - contents.configs.keys():
            self._forget(name)
        for name, config in list(contents.configs.items()):
            if self._read.get(name) == config:
                continue
            self._forget(name)
            self._read[name] = config
            try:
                # In another thread: patterns may take their time.
                self.known[name] = await asyncio.to_thread(read_connector, config, self._worker)
            except ConfigErrors as errors:
                self.rejected[name] = errors
                log.error("connector.rejected", connector=name, error=str(errors))

    def _forget(self, name: str) -> None:
        for names in (self._read, self.known, self.rejected, self.failed):
            names.pop(name, None)

    async def _adjust(self, group: asyncio.TaskGroup) -> None:
        """Ends what is not to run as it does, and starts what is not there."""
        contents = self._store.contents
        should_run = {
            name: (each.config, contents.restarts.get(name, 0))
            for name, each in self.known.items()
            if contents.state(name) is TargetState.STARTED
        }
        self.should_run = frozenset(should_run)
        await self._end(
            [n for n, run in self._runs.items() if should_run.get(n) != (run.config, run.restarts)]
        )
        for name in should_run.keys() - self._runs.keys():
            config, restarts = should_run[name]
            connector = self.known[name]
            for warning in connector.flow.warnings:
                log.warning("config.spelling", connector=name, message=warning)
            flow = self._flow(connector)
            task = group.create_task(self._keep(connector, flow), name=f"connector {name}")
            self._runs[name] = _Running(config, restarts, flow, task)
            log.info("connector.started", connector=name, flow=str(connector.flow.flow))

    async def _keep(self, connector: Connector, flow: RunningFlow) -> None:
        """Runs a connector; what ends it for good leaves the others alone."""
        name = connector.name
        self.failed.pop(name, None)
        with (
            HeldClasses(connector.flow),
            structlog.contextvars.bound_contextvars(connector=name),
        ):
            try:
                await load_classes(connector.flow)
                if self._check is not None:
                    await self._check(connector, self._worker)
                await flow.run()
            except Exception as error:  # noqa: BLE001 - the supervisor of connectors
                reason = hide(str(root_cause(error)))
                log.error("connector.failed", error=reason)
                # Not of another one that has its name by now.
                if self.known.get(name) is connector:
                    self.failed[name] = reason

    async def _end(self, names: list[str]) -> None:
        """Ends connectors at the same time, and waits for them."""
        ending = [self._runs.pop(name) for name in names]
        for run in ending:
            run.flow.stop()
        if ending:
            within_s = connectors_s(read_shutdown_timeout(self._worker.parsed))
            _, late = await asyncio.wait([run.task for run in ending], timeout=within_s)
            for task in late:
                # Its target is away, most likely; the other connectors' turn has come.
                log.error("herder.not_stopped", herder=task.get_name(), within_s=within_s)
                task.cancel()
            log.info("connector.ended", connectors=sorted(names))
