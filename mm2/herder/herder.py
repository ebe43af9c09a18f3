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
from mm2.herder.flow_protocols import BundleRunner, SmallFlow
from mm2.herder.leader_flow import LeaderFlow
from mm2.herder.status.failure_reporting import ReportingRunner, reporting_flow
from mm2.herder.status.status_keeper import StatusKeeper
from mm2.herder.status.status_topic import FlowStatusTopic, worker_id_of
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.herder.view.led_flow import LedFlow
from mm2.kafka.flow_clusters import admin_clients, wait_until_reachable
from mm2.supervision import Supervised, run_unless_set

log = structlog.get_logger()


class Herder:
    """
    Owns the flows of this node.

    Args:
        node: names this node; each target knows it by another id.

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

    def led(self) -> list[LedFlow]:
        """The flows that this node leads now."""
        return [led for flow in self._flows.values() if (led := flow.led) is not None]

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
        status: writes what the flow does; into the flow's own status topic by default.
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
        status: StatusKeeper | None = None,
    ) -> None:
        self.config = config
        self._status = status or StatusKeeper(
            lambda: self.config,
            FlowStatusTopic,
            owner=worker_id,
            worker_id=worker_id_of(worker_id, config.flow),
        )
        report = self._status.report_failure
        self._runner = ReportingRunner(runner, report)
        self._heartbeats = reporting_flow(heartbeats, HEARTBEAT_CONNECTOR, report)
        self._checkpoints = reporting_flow(checkpoints, CHECKPOINT_CONNECTOR, report)
        self._worker_id = worker_id
        self._share = share or NodeAssignments(eligible=frozenset({config.herder.names.label}))
        self._leading: FlowLeading | None = None
        self._classes = HeldClasses()
        self._part = Supervised("flow", self._attempt)

    @property
    def led(self) -> LedFlow | None:
        """The flow, if this node leads it now."""
        return self._status.led

    def stop(self) -> None:
        """Asks ``run`` to drain, to hand the flow over, and to end."""
        self._part.stop()

    def reconfigure(self, config: FlowConfig) -> None:
        """
        Goes on with another file.

        What identifies the flow cannot change: then it goes on as it is, and that is logged.
        """
        change = change_between(self.config, config)
        if Effect.FIXED in change.effects:
            log.warning("config.needs_restart", flow=str(config.flow), keys=list(change.keys))
            return
        self.config = config
        if self._leading is None or Effect.FLOW in change.effects:
            # A file that is read again may say where the target really is.
            self._part.restart()
        else:
            self._leading.reconfigure(config)
        if self._leading is None or not self._leading.has_term:
            self._classes.take(config)

    async def run(self) -> None:
        """Follows and leads the flow until ``stop``."""
        with self._classes, structlog.contextvars.bound_contextvars(flow=str(self.config.flow)):
            await self._part.run()

    async def _attempt(self) -> None:
        config = self.config
        self._classes.take(config)
        with HeldClasses(config):
            if not await run_unless_set(self._part.ending, self._prepare(config)):
                return
        self._leading = FlowLeading(
            config,
            node=self._worker_id,
            share=self._share,
            work=self._lead,
            stopping=self._part.ending,
        )
        try:
            await self._leading.run()
        finally:
            self._leading = None

    async def _prepare(self, config: FlowConfig) -> None:
        # Classes are imported here, where nothing waits for them.
        await load_classes(config)
        async with admin_clients(config) as clusters:
            await wait_until_reachable(clusters.target)
            policy = build_policy(config.source.properties)
            await create_internal_topics(config, policy, clusters, on_source=False)

    async def _lead(self, term: LeadershipTerm, group: asyncio.TaskGroup) -> None:
        leader = LeaderFlow(
            runner=self._runner,
            heartbeats=self._heartbeats,
            checkpoints=self._checkpoints,
            term=term,
            on_failure=self._status.report_failure,
            classes=self._classes,
        )
        async with self._status.writing(term, group):
            await leader.run()
