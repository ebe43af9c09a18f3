"""Brokers killed with -9, one after the other, while records are under way."""

from __future__ import annotations

import time

import pytest

from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.records import consume, create_topic
from tests.support.traffic import Traffic

pytestmark = [pytest.mark.broker, pytest.mark.thorough, pytest.mark.timeout(600)]

_PARTITIONS = 6
_KILLS = 3
_DOWN_S = 6
_REPLICATED = {
    "min.insync.replicas": "2",
    "transaction.state.log.min.isr": "2",
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
}


@pytest.mark.parametrize("side", ["source", "target"])
def test_killed_brokers_lose_repeat_and_reorder_nothing(
    cluster_a: Cluster, unique: str, side: str
) -> None:
    with KafkaCluster("R", brokers=3, heap="320m", properties=_REPLICATED) as replicated:
        source, target = (replicated, cluster_a) if side == "source" else (cluster_a, replicated)
        factors = {replicated.name: 3, cluster_a.name: 1}
        create_topic(source.bootstrap, unique, _PARTITIONS, replication_factor=factors[source.name])
        bench = Bench(
            source,
            target,
            unique,
            {unique: _PARTITIONS},
            replication_factor=factors[target.name],
        )
        traffic = Traffic(source.bootstrap, {unique: _PARTITIONS})
        with bench.running():
            with traffic.running():
                for turn in range(_KILLS):
                    time.sleep(_DOWN_S)
                    replicated.kill(turn)
                    time.sleep(_DOWN_S)
                    replicated.restart(turn)
            sent = traffic.sent[unique]
            copied = consume(target.bootstrap, bench.remote(unique), sent, timeout=120)
        for number in range(_PARTITIONS):
            mine = [int(s.value or b"") for s in copied if s.partition == number]
            assert mine == list(range(number, sent, _PARTITIONS))
