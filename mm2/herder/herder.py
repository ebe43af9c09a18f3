"""
Everything that one node does for its flows.

Flows are independent: each waits for its own clusters, each is led by one of the nodes, and what
fails in one is started again without the others noticing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.config.keys.effects import Effect
from mm2.config.live_changes import change_between
from mm2.core.model import (
    CHECKPOINT_CONNECTOR,
    HEARTBEAT_CONNECTOR,
    SourceAndTarget,
)
from mm2.core.policy import build_policy
from mm2.herder.election.flow_leading import FlowLeading
from mm2.herder.election.group_election import NodeAssignments
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.flow_classes import HeldClasses, load_classes
from mm2.herder.flow_protocols import BundleRunner, SmallFlow, StatusWriter
from mm2.herder.leader_flow import LeaderFlow
from mm2.herder.status.failure_reporting import ReportingRunner, reporting_flow
from mm2.herder.status.status_keeper import StatusKeeper
from mm2.herder.status.status_topic import StatusTopic, worker_id_of
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.flow_clusters import admin_clients, wait_until_reachable
from mm2.supervision import keep_running, run_unless_set

log = structlog.get_logger()


class Herder:
    """
    Owns the flows of this node.

    Args:
        flows: their configurations.
        runner: runs bundles of the source flow.
        heartbeats: the heartbeat flow.
        checkpoints: the checkpoint flow.
        node: names this node; each target knows it by another id.
        share: what this node leads of all its flows.

    Attributes:
        tasks: of all flows that have not ended.
    """

    def __init__(
        self,
        flows: Sequence[FlowConfig],
        *,
        runner: BundleRunner,
        heartbeats: SmallFlow,
        checkpoints: SmallFlow,
        node: str,
        share: NodeAssignments,
    ) -> None:
        self._node = node
        self._new = partial(
            FlowHerder,
            runner=runner,
            heartbeats=heartbeats,
            checkpoints=checkpoints,
            share=share,
        )
        self._configs = flows
        self._flows: dict[SourceAndTarget, FlowHerder] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self._group: asyncio.TaskGroup | None = None

    def start(self, group: asyncio.TaskGroup) -> None:
        """Begins to run all flows, in tasks of ``group``."""
        self._group = group
        for config in self._configs:
            self.add(config)

    def stop(self) -> None:
        """Asks all flows to drain and end."""
        self._group = None
        for flow in self._flows.values():
            flow.stop()

    def add(self, config: FlowConfig) -> None:
        """Begins to run one more flow."""
        worker_id = f"{self._node}/{config.flow.target}"
        flow = self._flows[config.flow] = self._new(config, worker_id=worker_id)
        name = str(config.flow)
        earlier = [task for task in self.tasks if task.get_name() == name]

        async def run() -> None:
            # A flow that was removed just now, and is wanted again, drains first.
            if earlier:
                await asyncio.wait(earlier)
            await flow.run()

        if self._group is not None:
            task = self._group.create_task(run(), name=name)
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def remove(self, flow: SourceAndTarget) -> None:
        """Asks a flow to drain and end."""
        self._flows.pop(flow).stop()

    def reconfigure(self, config: FlowConfig) -> None:
        """Has a flow go on with other settings."""
        self._flows[config.flow].reconfigure(config)


class FlowHerder:
    """
    Follows one flow on this node, and runs it whenever the node is elected to lead it.

    Args:
        config: the flow.
        runner: runs bundles of the source flow.
        heartbeats: the heartbeat flow.
        checkpoints: the checkpoint flow.
        worker_id: names this node.
        share: what this node leads of all its flows.
        status: says what the flow does; in the flow's own status topic by default.
    """

    def __init__(
        self,
        config: FlowConfig,
        *,
        runner: BundleRunner,
        heartbeats: SmallFlow,
        checkpoints: SmallFlow,
        worker_id: str,
        share: NodeAssignments | None = None,
        status: StatusWriter | None = None,
    ) -> None:
        self.config = config
        self._status = status or StatusKeeper(
            lambda: self.config,
            StatusTopic(lambda: self.config),
            owner=worker_id,
            worker_id=worker_id_of(worker_id, config.flow),
        )
        hear = self._status.report_failure
        self._runner = ReportingRunner(runner, hear)
        self._heartbeats = reporting_flow(heartbeats, HEARTBEAT_CONNECTOR, hear)
        self._checkpoints = reporting_flow(checkpoints, CHECKPOINT_CONNECTOR, hear)
        self._worker_id = worker_id
        self._share = share or NodeAssignments(could=frozenset({config.herder.names.label}))
        self._leading: FlowLeading | None = None
        self._steered: LeaderFlow | None = None
        self._classes = HeldClasses()
        self._is_news = asyncio.Event()
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Asks ``run`` to drain, to hand the flow over, and to end."""
        self._stop.set()

    def reconfigure(self, config: FlowConfig) -> None:
        """
        Goes on with another file.

        What says which flow it is cannot change: then the flow goes on as it is, which is said.
        """
        change = change_between(self.config, config)
        if Effect.FIXED in change.effects:
            log.warning("config.needs_restart", flow=str(config.flow), keys=list(change.keys))
            return
        self.config = config
        self._is_news.set()
        if self._leading is not None and Effect.FLOW in change.effects:
            self._leading.stop()
        elif self._leading is not None:
            self._leading.reconfigure(config)
        if self._steered is not None:
            self._steered.reconfigure(config)
        else:
            self._classes.take(config)

    async def run(self) -> None:
        """Follows and leads the flow until ``stop``."""
        with self._classes, structlog.contextvars.bound_contextvars(flow=str(self.config.flow)):
            await keep_running("flow", self._attempts, stopping=self._stop)

    async def _attempts(self) -> None:
        """One after the other: with other connections, everything begins again."""
        while not self._stop.is_set():
            config = self.config
            self._is_news.clear()
            self._classes.take(config)
            with HeldClasses(config):
                is_ready = await run_unless_set(self._stop, self._prepare(config))
            if is_ready and not self._is_news.is_set():
                await self._follow(config)

    async def _follow(self, config: FlowConfig) -> None:
        self._leading = FlowLeading(
            config,
            node=self._worker_id,
            share=self._share,
            work=self._lead,
            stopping=self._stop,
        )
        try:
            await self._leading.run()
        finally:
            self._leading = None

    async def _prepare(self, config: FlowConfig) -> None:
        """Loads classes, waits for the target, creates its topics; until another file has come."""
        # Classes are imported here, where nothing waits for them.
        await load_classes(config)
        async with admin_clients(config) as clusters:
            # A file that is read again may say where the target really is.
            if await run_unless_set(self._is_news, wait_until_reachable(clusters.target)):
                policy = build_policy(config.source.properties)
                await create_internal_topics(config, policy, clusters, on_source=False)

    async def _lead(self, term: LeadershipTerm, group: asyncio.TaskGroup) -> None:
        self._steered = LeaderFlow(
            self.config,
            runner=self._runner,
            heartbeats=self._heartbeats,
            checkpoints=self._checkpoints,
            term=term,
            hear=self._status.report_failure,
            classes=self._classes,
        )
        async with self._status.writing(term, group):
            try:
                await keep_running("leader", self._steered.run, stopping=term.stopping)
            finally:
                self._steered = None
