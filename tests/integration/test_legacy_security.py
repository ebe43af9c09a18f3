"""``kafka-mirror-maker`` reads from a cluster that lets in by passwords or certificates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, KafkaCluster
from tests.support.legacy_tool import committed_offsets, copies_when, legacy_tool
from tests.support.records import create_topic, numbered, produce
from tests.support.secured import SECRET, security

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture(scope="module")
def secured(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[KafkaCluster, dict[str, dict[str, str]]]]:
    brokers, clients = security(tmp_path_factory.mktemp("stores"))
    with KafkaCluster("secured", security=brokers) as cluster:
        yield cluster, clients


@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SSL"])
def test_the_stream_and_its_group_member_log_in(
    secured: tuple[KafkaCluster, dict[str, dict[str, str]]],
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    listener: str,
) -> None:
    cluster, clients = secured
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster.bootstrap, topic, partitions=2)
    produce(cluster.bootstrap, topic, numbered(0, 20, 2))
    logs_in = {"bootstrap.servers": cluster.listeners(listener), **clients[listener]}
    with legacy_tool(
        tmp_path, cluster, cluster_b, group, "--include", topic, consumer=logs_in
    ) as tool:
        assert len(copies_when(cluster_b, topic, 20)) == 20
        assert tool.stop() == 0
        assert SECRET not in tool.text()
    assert committed_offsets(cluster, group, topic, 2) == [10, 10]
