"""The status topic tells of connectors at rest what they are, whatever became of their leaders."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from mm2.connect.connector import Connector, read_connector
from mm2.connect.idle_statuses import IdleConnectorStatuses
from mm2.connect.memory_store import MemoryStore
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import ConnectorConfig, ConnectorTarget, TargetState
from mm2.core.connect.status_records import ConnectorKey, RunState, Status, TaskKey
from mm2.core.connect.status_table import StatusTable
from mm2.kafka.logs.read_log import read_to_end
from mm2.kafka.writer import Writer
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Lease, LeaseState
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually_async
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

_LED_FOR_MS = 3_600_000


class _Worker:
    """What of a worker says how connectors are; it runs none."""

    def __init__(self, cluster: Cluster, unique: str) -> None:
        self.servers = {"bootstrap.servers": cluster.bootstrap}
        self.topic = f"{unique}-status"
        raw = {
            **self.servers,
            "group.id": unique,
            "config.storage.topic": f"{unique}-configs",
            "offset.storage.topic": f"{unique}-offsets",
            "status.storage.topic": self.topic,
            "status.storage.replication.factor": "1",
        }
        self.config = WorkerConfig(raw=raw, is_distributed=True, environment={})
        self.board = WorkerStatusTopic(self.config)
        self.store = MemoryStore()
        self.known: dict[str, Connector] = {}

    async def have(self, name: str, state: TargetState) -> Connector:
        """Has a connector that is to be in a state."""
        config = {
            "name": name,
            "connector.class": "MirrorSourceConnector",
            "source.cluster.alias": "A",
            "target.cluster.alias": "B",
            "source.cluster.bootstrap.servers": "127.0.0.1:1",
        }
        await self.store.add(ConnectorConfig(name, config), ConnectorTarget(name, state))
        self.known[name] = read_connector(config, self.config)
        return self.known[name]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        resting = IdleConnectorStatuses(self.store, self.board, lambda: self.known, every_s=0.1)
        tasks = [asyncio.ensure_future(part.run()) for part in (self.board, resting)]
        try:
            await self.board.loaded()
            yield
        finally:
            for task in tasks:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks)

    async def said(self) -> dict[str, str]:
        """What the topic says, as others read it."""
        table = StatusTable()
        for record in await read_to_end("B", self.servers, self.topic):
            table.take(record.key, record.value)
        return {str(key).split("-", 2)[2]: each.state for key, each in table.statuses.items()}

    async def lead(self, connector: Connector, state: LeaseState) -> None:
        """Has somebody lead a connector, or lead it no more."""
        topic = connector.flow.herder.names.control_topic
        lease = Lease(
            epoch=3,
            owner="w",
            state=state,
            time_ms=time.time_ns() // 1_000_000,
            lasts_ms=_LED_FOR_MS,
        )
        async with Writer("B", self.servers) as writer:
            await writer.send(topic, *encode_control(lease), partition=0)


async def test_what_a_killed_leader_has_left_is_put_right(cluster_b: Cluster, unique: str) -> None:
    """It was RUNNING for good in the eyes of whoever reads the topic."""
    worker = _Worker(cluster_b, unique)
    await worker.have("stopped", TargetState.STOPPED)
    await worker.have("paused", TargetState.PAUSED)
    await worker.have("runs", TargetState.STARTED)
    led = await worker.have("led", TargetState.STOPPED)
    create_topic(cluster_b.bootstrap, led.flow.herder.names.control_topic)
    await worker.lead(led, LeaseState.LEADING)
    status = Status(state=RunState.RUNNING, worker_id="w", generation=3)
    async with asyncio.timeout(3 * PATIENCE_S), worker.running():
        for name in ("stopped", "paused", "runs", "led", "deleted"):
            keys = (ConnectorKey(name), TaskKey(name, 0))
            await worker.board.write(name, [(key, status) for key in keys])
        others = {"stopped": "STOPPED", "paused": "PAUSED", "paused-0": "PAUSED"}
        runs = {"runs": "RUNNING", "runs-0": "RUNNING"}
        still = {"led": "RUNNING", "led-0": "RUNNING"}
        await eventually_async(worker.said, until=lambda said: said == others | runs | still)
        await worker.lead(led, LeaseState.RELEASED)
        await eventually_async(
            worker.said, until=lambda said: said == others | runs | {"led": "STOPPED"}
        )
