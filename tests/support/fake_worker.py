"""A Connect worker without Kafka: its connectors, its store and its REST interface."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

from mm2.config.flow_config import FlowConfig
from mm2.connect.connector import Connector
from mm2.connect.memory_store import MemoryStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_connectors import WorkerConnectors
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import (
    ConnectorConfig,
)
from mm2.core.connect.status_records import ConnectorKey, RunState, Status, TaskKey, encode_status
from mm2.errors import Unavailable
from mm2.herder.view.flow_views import ConnectorView, FlowView, LeaderView, TaskView
from mm2.herder.view.followed_flows import FollowedFlows

CONNECTOR_CONFIG = {
    "connector.class": "MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
    "source.cluster.sasl.jaas.config": "secret",
}


class FakeFlow:
    """A flow that runs until it is stopped, and says what happens to it."""

    led = None

    def __init__(self, connector: Connector, told: list[str]) -> None:
        self._topics = connector.flow.source.properties.get("topics", ".*")
        self._told = told
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        self._told.append(f"run {self._topics}")
        if self._topics == "deaf":
            await asyncio.Event().wait()
        if self._topics == "bad":
            raise ValueError("bad")
        await self._stopping.wait()
        if self._topics == "bad at its end":
            raise ValueError("bad")
        if self._topics == "slow":
            await asyncio.sleep(40)
        self._told.append(f"ended {self._topics}")

    def stop(self) -> None:
        self._stopping.set()


class AwayViews:
    """Views of flows whose targets do not answer."""

    async def of(self, config: FlowConfig) -> FlowView:
        raise Unavailable(config.flow.target, "no answer")


class LedViews:
    """Views of flows that somebody leads, until he has released them."""

    def __init__(self) -> None:
        self.is_led = True

    async def of(self, config: FlowConfig) -> FlowView:
        leader = LeaderView(epoch=1, worker_id="leader", age_ms=0, is_alive=self.is_led)
        running = ConnectorView(
            name="MirrorSourceConnector",
            target_state=RunState.RUNNING,
            state=RunState.RUNNING,
            worker_id="leader",
            generation=1,
            tasks=(TaskView(task=0, state=RunState.RUNNING, worker_id="leader", generation=1),),
        )
        return FlowView(flow=config.flow, time_ms=0, leader=leader, connectors=(running,))


class FakeStatusTopic(WorkerStatusTopic):
    """A status topic without a cluster."""

    def __init__(self) -> None:
        super().__init__(WorkerConfig(raw={}, is_distributed=False))

    def say(self, key: ConnectorKey | TaskKey, state: RunState) -> None:
        """Somebody has written this."""
        trace = "why" if state is RunState.FAILED else None
        status = Status(state=state, worker_id="w", generation=1, trace=trace)
        self._take(*encode_status(key, status))


class FakeWorker:
    """A worker without Kafka."""

    def __init__(
        self,
        configs: Mapping[str, Mapping[str, str]] | None = None,
        views: AwayViews | LedViews | None = None,
        board: WorkerStatusTopic | None = None,
        worker: Mapping[str, str] | None = None,
    ) -> None:
        self.worker = WorkerConfig(raw=worker or {}, is_distributed=False)
        self.told: list[str] = []
        self.store = MemoryStore(ConnectorConfig(n, c) for n, c in (configs or {}).items())
        self.running = RunningConnectors(
            self.worker, self.store, lambda connector: FakeFlow(connector, self.told), "w"
        )
        self.rest = WorkerConnectors(
            self.worker,
            self.store,
            self.running,
            cast("FollowedFlows", views or AwayViews()),
            board,
        )
