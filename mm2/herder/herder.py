"""
A herder: everything that one node does for the flows into one cluster.

Its flows are independent: each waits for its own clusters, each is led by one of the nodes, and
what fails in one is started again without the others noticing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from mm2.config.flow import FlowConfig
from mm2.core.model import CHECKPOINT_CONNECTOR, HEARTBEAT_CONNECTOR, ClusterAlias
from mm2.core.policy import build_policy
from mm2.herder.clusters import FlowClusters, admin_clients, wait_for
from mm2.herder.election import NodeShare
from mm2.herder.hearing import HeardRunner, heard_flow
from mm2.herder.leading import FlowLeading, Term
from mm2.herder.ports import BundleRunner, SmallFlow
from mm2.herder.source import SourceFlow
from mm2.herder.status_topic import StatusTopic
from mm2.herder.supervision import keep_running, unless_stopped
from mm2.herder.topics import create_internal_topics

log = structlog.get_logger()


class Herder:
    """
    Owns the flows into ``target``.

    Args:
        target: the cluster that all its flows write to.
        flows: their configurations.
        runner: runs bundles of the source flow.
        heartbeats: the heartbeat flow.
        checkpoints: the checkpoint flow.
        worker_id: names this node.
        share: what this node leads of all its flows, into whatever cluster.
    """

    def __init__(
        self,
        target: ClusterAlias,
        flows: Sequence[FlowConfig],
        *,
        runner: BundleRunner,
        heartbeats: SmallFlow,
        checkpoints: SmallFlow,
        worker_id: str,
        share: NodeShare,
    ) -> None:
        self.target = target
        self._flows = [
            FlowHerder(
                flow,
                runner=runner,
                heartbeats=heartbeats,
                checkpoints=checkpoints,
                worker_id=worker_id,
                share=share,
            )
            for flow in flows
        ]

    async def run(self) -> None:
        """Runs all flows until ``stop``."""
        async with asyncio.TaskGroup() as group:
            for flow in self._flows:
                group.create_task(flow.run(), name=str(flow.config.flow))

    def stop(self) -> None:
        """Asks all flows to drain and end."""
        for flow in self._flows:
            flow.stop()


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
    """

    def __init__(
        self,
        config: FlowConfig,
        *,
        runner: BundleRunner,
        heartbeats: SmallFlow,
        checkpoints: SmallFlow,
        worker_id: str,
        share: NodeShare | None = None,
    ) -> None:
        self.config = config
        self._status = StatusTopic(config, owner=worker_id)
        hear = self._status.hear
        self._runner = HeardRunner(runner, hear)
        self._heartbeats = heard_flow(heartbeats, HEARTBEAT_CONNECTOR, hear)
        self._checkpoints = heard_flow(checkpoints, CHECKPOINT_CONNECTOR, hear)
        self._worker_id = worker_id
        self._share = share or NodeShare(could=frozenset({config.herder.names.label}))
        self._leading: FlowLeading | None = None
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Asks ``run`` to drain, to hand the flow over, and to end."""
        self._stop.set()

    async def run(self) -> None:
        """Follows and leads the flow until ``stop``."""
        with structlog.contextvars.bound_contextvars(flow=str(self.config.flow)):
            async with asyncio.TaskGroup() as group:
                part = keep_running("flow", self._attempt, stopping=self._stop)
                work = group.create_task(part, name="work")
                await self._stop.wait()
                if self._leading is None:
                    work.cancel()
                else:
                    self._leading.stop()

    async def _attempt(self) -> None:
        async with admin_clients(self.config) as clusters:
            await wait_for(clusters.target)
            policy = build_policy(self.config.source.properties)
            await create_internal_topics(self.config, policy, clusters, on_source=False)
            self._leading = FlowLeading(
                self.config,
                node=self._worker_id,
                share=self._share,
                work=lambda term: self._status.beside(self._lead(term, clusters)),
            )
            try:
                await self._leading.run()
            finally:
                self._leading = None

    async def _lead(self, term: Term, clusters: FlowClusters) -> None:
        await keep_running("leader", lambda: self._work(term, clusters), stopping=term.stopping)

    async def _work(self, term: Term, clusters: FlowClusters) -> None:
        async with asyncio.TaskGroup() as group:
            # Heartbeats say that the target can be written to, whatever the source does.
            small = [self._keep(group, "heartbeat", self._heartbeats, clusters)]
            if await unless_stopped(term.stopping, self._reach_source(clusters)):
                small.append(self._keep(group, "checkpoint", self._checkpoints, clusters))
                log.info("flow.started")
                await self._mirror(term, clusters)
            for task in small:
                task.cancel()
        log.info("flow.stopped")

    async def _reach_source(self, clusters: FlowClusters) -> None:
        if self.config.source.runs or self.config.checkpoint.runs:
            policy = build_policy(self.config.source.properties)
            await wait_for(clusters.source)
            await create_internal_topics(self.config, policy, clusters, on_source=True)

    def _keep(
        self, group: asyncio.TaskGroup, name: str, flow: SmallFlow, clusters: FlowClusters
    ) -> asyncio.Task[None]:
        return group.create_task(keep_running(name, lambda: flow(self.config, clusters)), name=name)

    async def _mirror(self, term: Term, clusters: FlowClusters) -> None:
        """Copies records until stopped; a flow that only sends heartbeats just waits."""
        for refusal in self.config.source.refusals:
            log.error("connector.refused", connector="MirrorSourceConnector", reason=refusal)
        if self.config.source.runs:
            await SourceFlow(self.config, clusters, self._runner, term).run()
        else:
            await term.stopping.wait()
