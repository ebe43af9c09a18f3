"""A standalone worker of Connect, with the sample files that users begin with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.connect import STANDALONE, sample, standalone
from tests.support.eventually import eventually
from tests.support.groups import group_offsets
from tests.support.records import Sample, commit_group, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def _numbers(count: int) -> list[Sample]:
    return [Sample(value=b"%d" % n) for n in range(count)]


def test_the_sample_connectors_mirror_both_ways_each_in_its_own_part(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Records, groups and heartbeats into the worker's cluster; records out of it exactly once."""
    source, target = f"A{unique[-4:]}", f"B{unique[-4:]}"
    create_topic(cluster_a.bootstrap, f"{unique}-in")
    create_topic(cluster_b.bootstrap, f"{unique}-out")
    produce(cluster_a.bootstrap, f"{unique}-in", _numbers(20))
    produce(cluster_b.bootstrap, f"{unique}-out", _numbers(30))
    commit_group(cluster_a.bootstrap, unique, {(f"{unique}-in", 0): 7})
    clusters = (cluster_a, cluster_b)
    pull = {"source.cluster.alias": source, "target.cluster.alias": target}
    push = {"source.cluster.alias": target, "target.cluster.alias": source}
    changes = {
        "connect-mirror-source.properties": {**pull, "topics": f"{unique}-in"},
        "connect-mirror-checkpoint.properties": {
            **pull,
            "topics": f"{unique}-in",
            "groups": unique,
            # That is left to the checkpoint sink.
            "sync.group.offsets.enabled": "false",
        },
        "connect-checkpoint-sink.properties": {**pull, "groups": unique},
        "connect-mirror-heartbeat.properties": pull,
        "connect-mirror-sink.properties": {**push, "topics": f"{unique}-out"},
    }
    connectors = {
        name: sample(name, clusters, {**change, "name": f"{unique}.{name}"})
        for name, change in changes.items()
    }
    worker = sample("connect-standalone.properties", clusters, {})
    with standalone(tmp_path, worker, connectors) as mirror:
        copied = consume(cluster_b.bootstrap, f"{source}.{unique}-in", 20)
        assert [record.value for record in copied] == [b"%d" % n for n in range(20)]
        assert len(consume(cluster_a.bootstrap, f"{target}.{unique}-out", 30)) == 30
        remote = (f"{source}.{unique}-in", 0)
        eventually(lambda: group_offsets(cluster_b.bootstrap, unique) == {remote: 7})
        # Tools that watch lag look for a sink there, as Connect would have it.
        sink = f"connect-{unique}.connect-mirror-sink.properties"
        there = (f"{unique}-out", 0)
        eventually(lambda: group_offsets(cluster_b.bootstrap, sink)[there] == 30)
        beats = consume(cluster_b.bootstrap, "heartbeats", 1)
        assert beats
        assert mirror.stop() == 0
        mirror.wait_gone()
    assert "config.spelling" not in mirror.text()


def test_what_is_wrong_with_files_is_said_at_once_with_file_and_line(tmp_path: Path) -> None:
    worker, connector = tmp_path / "worker.properties", tmp_path / "mirror.properties"
    worker.write_text("bootstrap.servers = 127.0.0.1:1\n")
    connector.write_text(
        "name = m\nconnector.class = MirrorSource\n"
        "source.cluster.alias = A\ntarget.cluster.alias = B\n\ntasks.max = many\n"
    )
    told = subprocess.run(
        [str(STANDALONE), str(worker), str(connector)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.returncode == 2
    no_servers, no_number = told.stderr.splitlines()
    assert no_servers.startswith(f"{connector}: cluster A has no source.cluster.bootstrap.servers")
    assert no_number.startswith(f"{connector}: line 6: Invalid value 'many'")
