"""A whole mirror whose topics are deleted under it, on the target and on the source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, one_way
from tests.support.raw import contents
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.topics import partition_counts, topic_id

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def _delete(cluster: Cluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.delete_topics([topic])[topic].result(60)


def _samples(*values: str) -> list[Sample]:
    return [Sample(value=v.encode(), partition=n % 2) for n, v in enumerate(values)]


def _found(cluster: Cluster, topic: str) -> list[str]:
    partitions = range(2)
    return sorted(
        str(c[2]) for n in partitions for c in contents(cluster.bootstrap, topic, partition=n)
    )


@pytest.mark.also_on_spark_cluster
def test_topics_deleted_on_either_side_are_mirrored_again_from_their_start(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Nobody looks for topics for ten minutes: the task tells the leader what it misses."""
    create_topic(cluster_a.bootstrap, unique, 2)
    remote = f"A.{unique}"
    text = one_way(
        cluster_a,
        cluster_b,
        unique,
        {
            "refresh.topics.interval.seconds": "600",
        },
    )
    produce(cluster_a.bootstrap, unique, _samples("0", "1", "2", "3"))
    with Mirror(tmp_path, text) as mirror:
        consume(cluster_b.bootstrap, remote, 4)
        before = topic_id(cluster_b, remote)
        _delete(cluster_b, remote)
        eventually(lambda: topic_id(cluster_b, remote) not in {None, before})
        consume(cluster_b.bootstrap, remote, 4)
        assert _found(cluster_b, remote) == _found(cluster_a, unique)

        _delete(cluster_a, unique)
        eventually(lambda: unique not in partition_counts(cluster_a))
        create_topic(cluster_a.bootstrap, unique, 2)
        produce(cluster_a.bootstrap, unique, _samples("a", "b", "c", "d", "e", "f"))
        consume(cluster_b.bootstrap, remote, 10)
        assert _found(cluster_b, remote)[4:] == _found(cluster_a, unique)
        assert mirror.stop() == 0
    # A task that ends before a gap is kept and copied again leaves it to the next one.
    assert _partitions_told(mirror, "remote-recreated") == {0, 1}
    assert _partitions_told(mirror, "topic-recreated") == {0, 1}


def _partitions_told(mirror: Mirror, kind: str) -> set[int]:
    """The partitions of which a gap of a kind is told."""
    lines = [line for line in mirror.text().splitlines() if '"source.gap_found"' in line]
    return {each["partition"] for each in map(json.loads, lines) if each["kind"] == kind}
