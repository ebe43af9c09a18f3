"""Kafka's own Connect and our workers take a connector over from each other, each record once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.demo.broker_settings import free_ports
from tests.support.cluster import Cluster
from tests.support.connect import DISTRIBUTED, sample
from tests.support.eventually import eventually
from tests.support.mirror import Mirror
from tests.support.process import java_command
from tests.support.raw import contents
from tests.support.records import Sample, create_topic, produce
from tests.support.rest_client import RestClient

pytestmark = [
    pytest.mark.broker,
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.thorough,
    pytest.mark.timeout(900),
]


def _java(file: Path) -> list[str]:
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    return java_command(main, str(file), options=["-Xmx512m"])


def _ours(file: Path) -> list[str]:
    return [str(DISTRIBUTED), str(file)]


def test_a_connector_goes_from_connect_to_us_and_back(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Created once over REST, at Connect's worker; the others find it in the config topic."""
    source, name = f"S{unique[-6:]}", f"m-{unique[-6:]}"
    create_topic(cluster_a.bootstrap, unique)
    (port,) = free_ports(1)
    worker = sample(
        "connect-distributed.properties",
        (cluster_a, cluster_b),
        {
            "group.id": unique,
            "config.storage.topic": f"{unique}-configs",
            "offset.storage.topic": f"{unique}-offsets",
            "status.storage.topic": f"{unique}-status",
            "listeners": f"http://127.0.0.1:{port}",
        },
    )
    connector = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": source,
        "source.cluster.bootstrap.servers": cluster_a.bootstrap,
        "target.cluster.alias": "T",
        "target.cluster.bootstrap.servers": cluster_b.bootstrap,
        "topics": unique,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
    }
    rest, remote, path = RestClient(port), f"{source}.{unique}", f"/connectors/{name}/config"
    for turn, command in enumerate((_java, _ours, _java)):
        total = 50 * (turn + 1)
        values = [b"%d" % n for n in range(total - 50, total)]
        produce(cluster_a.bootstrap, unique, [Sample(value=value) for value in values])
        with Mirror(tmp_path, worker, command=command) as process:
            if turn == 0:
                eventually(lambda: rest.ask("PUT", path, connector), timeout=200)
            eventually(lambda: rest.ask("GET", "/connectors") == [name], timeout=200)
            eventually(lambda: _has(cluster_b, remote, total), timeout=200)  # noqa: B023 - at once
            process.stop(60)
        found = [content[2] for content in contents(cluster_b.bootstrap, remote)]
        assert found == [b"%d" % n for n in range(total)]


def _has(cluster: Cluster, topic: str, count: int) -> bool:
    return len(contents(cluster.bootstrap, topic)) >= count
