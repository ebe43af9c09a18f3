"""Clusters that copy topics to each other under the same names have each record once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from mm2.core.transforms.provenance import CLUSTER
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, committed, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_EACH = 30


def _has(count: int, found: Sequence[str]) -> bool:
    return len(found) >= count


@pytest.fixture
def four(cluster_a: Cluster, cluster_b: Cluster) -> Iterator[dict[str, Cluster]]:
    """Clusters under names of this test's own."""
    number = uuid.uuid4().hex[:6]
    with KafkaCluster("C") as third, KafkaCluster("D") as fourth:
        clusters = (cluster_a, cluster_b, third, fourth)
        yield dict(zip((f"{each}{number}" for each in "ABCD"), clusters, strict=True))


def _write(clusters: dict[str, Cluster], topic: str, first: int) -> None:
    for alias, cluster in clusters.items():
        samples = [
            Sample(value=f"{alias}-{n}".encode(), partition=n % 2)
            for n in range(first, first + _EACH)
        ]
        produce(cluster.bootstrap, topic, samples)


def test_active_active_and_a_diamond_under_the_same_names(
    four: dict[str, Cluster], tmp_path: Path
) -> None:
    """A and B copy to each other, A to C, and D has two ways from both."""
    a, b, c, d = four
    topic = f"same-{a}"
    for cluster in four.values():
        create_topic(cluster.bootstrap, topic, 2)
    _write(four, topic, 0)
    flows = [(a, b), (b, a), (a, c), (b, d), (c, d)]
    text = properties(
        {alias: cluster.bootstrap for alias, cluster in four.items()},
        {
            **{f"{source}->{target}.enabled": "true" for source, target in flows},
            "topics": topic,
            "tasks.max": "1",
            "replication.policy.class": "IdentityReplicationPolicy",
            "emit.heartbeats.enabled": "false",
            "emit.checkpoints.enabled": "false",
            "provenance.headers.enabled": "true",
            f"{b}->{d}.provenance.origins": b,
            f"{c}->{d}.provenance.origins": f"{a}, {c}",
        },
    )
    origins = {a: (a, b), b: (a, b), c: (a, b, c), d: (a, b, c, d)}

    def values(alias: str) -> list[str]:
        return sorted(
            (each.value or b"").decode() for each in committed(four[alias].bootstrap, topic)
        )

    def written(alias: str, rounds: int) -> list[str]:
        numbers = range(rounds * _EACH)
        return sorted(f"{origin}-{n}" for origin in origins[alias] for n in numbers)

    def await_round(rounds: int) -> None:
        for alias in four:
            count = len(written(alias, rounds))
            eventually(partial(values, alias), until=partial(_has, count), timeout=120)

    with Mirror(tmp_path, text) as mirror:
        await_round(1)
        _write(four, topic, _EACH)
        await_round(2)
        assert mirror.stop() == 0
    assert {alias: values(alias) for alias in four} == {alias: written(alias, 2) for alias in four}
    for sample in committed(four[d].bootstrap, topic):
        origin = (sample.value or b"").decode().partition("-")[0]
        names = [value for name, value in sample.headers if name == CLUSTER]
        assert names == ([] if origin == d else [origin.encode()])
