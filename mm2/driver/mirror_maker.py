"""
The driver: one process that runs the flows of a configuration.

Composition root: the only place that knows the herder, the flows and Spark.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

import structlog

from flows.checkpoint.checkpoint_flow import run_checkpoints
from flows.heartbeat.heartbeat_flow import run_heartbeats
from mm2 import __version__
from mm2.config.checks.failed_flows import FailedFlow
from mm2.config.flow_config import FlowConfig
from mm2.driver.file_reload import file_change
from mm2.driver.flow_totals import totals_of
from mm2.driver.otlp_start import metrics_of_flows, send_metrics
from mm2.driver.program import EXIT_HERDER, EXIT_START, run_program
from mm2.driver.rest_start import serve_rest, server_setup
from mm2.driver.signals import StopSignals, handling
from mm2.errors import ConfigError, ConfigErrors, FatalError, root_cause
from mm2.herder.election.group_election import NodeAssignments
from mm2.herder.flow_protocols import BundleRunner
from mm2.herder.herder import Herder
from mm2.rest.listeners import ServerSetup
from mm2.stop_deadlines import herders_s

log = structlog.get_logger()

_STDIN: Final = 0


class Engine(BundleRunner, Protocol):
    """What runs bundles, with a life of its own."""

    async def follow_warmth(self, tell: Callable[[bool], None]) -> None:
        """
        Tells when a bundle would begin at once, which takes a first one, or some seconds.

        Tells False when one has waited for long, and others should have the flows.
        """

    async def show_totals(self, totals: Callable[[], Mapping[str, int]]) -> None:
        """Shows totals, by their names, until it is cancelled; ends where nobody can see them."""

    async def stop(self) -> None:
        """Ends it with all that it has started."""


async def run_to_the_end(work: Callable[[], Awaitable[None]], engine: Engine) -> int:
    """
    Runs all that a process does until it ends, and then ends Spark; returns the exit status.

    Args:
        work: ends when the process is to; an error in it is logged.
        engine: is stopped whatever happens.
    """
    try:
        await work()
    except BaseExceptionGroup as errors:
        fatal, _ = errors.split(FatalError)
        log.critical("driver.failed", error=str(root_cause(fatal or errors)))
        return EXIT_START if fatal else EXIT_HERDER
    finally:
        await engine.stop()
    log.info("driver.stopped")
    return 0


class MirrorMaker:
    """
    Runs flows until it is stopped (Java: ``MirrorMaker``).

    Args:
        setup: of the REST interface; None if there is to be none.
        read_again: what to run from now on, asked for by SIGHUP; raises ``ConfigErrors``.
        failed: flows of the file that cannot run.
    """

    def __init__(
        self,
        flows: Sequence[FlowConfig],
        engine: Engine,
        setup: ServerSetup | None = None,
        read_again: Callable[[], Sequence[FlowConfig]] | None = None,
        failed: Sequence[FailedFlow] = (),
        *,
        node: str | None = None,
    ) -> None:
        self._flows = flows
        self._failed = failed
        self._setup = setup
        self._is_up = asyncio.Event()
        self._engine = engine
        self._node = node or new_node_id()
        self._read_again = read_again
        eligible = frozenset(str(flow.flow) for flow in flows)
        self._share = NodeAssignments(eligible=eligible, is_warm=False)
        self._herder = Herder(
            flows,
            runner=engine,
            heartbeats=run_heartbeats,
            checkpoints=run_checkpoints,
            node=self._node,
            share=self._share,
        )
        self._has_terminal = os.isatty(_STDIN)
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Asks ``run`` to drain and end."""
        self._stop.set()

    async def run(self) -> int:
        """Runs until ``stop``; returns the exit status."""
        for warning in dict.fromkeys(w for flow in self._flows for w in flow.warnings):
            log.warning("config.spelling", message=warning)
        return await run_to_the_end(self._run_herder, self._engine)

    async def _run_herder(self) -> None:
        async with asyncio.TaskGroup() as group:
            # Spark takes seconds to start; topics are read and created meanwhile.
            spark = group.create_task(self._start_engine(), name="spark")
            warming = group.create_task(self._follow_warmth(), name="warm")
            rest = group.create_task(
                serve_rest(
                    lambda: self._flows,
                    lambda: self._failed,
                    self._herder.led,
                    self._setup,
                    after=self._is_up,
                ),
                name="rest",
            )
            otlp = group.create_task(self._send_metrics(), name="otlp")
            totals = group.create_task(
                self._engine.show_totals(lambda: totals_of(self._herder.led())), name="totals"
            )
            self._herder.start(group)
            with self._reloading(group):
                await self._stop.wait()
            log.info("driver.stopping")
            otlp.cancel()
            totals.cancel()
            self._herder.stop()
            within_s = max(herders_s(flow.herder.shutdown_timeout) for flow in self._flows)
            _, late = await asyncio.wait(self._herder.tasks, timeout=within_s)
            for task in late:
                log.error("herder.not_stopped", herder=task.get_name(), within_s=within_s)
                task.cancel()
            rest.cancel()
            warming.cancel()
            spark.cancel()

    async def _start_engine(self) -> None:
        if any(flow.source.runs for flow in self._flows):
            await self._engine.start()
        self._is_up.set()

    async def _send_metrics(self) -> None:
        await self._is_up.wait()
        await send_metrics(self._herder.led, metrics_of_flows(self._flows), self._node)

    async def _follow_warmth(self) -> None:
        await self._is_up.wait()
        await self._engine.follow_warmth(self._share.tell_warmth)

    @contextmanager
    def _reloading(self, group: asyncio.TaskGroup) -> Iterator[None]:
        """Obeys SIGHUP meanwhile, and leaves no reload under way."""
        if self._read_again is None:
            yield
            return
        read_again, turn = self._read_again, asyncio.Lock()
        reloads = set[asyncio.Task[None]]()

        async def reload() -> None:
            async with turn:
                try:
                    await self._reload(read_again)
                except Exception as error:  # noqa: BLE001 - the flows go on as they are
                    log.error("config.rejected", problems=[repr(error)])

        def begin() -> None:
            task = group.create_task(reload(), name="reload")
            reloads.add(task)
            task.add_done_callback(reloads.discard)

        with handling(asyncio.get_running_loop(), signal.SIGHUP, begin):
            try:
                yield
            finally:
                for task in reloads:
                    task.cancel()

    async def _reload(self, read_again: Callable[[], Sequence[FlowConfig]]) -> None:
        """
        Goes on with what the file says now; if anything is wrong with it, as before.

        A terminal that was closed sends the same signal, and then it is to stop.
        """
        if self._has_terminal and not os.isatty(_STDIN):
            self.stop()
            return
        try:
            # In another thread: a class of the file may take its time.
            flows = await asyncio.to_thread(read_again)
        except ConfigErrors as errors:
            log.error("config.rejected", problems=[str(problem) for problem in errors.problems])
            return
        if self._stop.is_set():  # What began now, nobody would stop.
            return
        change = file_change(self._flows, flows)
        if change.of_process:
            log.warning("config.needs_restart", keys=list(change.of_process))
        self._flows, self._failed = flows, ()
        self._share.eligible = frozenset(str(flow.flow) for flow in flows)
        log.info("config.read_again", **change.names())
        for config in change.removed:
            self._herder.remove(config.flow)
        for config in change.changed:
            self._herder.reconfigure(config)
        for config in change.added:
            self._herder.add(config)


def new_node_id() -> str:
    """The id of a process among the nodes of its flows; another at each start, as Java's (C480)."""
    return f"{socket.getfqdn()}/{uuid.uuid4()}"


def run_flows(
    flows: Sequence[FlowConfig],
    engine: Engine,
    signals: StopSignals,
    read_again: Callable[[], Sequence[FlowConfig]],
    *,
    file: Path | None = None,
    failed: Sequence[FailedFlow] = (),
) -> int:
    """
    Runs flows in the foreground; returns the exit status.

    Those of the file that have failed are logged once, and shown as failed by REST.

    SIGTERM and SIGINT drain, commit and end it with status 0; a second one ends it at once. SIGHUP
    has it read its file again.
    """
    node = new_node_id()
    names = [str(flow.flow) for flow in flows]
    log.info("driver.started", version=__version__, file=str(file), node=node, flows=names)
    for each in failed:
        log.error("flow.unusable", flow=str(each.flow), problems=[str(p) for p in each.problems])
    try:
        setup = server_setup(flows)
    except (ConfigError, FatalError) as error:
        log.critical("driver.failed", error=str(error))
        return EXIT_START
    return run_program(
        lambda: MirrorMaker(flows, engine, setup, read_again, failed, node=node), signals
    )
