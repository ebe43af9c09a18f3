"""Kafka's own Connect runs what our workers have written to its config topic, and the reverse."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mm2.config.text.properties import load
from mm2.connect.config_state import ConfigState
from mm2.connect.connector_store import TopicStore
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.config_records import (
    ConnectorConfig,
    ConnectorTarget,
    TargetState,
    decode_base,
)
from mm2.core.connect.status_records import RunState
from mm2.demo.broker_settings import free_ports
from mm2.kafka.logs.read_log import read_to_end
from tests.support.cluster import Cluster
from tests.support.connect import sample, statuses_of
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.mirror import Mirror
from tests.support.process import java_command
from tests.support.rest_client import RestClient

pytestmark = [
    pytest.mark.broker,
    pytest.mark.reference,
    pytest.mark.timeout(400),
]

_CLASS = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"


def _java(file: Path) -> list[str]:
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    return java_command(main, str(file), options=["-Xmx512m"])


def _stored(file: Path, work: Callable[[TopicStore], Awaitable[None]]) -> ConfigState:
    """What our worker of a file finds in its topic, once it has done something there."""

    async def story() -> ConfigState:
        store = TopicStore(WorkerConfig.of(load(file), is_distributed=True))
        running = asyncio.create_task(store.run(), name="store")
        try:
            async with asyncio.timeout(3 * PATIENCE_S):
                await store.loaded()
                await work(store)
            return store.contents
        finally:
            running.cancel()
            await asyncio.wait([running])

    return asyncio.run(story())


async def _nothing(_: TopicStore) -> None:
    pass


def _bases(cluster: Cluster, topic: str) -> int:
    """Entries that say what they were made from."""
    servers = {"bootstrap.servers": cluster.bootstrap}
    records = asyncio.run(read_to_end(cluster.name, servers, topic))
    return sum(decode_base(record.headers) is not None for record in records)


def test_connect_passes_over_what_our_entries_were_made_from(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    (port,), configs, statuses = free_ports(1), f"{unique}-configs", f"{unique}-status"
    file = tmp_path / "worker.properties"
    changes = {
        "group.id": unique,
        "config.storage.topic": configs,
        "offset.storage.topic": f"{unique}-offsets",
        "status.storage.topic": statuses,
        "listeners": f"http://127.0.0.1:{port}",
    }
    clusters = (cluster_a, cluster_b)
    file.write_text(sample("connect-distributed.properties", clusters, changes))
    connector = {
        "name": unique,
        "connector.class": _CLASS,
        "source.cluster.alias": f"S{unique[-8:]}",
        "source.cluster.bootstrap.servers": cluster_a.bootstrap,
        "target.cluster.alias": "T",
        "target.cluster.bootstrap.servers": cluster_b.bootstrap,
        "emit.heartbeats.interval.seconds": "1",
        "heartbeats.topic.replication.factor": "1",
    }

    async def make(store: TopicStore) -> None:
        state = ConnectorTarget(unique, TargetState.STARTED)
        assert await store.replace(None, ConnectorConfig(unique, connector), state)
        new = {**connector, "emit.heartbeats.interval.seconds": "2"}
        assert await store.replace(connector, ConnectorConfig(unique, new))

    ours = _stored(file, make).configs[unique]
    assert _bases(cluster_b, configs) == 3
    rest, path = RestClient(port), f"/connectors/{unique}"
    with Mirror(tmp_path, file.read_text(), command=_java) as java:
        eventually(lambda: rest.ask("GET", "/connectors") == [unique], timeout=200)
        eventually(lambda: _is_in(rest, unique, "RUNNING"), timeout=200)
        assert rest.ask("GET", path)["config"] == ours
        theirs = {**ours, "emit.heartbeats.interval.seconds": "3"}
        eventually(lambda: rest.ask("PUT", f"{path}/config", theirs))
        rest.ask("PUT", f"{path}/pause")
        eventually(lambda: _is_in(rest, unique, "PAUSED"), timeout=200)
        java.stop(180)
    found = _stored(file, _nothing)
    assert (found.configs[unique], found.state(unique)) == (theirs, TargetState.PAUSED)
    left = statuses_of(cluster_b, statuses).statuses
    assert len(left) == 2, "the connector and its task"
    assert {each.state for each in left.values()} == {RunState.UNASSIGNED}, "as our nodes leave it"


def _is_in(rest: RestClient, name: str, state: str) -> bool:
    status = rest.ask("GET", f"/connectors/{name}/status")
    assert [each["state"] for each in (status["connector"], *status["tasks"])] == [state, state]
    return True
