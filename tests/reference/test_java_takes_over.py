"""Kafka's MirrorMaker and mm2 take a flow over from each other, each record once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.raw import contents
from tests.support.records import Sample, create_topic, produce

pytestmark = [
    pytest.mark.broker,
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.thorough,
    pytest.mark.timeout(600),
]


def test_a_flow_goes_from_us_to_java_and_back(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Java passes over the header of our positions; we know nothing of the logs of Java's."""
    source = f"S{unique[-6:]}"
    create_topic(cluster_a.bootstrap, unique)
    text = properties(
        {source: cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {
            f"{source}->B.enabled": "true",
            "topics": unique,
            f"B->{source}.enabled": "false",
            f"B->{source}.emit.heartbeats.enabled": "false",
        },
    )
    remote = f"{source}.{unique}"
    for turn, command in enumerate((None, java_mirror, None)):
        total = 50 * (turn + 1)
        values = [b"%d" % n for n in range(total - 50, total)]
        produce(cluster_a.bootstrap, unique, [Sample(value=value) for value in values])
        with Mirror(tmp_path, text, command=command) as mirror:
            eventually(lambda: _has(cluster_b, remote, total), timeout=200)  # noqa: B023 - at once
            mirror.stop(60)
        found = [content[2] for content in contents(cluster_b.bootstrap, remote)]
        assert found == [b"%d" % n for n in range(total)]


def _has(cluster: Cluster, topic: str, count: int) -> bool:
    return len(contents(cluster.bootstrap, topic)) >= count
