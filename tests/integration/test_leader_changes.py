"""Brokers that go and come back while records are under way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster import KafkaCluster, running
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_PARTITIONS = 6
_REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
}
_STORED = [
    *(f"{kind}.storage.replication.factor" for kind in ("config", "offset", "status")),
    *(f"{kind}.topic.replication.factor" for kind in ("checkpoints", "heartbeats", "offset-syncs")),
]
"""A flow whose only control topic is on the broker that goes is suspended until that comes back."""

_ONCE = {"enable.idempotence": "true"}
"""The test's own producer must not write anything twice when a broker goes."""


def _numbered(first: int, count: int) -> list[Sample]:
    return [Sample(value=b"%d" % n, partition=n % _PARTITIONS) for n in range(first, first + count)]


@pytest.mark.also_on_spark_cluster
def test_leaders_of_both_sides_change_and_each_record_is_copied_once_in_order(
    unique: str, tmp_path: Path
) -> None:
    source = KafkaCluster("M", brokers=3, heap="384m", properties=_REPLICATED)
    target = KafkaCluster("N", brokers=3, heap="384m", properties=_REPLICATED)
    with running(source, target):
        create_topic(source.bootstrap, unique, _PARTITIONS, replication_factor=3)
        text = properties(
            {"M": source.bootstrap, "N": target.bootstrap},
            {
                "M->N.enabled": "true",
                "M->N.replication.factor": "3",
                **dict.fromkeys(_STORED, "3"),
                "topics": unique,
                "N->M.emit.heartbeats.enabled": "false",
            },
        )
        with Mirror(tmp_path, text) as mirror:
            produce(source.bootstrap, unique, _numbered(0, 600), settings=_ONCE)
            consume(target.bootstrap, f"M.{unique}", 600)
            target.stop_node(0)
            produce(source.bootstrap, unique, _numbered(600, 600), settings=_ONCE)
            consume(target.bootstrap, f"M.{unique}", 1200, timeout=120)
            source.stop_node(1)
            produce(source.bootstrap, unique, _numbered(1200, 600), settings=_ONCE)
            copied = consume(target.bootstrap, f"M.{unique}", 1800, timeout=120)
            for number in range(_PARTITIONS):
                mine = [int(s.value or b"") for s in copied if s.partition == number]
                assert mine == list(range(number, 1800, _PARTITIONS))
            assert mirror.stop() == 0
            mirror.wait_gone()
            assert "part.failed" not in mirror.text()
