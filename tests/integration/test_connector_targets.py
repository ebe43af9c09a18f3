"""A connector's target may be the worker's cluster by other words."""

from __future__ import annotations

import pytest

from mm2.connect.cluster_identity import reject_same_cluster
from mm2.connect.connector import Connector, read_connector
from mm2.connect.worker_config import WorkerConfig
from mm2.errors import ConfigError
from tests.support.cluster import Cluster

pytestmark = pytest.mark.broker


def _connector(worker: WorkerConfig, servers: str) -> Connector:
    config = {
        "name": "m",
        "connector.class": "MirrorSourceConnector",
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": "a:1",
        "target.cluster.bootstrap.servers": servers,
    }
    return read_connector(config, worker)


async def test_the_worker_s_cluster_is_known_by_its_id(
    cluster_a: Cluster, cluster_b: Cluster
) -> None:
    worker = WorkerConfig(
        raw={
            "bootstrap.servers": cluster_b.bootstrap,
            "group.id": "g",
            "config.storage.topic": "configs",
            "offset.storage.topic": "positions",
            "status.storage.topic": "states",
        },
        is_distributed=True,
    )
    same = cluster_b.bootstrap.replace("127.0.0.1", "127.1")
    assert same != cluster_b.bootstrap
    with pytest.raises(ConfigError, match=f"write .* = {cluster_b.bootstrap}"):
        await reject_same_cluster(_connector(worker, same), worker)
    for servers in (cluster_a.bootstrap, cluster_b.bootstrap):
        await reject_same_cluster(_connector(worker, servers), worker)
