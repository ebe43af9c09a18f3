"""
The cluster in memory that the producer is tested with answers as real brokers do.
"""

from __future__ import annotations

import random

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.error_codes import Code
from tests.support.batches import Plain, write_batch
from tests.support.cluster import Cluster
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.raw import append
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

_LAST = (1 << 31) - 1

Step = tuple[int, int, int]
"""Epoch, sequence of the first record, number of records."""

_SCRIPTS: dict[str, list[Step]] = {
    "in order": [(0, 0, 2), (0, 2, 1), (0, 3, 3)],
    "a gap": [(0, 0, 1), (0, 2, 1), (0, 1, 1)],
    "a batch sent twice": [(0, 0, 2), (0, 0, 2), (0, 2, 1), (0, 0, 2)],
    "the fifth last again": [*((0, n, 1) for n in range(6)), (0, 1, 1)],
    "the sixth last again": [*((0, n, 1) for n in range(6)), (0, 0, 1)],
    "halves of what was appended": [(0, 0, 4), (0, 0, 2), (0, 2, 2)],
    "a first sequence that is not 0": [(0, 10, 1), (0, 11, 1), (0, 0, 1)],
    "a newer epoch from 0": [(0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)],
    "a newer epoch from elsewhere": [(0, 0, 1), (1, 1, 1), (1, 0, 1)],
    "a new producer with an epoch": [(5, 3, 1), (5, 4, 1), (4, 5, 1)],
    "past the largest sequence": [(0, _LAST - 1, 4), (0, 2, 1), (0, _LAST - 1, 4)],
    "up to the largest sequence": [(0, _LAST, 1), (0, 0, 1)],
}


@pytest.mark.parametrize("script", _SCRIPTS.values(), ids=_SCRIPTS.keys())
def test_real_brokers_answer_as_the_cluster_in_memory(
    cluster_a: Cluster, topic_name: str, script: list[Step]
) -> None:
    producer_id = random.randrange(1 << 40, 1 << 41)
    batches = [
        write_batch(
            [Plain(offset=n, value=b"%d" % n) for n in range(count)],
            producer=(producer_id, epoch, sequence),
            leader_epoch=-1,
        )
        for epoch, sequence, count in script
    ]
    create_topic(cluster_a.bootstrap, topic_name)
    fake = FakeCluster([(TopicPartition(TopicName("t"), 0), 0)], lambda: Trouble.NONE)
    (log,) = fake.logs.values()
    assert append(cluster_a.bootstrap, topic_name, *batches) == [log.append(b) for b in batches]


def test_real_brokers_refuse_a_batch_that_is_too_large(cluster_a: Cluster, topic_name: str) -> None:
    create_topic(cluster_a.bootstrap, topic_name, configs={"max.message.bytes": "500"})
    batch = write_batch([Plain(value=b"x" * 500)])
    assert append(cluster_a.bootstrap, topic_name, batch) == [(Code.MESSAGE_TOO_LARGE, -1)]
