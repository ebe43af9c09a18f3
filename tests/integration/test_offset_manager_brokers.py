"""Brokers are killed below an offset manager whose topic has three replicas."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AdminClient

from mm2.core.offset_manager.log_placement import log_partition_of
from tests.support.cluster import KafkaCluster
from tests.support.eventually import eventually
from tests.support.offset_manager import (
    load,
    served,
    until_all_have_committed,
    until_all_serve,
)
from tests.support.records import create_topic

pytestmark = [pytest.mark.broker, pytest.mark.thorough]

KILLS = 4
LOGS = 2
_REPLICATED = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster("O", brokers=3, heap="320m", properties=_REPLICATED) as started:
        yield started


def leader(cluster: KafkaCluster, topic: str, partition: int) -> int:
    """The node (from 0) that leads a partition; -1 is nobody."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    return admin.list_topics(topic, timeout=30).topics[topic].partitions[partition].leader - 1


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [1, 2], ids=["one", "two"])
def test_no_commit_is_lost_and_no_fetch_is_stale_when_brokers_that_lead_a_log_are_killed(
    cluster: KafkaCluster, unique: str, count: int
) -> None:
    create_topic(cluster.bootstrap, unique, 2, replication_factor=3)
    offsets = f"{unique}-offsets"
    settings = {"offsets.topic.name": offsets, "offsets.topic.num.partitions": str(LOGS)}
    groups = [f"{unique}-{number}" for number in range(8)]
    assert {log_partition_of(each, LOGS) for each in groups} == set(range(LOGS))
    with served(cluster.bootstrap, settings, count) as instances:
        until_all_serve(instances)
        with load(instances, unique, groups) as (histories, running):
            for turn in range(KILLS):
                log = turn % LOGS
                victim = eventually(
                    lambda: leader(cluster, offsets, log),  # noqa: B023 - asked at once
                    until=lambda node: node >= 0,
                )
                cluster.kill(victim)
                eventually(
                    lambda: leader(cluster, offsets, log),  # noqa: B023 - asked at once
                    until=lambda node: node not in {victim, -1},  # noqa: B023 - asked at once
                )
                until_all_have_committed(histories)
                cluster.restart(victim)
                until_all_have_committed(histories)
        result = running.result()
    assert result.wrong == {}
    assert len(result.commits.took_s) >= 2 * KILLS * len(groups)
