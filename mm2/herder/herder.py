"""
A herder: everything that one node does for the flows into one cluster.

Its flows are independent: each waits for its own clusters, and what fails in one is started again
without the others noticing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from mm2.config.flow import FlowConfig
from mm2.core.model import ClusterAlias
from mm2.core.policy import build_policy
from mm2.herder.clusters import FlowClusters, admin_clients, wait_for
from mm2.herder.ports import BundleRunner, SmallFlow
from mm2.herder.source import SourceFlow
from mm2.herder.supervision import keep_running
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
    ) -> None:
        self.target = target
        self._flows = [
            FlowHerder(
                flow,
                runner=runner,
                heartbeats=heartbeats,
                checkpoints=checkpoints,
                worker_id=worker_id,
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
    Runs one flow on this node.

    Args:
        config: the flow.
        runner: runs bundles of the source flow.
        heartbeats: the heartbeat flow.
        checkpoints: the checkpoint flow.
        worker_id: names this node.
    """

    def __init__(
        self,
        config: FlowConfig,
        *,
        runner: BundleRunner,
        heartbeats: SmallFlow,
        checkpoints: SmallFlow,
        worker_id: str,
    ) -> None:
        self.config = config
        self._runner = runner
        self._heartbeats = heartbeats
        self._checkpoints = checkpoints
        self._worker_id = worker_id
        self._source: SourceFlow | None = None
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Asks ``run`` to drain and end."""
        self._stop.set()

    async def run(self) -> None:
        """Runs the flow until ``stop``."""
        with structlog.contextvars.bound_contextvars(flow=str(self.config.flow)):
            async with asyncio.TaskGroup() as group:
                work = group.create_task(keep_running("flow", self._attempt), name="work")
                await self._stop.wait()
                if self._source is None:
                    work.cancel()
                else:
                    self._source.stop()

    async def _attempt(self) -> None:
        async with admin_clients(self.config) as clusters:
            policy = build_policy(self.config.source.properties)
            await wait_for(clusters.target)
            await create_internal_topics(self.config, policy, clusters, on_source=False)
            async with asyncio.TaskGroup() as group:
                # Heartbeats say that the target can be written to, whatever the source does.
                small = [self._keep(group, "heartbeat", self._heartbeats, clusters)]
                if self.config.source.runs or self.config.checkpoint.runs:
                    await wait_for(clusters.source)
                    await create_internal_topics(self.config, policy, clusters, on_source=True)
                small.append(self._keep(group, "checkpoint", self._checkpoints, clusters))
                log.info("flow.started")
                await self._mirror(clusters)
                for task in small:
                    task.cancel()
            log.info("flow.stopped")
        if not self._stop.is_set():
            # Another node leads; it is for an operator to say which one should.
            await self._stop.wait()

    def _keep(
        self, group: asyncio.TaskGroup, name: str, flow: SmallFlow, clusters: FlowClusters
    ) -> asyncio.Task[None]:
        return group.create_task(keep_running(name, lambda: flow(self.config, clusters)), name=name)

    async def _mirror(self, clusters: FlowClusters) -> None:
        """Copies records until stopped; a flow that only sends heartbeats just waits."""
        for refusal in self.config.source.refusals:
            log.error("connector.refused", connector="MirrorSourceConnector", reason=refusal)
        if not self.config.source.runs:
            await self._stop.wait()
            return
        self._source = SourceFlow(self.config, clusters, self._runner, self._worker_id)
        try:
            if not self._stop.is_set():
                await self._source.run()
        finally:
            self._source = None
