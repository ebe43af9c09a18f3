"""Kafka's MirrorMaker goes on where ``mm2 offsets`` says, and refuses us while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from confluent_kafka.admin import AdminClient

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.reference]


def test_java_and_mm2_offsets_speak_of_the_same_positions(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source, target = f"S{unique[-8:]}", f"T{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique, 3)
    samples = [Sample(value=b"%d" % n, partition=n % 3) for n in range(30)]
    produce(cluster_a.bootstrap, unique, samples)
    text = properties(
        {source: cluster_a.bootstrap, target: cluster_b.bootstrap},
        {
            f"{source}->{target}.enabled": "true",
            "topics": unique,
            "emit.heartbeats.enabled": "false",
            "heartbeats.replication.enabled": "false",
            f"{target}.offset.flush.interval.ms": "1000",
        },
    )
    file = tmp_path / "mm2.properties"
    file.write_text(text)

    def run(command: str, *words: str) -> Result:
        return CliRunner().invoke(main, ["offsets", command, str(file), *words])

    def listed() -> list[str]:
        return run("list", "--format", "tsv").stdout.splitlines()

    ends = [
        "topic\tpartition\tposition\tnext",
        *(f"{unique}\t{partition}\t9\t10" for partition in range(3)),
    ]
    for words in (["--topic", f"{unique}:0", "--to-offset", "4"], [*_latest(unique, 1)]):
        result = run("alter", *words, "--execute")
        assert result.exit_code == 0, result.output
    remote = f"{source}.{unique}"
    admin = AdminClient({"bootstrap.servers": cluster_b.bootstrap})
    with Mirror(tmp_path, text, command=java_mirror) as java:
        eventually(lambda: remote in admin.list_topics(timeout=60).topics, timeout=90)
        copied = consume(cluster_b.bootstrap, remote, 16)
        numbers = {p: [int(s.value or b"") for s in copied if s.partition == p] for p in range(3)}
        assert numbers == {0: list(range(12, 30, 3)), 1: [], 2: list(range(2, 30, 3))}
        refused = run("reset", "--all-topics", "--execute")
        assert refused.exit_code == 1
        assert f"the group {source}-mm2 has members" in refused.stderr
        # Java exits without a commit where its tasks have no time for one.
        eventually(listed, until=lambda lines: lines == ends)
        assert java.stop(180) == 143
    assert listed() == ends


def _latest(topic: str, partition: int) -> list[str]:
    return ["--topic", f"{topic}:{partition}", "--to-latest"]
