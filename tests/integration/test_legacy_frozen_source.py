"""``kafka-mirror-maker`` goes on after its source was silent for longer than anybody waits."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.legacy_tool import SOON_MISSED, all_copies, legacy_tool
from tests.support.records import create_topic, numbered, produce

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.thorough,
    pytest.mark.timeout(480),
]

_PARTITIONS = 4
_STEP = 200
_FREEZES = 3
_FROZEN_S = 15
"""Longer than the session of a member, and than brokers wait for each other."""

_STRICT = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
"""Brokers are soon fenced, and then tell of no broker for a moment after they were frozen."""

_FLAGS = ("--num.streams", f"{_PARTITIONS}", "--offset.commit.interval.ms", "500")


@pytest.mark.parametrize("settings", [SOON_MISSED, {"group.protocol": "consumer"}])
def test_each_record_arrives_after_the_source_was_frozen(
    cluster_b: Cluster, unique: str, tmp_path: Path, settings: dict[str, str]
) -> None:
    """Several times, with several members: librdkafka does not always find the brokers again."""
    group, flags = f"{unique}-g", ("--include", unique, *_FLAGS)
    with KafkaCluster("F", brokers=3, heap="320m", properties=_STRICT) as source:
        create_topic(source.bootstrap, unique, _PARTITIONS, replication_factor=3)

        def go_on(turn: int) -> None:
            produce(source.bootstrap, unique, numbered(turn * _STEP, _STEP, _PARTITIONS))
            wanted = set(range((turn + 1) * _STEP))
            eventually(lambda: _copied(cluster_b, unique), until=wanted.__eq__)

        with legacy_tool(tmp_path, source, cluster_b, group, *flags, consumer=settings) as tool:
            go_on(0)
            for turn in range(1, 1 + _FREEZES):
                source.pause()
                time.sleep(_FROZEN_S)
                source.resume()
                go_on(turn)
            assert tool.stop() == 0


def _copied(target: Cluster, topic: str) -> set[int]:
    """Those that were not committed before may have come twice."""
    return {int(each.value or b"") for each in all_copies(target, topic, _PARTITIONS)}
