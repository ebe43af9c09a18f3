"""
The clusters that all other broker tests stand on.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from confluent_kafka.admin import AdminClient

from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.records import (
    CODECS,
    Sample,
    consume,
    create_topic,
    produce,
    produce_transaction,
)

pytestmark = pytest.mark.broker

_STARTS_AND_HANGS = """
import time
from pathlib import Path
from mm2.demo.processes import Watched
print(Watched(["sleep", "600"], Path("/dev/null")).pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("codec", CODECS)
def test_records_survive_a_round_trip_with_every_codec(
    cluster_a: Cluster, topic_name: str, codec: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name, partitions=2)
    headers = (("h", b"1"), ("h", None), ("empty", b""))
    written = [
        Sample(key=b"k", value=b"v" * 500, headers=headers, timestamp_ms=1_700_000_000_000),
        Sample(key=b"k", value=None, timestamp_ms=1_700_000_000_001),
        Sample(key=None, value=b"", partition=1, timestamp_ms=1_700_000_000_002),
    ]
    produce(cluster_a.bootstrap, topic_name, written, codec=codec)
    read = consume(cluster_a.bootstrap, topic_name, 3)
    assert [sample.content for sample in read] == [sample.content for sample in written]


def test_an_aborted_transaction_is_not_read(cluster_a: Cluster, topic_name: str) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    produce_transaction(cluster_a.bootstrap, topic_name, [Sample(value=b"no")], commit=False)
    produce_transaction(cluster_a.bootstrap, topic_name, [Sample(value=b"yes")])
    assert [sample.value for sample in consume(cluster_a.bootstrap, topic_name, 1)] == [b"yes"]


def test_two_clusters_are_two_clusters(cluster_a: Cluster, cluster_b: Cluster) -> None:
    assert _cluster_id(cluster_a) != _cluster_id(cluster_b)


def test_a_pair_of_brokers_keeps_data_through_kills_and_pauses(topic_name: str) -> None:
    with KafkaCluster("pair", brokers=2, heap="256m") as cluster:
        before = cluster.bootstrap
        create_topic(before, topic_name, replication_factor=2)
        produce(before, topic_name, [Sample(value=b"kept")])
        cluster.stop_node(1)
        assert len(cluster.pids) == 1
        cluster.kill()
        assert cluster.pids == []
        cluster.restart()
        assert cluster.bootstrap == before
        cluster.pause(0)
        cluster.resume(0)
        assert [s.value for s in consume(before, topic_name, 1)] == [b"kept"]


def test_processes_do_not_outlive_a_killed_owner() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _STARTS_AND_HANGS],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as owner:
        try:
            assert owner.stdout
            pid = int(owner.stdout.readline())
            assert psutil.pid_exists(pid)
        finally:
            owner.kill()
    eventually(lambda: not psutil.pid_exists(pid))


def _cluster_id(cluster: Cluster) -> object:
    return AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics().cluster_id
