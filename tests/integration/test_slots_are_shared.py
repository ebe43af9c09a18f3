"""Flows that begin together share the slots of a Spark that has few, and none stands still."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.protocol.control_codec import decode_control
from mm2.protocol.control_records import Assignment
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, consume, create_topic, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]

_PARTITIONS = 4


def test_two_flows_share_four_slots_and_one_takes_over_what_the_other_leaves(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    a, b = f"A{unique[-8:]}", f"B{unique[-8:]}"
    clusters = {a: cluster_a, b: cluster_b}
    topics = {a: f"{unique}-a", b: f"{unique}-b"}
    settings = {"spark.master": "local[4]", "tasks.max": "4", "emit.heartbeats.enabled": "false"}
    settings |= {"heartbeats.replication.enabled": "false", "emit.checkpoints.enabled": "false"}
    for source, target in ((a, b), (b, a)):
        create_topic(clusters[source].bootstrap, topics[source], _PARTITIONS)
        settings |= {f"{source}->{target}.enabled": "true"}
        settings |= {f"{source}->{target}.topics": topics[source]}

    def produce_and_see(count: int, *sources: str) -> None:
        """All partitions of a flow are copied."""
        for source in sources:
            samples = [Sample(value=b"%d" % count, partition=n) for n in range(_PARTITIONS)]
            produce(clusters[source].bootstrap, topics[source], samples)
        for source in sources:
            (target,) = clusters.keys() - {source}
            remote = f"{source}.{topics[source]}"
            consume(clusters[target].bootstrap, remote, count * _PARTITIONS, timeout=100)

    def tasks(source: str) -> int:
        """How many tasks have partitions."""
        (target,) = clusters.keys() - {source}
        log = log_of(clusters[target].bootstrap, f"mm2-control.{source}.internal")
        found = [decode_control(each.key, each.value) for each in records_in(log)]
        assigned = {each.index: each for each in found if isinstance(each, Assignment)}
        return sum(bool(each.partitions) for each in assigned.values())

    text = properties({alias: each.bootstrap for alias, each in clusters.items()}, settings)
    with Mirror(tmp_path, text) as mirror:
        produce_and_see(1, a, b)
        eventually(lambda: (tasks(a), tasks(b)), until=lambda found: found == (2, 2))
        lines = [json.loads(x) for x in mirror.text().splitlines() if "spark.too_narrow" in x]
        assert {(x["flow"], x["tasks"]) for x in lines} == {(f"{a}->{b}", 2), (f"{b}->{a}", 2)}
        # Who came first had all slots, and drains once Spark has started: that may take long.
        waited = mirror.text().count("spark.no_slot")
        _flows(mirror, "pause", f"{a}->{b}")
        eventually(lambda: tasks(b), until=lambda found: found == 4)
        produce_and_see(2, b)
        _flows(mirror, "resume", f"{a}->{b}")
        produce_and_see(2, a)
        produce_and_see(3, a, b)
        assert mirror.stop() == 0
        assert mirror.text().count("spark.no_slot") == waited
        assert "part.failed" not in mirror.text()


def _flows(mirror: Mirror, command: str, flow: str) -> None:
    result = CliRunner().invoke(main, ["flows", command, str(mirror.file), "--flow", flow])
    assert result.exit_code == 0, result.output
