"""The driver as a user runs it, between real clusters."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.mirror import DRIVER, Mirror, one_way, properties
from tests.support.records import CODECS, Sample, consume, create_topic, numbered, produce
from tests.support.topics import partition_counts, settings_of

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def _contents(samples: list[Sample]) -> list[tuple[object, ...]]:
    return [sample.content for sample in samples]


def _shapes(codec: str) -> list[Sample]:
    """Records of every shape that a mirror could get wrong."""
    return [
        Sample(key=b"k", value=codec.encode(), timestamp_ms=1_700_000_000_000),
        Sample(key=b"k", value=None, timestamp_ms=1_700_000_000_001),
        Sample(key=None, value=b"", timestamp_ms=1_600_000_000_000),
        Sample(key=b"", value=b"\xff\x00", partition=1, timestamp_ms=1_700_000_000_003),
        Sample(
            value=b"h" * 2000,
            headers=(("a", b"1"), ("a", None), ("b", b""), ("a", b"2")),
            partition=2,
            timestamp_ms=1_700_000_000_004,
        ),
    ]


def test_two_clusters_mirror_each_other_and_never_in_a_circle(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    clusters = {"A": cluster_a, "B": cluster_b}
    for cluster in clusters.values():
        create_topic(cluster.bootstrap, unique, 3, {"max.message.bytes": "2000000"})
        for codec in CODECS:
            produce(cluster.bootstrap, unique, _shapes(codec), codec=codec)
    text = properties(
        {alias: cluster.bootstrap for alias, cluster in clusters.items()},
        {"A->B.enabled": "true", "B->A.enabled": "true", "topics": f".*{unique}"},
    )
    with Mirror(tmp_path, text) as mirror:
        for source, target in (("A", "B"), ("B", "A")):
            written = consume(clusters[source].bootstrap, unique, 25)
            copied = consume(clusters[target].bootstrap, f"{source}.{unique}", 25)
            assert _contents(copied) == _contents(written)
            assert (
                settings_of(clusters[target], f"{source}.{unique}")["max.message.bytes"]
                == "2000000"
            )
        for alias, other in (("A", "B"), ("B", "A")):
            consume(clusters[alias].bootstrap, "heartbeats", 1)
            consume(clusters[alias].bootstrap, f"{other}.heartbeats", 1)
        # Everything that could come round has had its chance: heartbeats have gone both ways, and
        # topics are looked for every second.
        produce(cluster_a.bootstrap, unique, numbered(0, 1))
        consume(cluster_b.bootstrap, f"A.{unique}", 26)
        assert mirror.stop() == 0
        mirror.wait_gone()
    topics = {*partition_counts(cluster_a), *partition_counts(cluster_b)}
    assert {t for t in topics if t.startswith(("A.B.", "B.A.")) and unique in t} == set()
    assert {t for t in topics if t.startswith(("A.B.A", "B.A.B"))} == set()


@pytest.mark.also_on_spark_cluster
def test_a_clean_stop_and_start_copies_each_record_once(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    text = one_way(cluster_a, cluster_b, unique)
    for turn in range(2):
        produce(cluster_a.bootstrap, unique, numbered(turn * 1000, 1000, 2))
        with Mirror(tmp_path, text) as mirror:
            consume(cluster_b.bootstrap, f"A.{unique}", (turn + 1) * 1000)
            assert mirror.stop() == 0
            mirror.wait_gone()
    copied = consume(cluster_b.bootstrap, f"A.{unique}", 2000)
    assert _contents(copied) == _contents(consume(cluster_a.bootstrap, unique, 2000))
    ends = sum(sample.offset + 1 for sample in _last_of_each(copied))
    assert ends == 2000, "no record came twice"


def _last_of_each(samples: list[Sample]) -> list[Sample]:
    return list({sample.partition: sample for sample in samples}.values())


def test_three_clusters_in_a_triangle_settle(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    with KafkaCluster("C") as cluster_c:
        clusters: dict[str, Cluster] = {"A": cluster_a, "B": cluster_b, "C": cluster_c}
        for cluster in clusters.values():
            create_topic(cluster.bootstrap, unique, 1)
            produce(cluster.bootstrap, unique, numbered(0, 3))
        flows = {
            f"{source}->{target}.enabled": "true"
            for source in clusters
            for target in clusters
            if source != target
        }
        addresses = {alias: cluster.bootstrap for alias, cluster in clusters.items()}
        text = properties(addresses, {**flows, "topics": f".*{unique}"})
        with Mirror(tmp_path, text) as mirror:
            expected = {
                "A": {unique, f"B.{unique}", f"C.{unique}", f"B.C.{unique}", f"C.B.{unique}"},
                "B": {unique, f"A.{unique}", f"C.{unique}", f"A.C.{unique}", f"C.A.{unique}"},
                "C": {unique, f"A.{unique}", f"B.{unique}", f"A.B.{unique}", f"B.A.{unique}"},
            }
            for alias, topics in expected.items():
                for topic in topics:
                    consume(clusters[alias].bootstrap, topic, 3)
            for alias, topics in _settled(clusters).items():
                assert {topic for topic in topics if unique in topic} == expected[alias]
            assert mirror.stop() == 0


def _settled(clusters: Mapping[str, Cluster]) -> dict[str, set[str]]:
    """The topics of all clusters, once none of them has got another one for three seconds."""
    found: dict[str, set[str]] = {}
    since = time.monotonic()

    def is_quiet() -> bool:
        nonlocal found, since
        before, found = found, {a: set(partition_counts(c)) for a, c in clusters.items()}
        if found != before:
            since = time.monotonic()
        return time.monotonic() - since > 3

    eventually(is_quiet)
    return found


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 1, "usage"),
        (["missing.properties"], 255, "missing.properties"),
        (["FILE", "--clusters", "Z"], 2, "No source->target replication flows."),
    ],
)
def test_bad_arguments_end_with_javas_statuses(
    arguments: list[str], status: int, message: str, tmp_path: Path
) -> None:
    """C001, C002, C004, C005."""
    text = properties({"A": "localhost:1", "B": "localhost:2"}, {"A->B.enabled": "true"})
    mirror = Mirror(
        tmp_path,
        text,
        command=lambda file: [
            str(DRIVER),
            *(str(file) if word == "FILE" else word for word in arguments),
        ],
    )
    with mirror:
        assert mirror.process.wait(90) == status
    assert message in mirror.text()
