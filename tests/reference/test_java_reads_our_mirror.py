"""Java's consumer, RemoteClusterUtils and formatters read what mm2 writes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.reference.java_snippets import Snippet
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.records import CODECS, Sample, commit_group, consume, create_topic, produce

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.reference,
]

_FORMATTERS = "org.apache.kafka.connect.mirror.formatters"


@pytest.fixture(scope="module")
def run_java(tmp_path_factory: pytest.TempPathFactory) -> Snippet:
    return Snippet("ReadsMirror", tmp_path_factory.mktemp("classes"))


@dataclass(frozen=True)
class _Mirrored:
    """A flow that runs, and a topic of which it has copied 20 records."""

    source: str
    target: str
    topic: str

    @property
    def remote(self) -> str:
        return f"{self.source}.{self.topic}"


@pytest.fixture(scope="module")
def mirrored(
    cluster_a: Cluster, cluster_b: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[_Mirrored]:
    number = uuid.uuid4().hex[:6]
    flow = _Mirrored(f"S{number}", f"T{number}", f"read-by-java-{number}")
    create_topic(cluster_a.bootstrap, flow.topic, 2)
    for place, codec in enumerate(CODECS):
        samples = [
            Sample(
                key=b"k%d" % n if n % 2 else None,
                value=None if n == 3 else b"%s-%d" % (codec.encode(), n),
                headers=(("h", None), ("h", b"\xff"), ("", b"")),
                partition=n % 2,
                timestamp_ms=1_700_000_000_000 + place * 10 + n,
            )
            for n in range(4)
        ]
        produce(cluster_a.bootstrap, flow.topic, samples, codec=codec)
    text = properties(
        {flow.source: cluster_a.bootstrap, flow.target: cluster_b.bootstrap},
        {
            f"{flow.source}->{flow.target}.enabled": "true",
            "topics": flow.topic,
            "groups": f"{flow.topic}.*",
            "offset.lag.max": "0",
        },
    )
    with Mirror(tmp_path_factory.mktemp("mirror"), text) as mirror:
        consume(cluster_b.bootstrap, flow.remote, 20)
        yield flow
        assert mirror.stop() == 0


def test_javas_consumer_reads_the_remote_topic_as_the_source_topic(
    run_java: Snippet, mirrored: _Mirrored, cluster_a: Cluster, cluster_b: Cluster
) -> None:
    written = run_java(cluster_a.bootstrap, "records", mirrored.topic, "20")
    copied = run_java(cluster_b.bootstrap, "records", mirrored.remote, "20")
    assert sorted(copied) == sorted(written)
    for partition in ("0", "1"):
        order = [line for line in written if line.startswith(f"{partition} ")]
        assert [line for line in copied if line.startswith(f"{partition} ")] == order


def test_javas_formatters_print_heartbeats_and_offset_syncs(
    run_java: Snippet, mirrored: _Mirrored, cluster_a: Cluster, cluster_b: Cluster
) -> None:
    source, target = mirrored.source, mirrored.target
    beat = f"Heartbeat{{sourceClusterAlias={source}, targetClusterAlias={target}, timestamp="
    consume(cluster_b.bootstrap, "heartbeats", 1)
    lines = eventually(
        lambda: run_java(
            cluster_b.bootstrap, "format", f"{_FORMATTERS}.HeartbeatFormatter", "heartbeats"
        ),
        until=lambda found: any(line.startswith(beat) for line in found),
    )
    assert all(line.startswith("Heartbeat{") for line in lines)
    places = [f"topicPartition={mirrored.topic}-{partition}" for partition in (0, 1)]
    ends = {f"OffsetSync{{{place}, upstreamOffset=9, downstreamOffset=9}}" for place in places}
    eventually(
        lambda: run_java(
            cluster_a.bootstrap,
            "format",
            f"{_FORMATTERS}.OffsetSyncFormatter",
            f"mm2-offset-syncs.{target}.internal",
        ),
        until=lambda found: ends <= set(found),
    )


def test_javas_client_finds_the_source_and_translates_offsets(
    run_java: Snippet, mirrored: _Mirrored, cluster_a: Cluster, cluster_b: Cluster
) -> None:
    source = mirrored.source
    group = topic = mirrored.topic
    remote = mirrored.remote
    commit_group(cluster_a.bootstrap, group, {(topic, 0): 10, (topic, 1): 4})
    translated = eventually(
        lambda: run_java(cluster_b.bootstrap, "translate", source, group),
        # With a sync for the last record the end is exact; it may come after the first checkpoint.
        until=lambda lines: len(lines) == 2 and lines[0] == f"{remote}-0 10",
    )
    # Never past the truth.
    assert 0 <= int(translated[1].removeprefix(f"{remote}-1 ")) <= 4
    checkpoints = run_java(
        cluster_b.bootstrap,
        "format",
        f"{_FORMATTERS}.CheckpointFormatter",
        f"{source}.checkpoints.internal",
    )
    assert any(
        f"consumerGroupId={group}, topicPartition={remote}-0, upstreamOffset=10" in line
        for line in checkpoints
    )
    # The herder of T->S sends heartbeats to S, and S->T mirrors them.
    topology = eventually(
        lambda: dict(
            line.split(" ", 1) for line in run_java(cluster_b.bootstrap, "topology", source)
        ),
        until=lambda found: found["hops"] == "1",
    )
    assert f"{source}.checkpoints.internal" in topology["checkpoints"]
    assert f"{source}.heartbeats" in topology["heartbeats"]
    assert source in topology["upstream"]


def test_javas_client_leads_a_group_back_to_the_originals(
    run_java: Snippet, mirrored: _Mirrored, cluster_a: Cluster, cluster_b: Cluster
) -> None:
    """
    Reverse checkpoints, which no Java mirror writes, are checkpoints to Java's client.

    The first may be translated by offset syncs alone, and say an offset before the true one.
    """
    group, topic, remote = f"{mirrored.topic}-back", mirrored.topic, mirrored.remote
    commit_group(cluster_b.bootstrap, group, {(remote, 0): 7, (remote, 1): 3})
    exact = [f"{topic}-0 7", f"{topic}-1 3"]
    eventually(
        lambda: run_java(cluster_a.bootstrap, "translate", mirrored.target, group),
        until=lambda lines: lines == exact,
    )
