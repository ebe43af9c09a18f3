"""Clusters that copy topics to each other under the same names have each record once."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from mm2.core.transforms.provenance import CLUSTER, CLUSTER_ID, VIA
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.mirror import ROOT, Mirror, properties
from tests.support.records import Sample, committed, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_SAME_NAMES = {
    "tasks.max": "1",
    "replication.policy.class": "IdentityReplicationPolicy",
    "emit.heartbeats.enabled": "false",
    "emit.checkpoints.enabled": "false",
    "provenance.headers.enabled": "true",
}

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


def _changes(topic: str, a: str, b: str, c: str, d: str) -> dict[str, str]:
    """Each flow changes a topic in a way of its own: none leaves the headers as they are."""
    return {
        f"{a}->{b}.message.handler": "tests.support.user_handlers:bare",
        f"{a}->{b}.message.handler.topics": topic,
        f"{b}->{a}.transforms": "clean",
        f"{b}->{a}.transforms.clean.type": "DropHeaders",
        f"{b}->{a}.transforms.clean.headers": f"{CLUSTER}, {CLUSTER_ID}, {VIA}",
        f"{b}->{a}.transforms.clean.predicate": "changed",
        f"{b}->{a}.predicates": "changed",
        f"{b}->{a}.predicates.changed.type": "TopicNameMatches",
        f"{b}->{a}.predicates.changed.pattern": topic,
        f"{a}->{c}.arrow.function": "tests.support.arrow_functions:bare",
        f"{a}->{c}.arrow.function.topics": topic,
        f"{b}->{d}.transforms.sql.headers": "filter(headers, h -> false)",
        f"{b}->{d}.transforms.sql.topics": topic,
        f"{c}->{d}.transforms": "forge",
        f"{c}->{d}.transforms.forge.type": "InsertHeader",
        f"{c}->{d}.transforms.forge.header": CLUSTER,
        f"{c}->{d}.transforms.forge.value.literal": d,
    }


def _write(clusters: dict[str, Cluster], topics: Sequence[str], first: int) -> None:
    for (alias, cluster), topic in product(clusters.items(), topics):
        samples = [
            Sample(value=f"{alias}-{n}".encode(), partition=n % 2)
            for n in range(first, first + _EACH)
        ]
        produce(cluster.bootstrap, topic, samples)


def _assert_origins(samples: Sequence[Sample], here: str) -> None:
    """Headers name the cluster that a record was written on, where that is another one."""
    for sample in samples:
        origin = (sample.value or b"").decode().partition("-")[0]
        names = [value for name, value in sample.headers if name == CLUSTER]
        assert names == ([] if origin == here else [origin.encode()])


def test_active_active_and_a_diamond_under_the_same_names(
    four: dict[str, Cluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A and B copy to each other, A to C, and D has two ways from both; one topic is changed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    a, b, c, d = four
    topics = f"same-{a}", f"changed-{a}"
    for cluster, topic in product(four.values(), topics):
        create_topic(cluster.bootstrap, topic, 2)
    _write(four, topics, 0)
    flows = [(a, b), (b, a), (a, c), (b, d), (c, d)]
    text = properties(
        {alias: cluster.bootstrap for alias, cluster in four.items()},
        {
            **{f"{source}->{target}.enabled": "true" for source, target in flows},
            "topics": ", ".join(topics),
            **_SAME_NAMES,
            **_changes(topics[1], a, b, c, d),
            f"{b}->{d}.provenance.origins": b,
            f"{c}->{d}.provenance.origins": f"{a}, {c}",
        },
    )
    origins = {a: (a, b), b: (a, b), c: (a, b, c), d: (a, b, c, d)}

    def values(alias: str, topic: str) -> list[str]:
        return sorted(
            (each.value or b"").decode() for each in committed(four[alias].bootstrap, topic)
        )

    def written(alias: str, rounds: int) -> list[str]:
        numbers = range(rounds * _EACH)
        return sorted(f"{origin}-{n}" for origin in origins[alias] for n in numbers)

    def await_round(rounds: int) -> None:
        for alias, topic in product(four, topics):
            enough = partial(_has, len(written(alias, rounds)))
            eventually(partial(values, alias, topic), until=enough, timeout=120)

    with Mirror(tmp_path, text) as mirror:
        await_round(1)
        _write(four, topics, _EACH)
        await_round(2)
        assert mirror.stop() == 0
        assert '"event": "source.origin_left_out"' in mirror.text()
    for topic in topics:
        found = {alias: values(alias, topic) for alias in four}
        assert found == {alias: written(alias, 2) for alias in four}, topic
        _assert_origins(committed(four[d].bootstrap, topic), d)


def test_two_files_that_call_the_same_clusters_by_other_names(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """What one of them copies the other does not copy back."""
    topic, number = f"{unique}-t", uuid.uuid4().hex[:6]
    clusters = {"first": cluster_a, "second": cluster_b}

    def text(source: str, target: str, servers: tuple[str, str]) -> str:
        return properties(
            {source: servers[0], target: servers[1]},
            {
                f"{source}->{target}.enabled": "true",
                "topics": topic,
                **_SAME_NAMES,
            },
        )

    def values(alias: str) -> list[str]:
        found = committed(clusters[alias].bootstrap, topic)
        return sorted((each.value or b"").decode() for each in found)

    for cluster in clusters.values():
        create_topic(cluster.bootstrap, topic, 2)
    servers = cluster_a.bootstrap, cluster_b.bootstrap
    there = text(f"A{number}", f"B{number}", servers)
    # The names are those of the other file, the other way round.
    back = text(f"A{number}", f"B{number}", servers[::-1])
    folders = tmp_path / "there", tmp_path / "back"
    for folder in folders:
        folder.mkdir()
    with Mirror(folders[0], there) as one, Mirror(folders[1], back) as other:
        for rounds in (1, 2):
            _write(clusters, [topic], (rounds - 1) * _EACH)
            for alias in clusters:
                enough = partial(_has, 2 * rounds * _EACH)
                eventually(partial(values, alias), until=enough, timeout=120)
        assert (one.stop(), other.stop()) == (0, 0)
    written = sorted(f"{alias}-{n}" for alias in clusters for n in range(2 * _EACH))
    assert {alias: values(alias) for alias in clusters} == dict.fromkeys(clusters, written)
    ids = {dict(each.headers).get(CLUSTER_ID) for each in committed(cluster_b.bootstrap, topic)}
    assert len(ids) == 2
