"""Where groups go on when two flows copy topics to each other under the same names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.failover import Scene, read_on, stands
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, committed, consume, produce
from tests.support.topics import partition_counts

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def scene(
    cluster_a: Cluster, cluster_b: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """A mirror both ways that runs for all tests of this file; each has topics of its own."""
    unique = uuid4().hex[:8]
    source, target = f"S{unique}", f"T{unique}"
    settings = {
        "heartbeats.replication.enabled": "false",
        "emit.checkpoints.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
        "replication.policy.class": "IdentityReplicationPolicy",
        "provenance.headers.enabled": "true",
        "topics": f"{unique}.*",
        "groups": f"{unique}.*",
        f"{source}->{target}.enabled": "true",
        f"{target}->{source}.enabled": "true",
    }
    clusters = {source: cluster_a.bootstrap, target: cluster_b.bootstrap}
    with Mirror(tmp_path_factory.mktemp("failover"), properties(clusters, settings)) as mirror:
        eventually(lambda: mirror.text().count("flow.assigned") >= 2, timeout=150)
        names = (source, target, f"{unique}-")
        yield Scene(mirror.file, cluster_a, cluster_b, *names, is_renamed=False)
        assert mirror.stop() == 0


def test_no_checkpoint_leads_past_what_the_flow_back_has_not_told_of(scene: Scene) -> None:
    """The flow back has copied nothing of a topic yet."""
    known, group = scene.topic("known"), f"{scene.prefix}new"
    here, there = scene.source.bootstrap, scene.target.bootstrap
    back = replace(scene, alias=scene.other, other=scene.alias)
    scene.write(known, [0])
    scene.stand(f"{scene.prefix}known-1", known, 1)
    eventually(lambda: _checkpoints(scene, f"{scene.prefix}known-1"))
    assert back.run("flows", "stop").exit_code == 0
    try:
        topic = scene.topic("new")
        eventually(lambda: topic in partition_counts(scene.target))
        produce(there, topic, [Sample(value=b"b0")])
        scene.write(topic, [0])
        consume(there, topic, 2, timeout=70)
        scene.stand(group, topic, 1)
        scene.stand(f"{scene.prefix}known-2", known, 1)
        eventually(lambda: _checkpoints(scene, f"{scene.prefix}known-2"))
        assert _checkpoints(scene, group) == []
    finally:
        assert back.run("flows", "resume").exit_code == 0
    consume(here, topic, 2, timeout=70)
    assert eventually(lambda: _checkpoints(scene, group)) == [0], "b0 is unread"


def test_records_that_have_not_come_from_the_other_side_are_not_skipped(scene: Scene) -> None:
    """While the flow back stands still, a group goes on before them."""
    topic, group = scene.topic("orders"), f"{scene.prefix}orders"
    here, there = scene.source.bootstrap, scene.target.bootstrap
    # The flow there creates it; who does it as well may come too late.
    eventually(lambda: topic in partition_counts(scene.target))
    produce(there, topic, [Sample(value=b"b0")])
    consume(here, topic, 1, timeout=90)
    scene.write(topic, [0])
    consume(there, topic, 2, timeout=70)
    back = replace(scene, alias=scene.other, other=scene.alias)
    assert back.run("flows", "stop").exit_code == 0
    try:
        produce(there, topic, [Sample(value=b"b1")])
        scene.write(topic, [1])
        consume(there, topic, 4, timeout=70)
        assert [each.value for each in committed(here, topic)] == [b"b0", b"0", b"1"]
        scene.stand(group, topic, 3)
        moved = scene.ok("failover", "execute", "--group", group, "--execute")
        assert not any(row["exact"] for row in moved["offsets"])
        assert "the lower of both translations" in " ".join(c["reason"] for c in moved["checks"])
        assert b"b1" in read_on(there, group, topic, 4 - stands(there, group, topic))
    finally:
        assert back.run("flows", "resume").exit_code == 0
    consume(here, topic, 4, timeout=70)
    scene.stand(f"{group}-later", topic, 4)
    assert _exact_plan(scene, f"{group}-later") == 4


def test_a_side_that_writes_nothing_costs_no_exactness(scene: Scene) -> None:
    """The flow back tells that it leaves out all there is. Groups may leave either side."""
    topic, group = scene.topic("one-sided"), f"{scene.prefix}one-sided"
    scene.write(topic, range(5))
    consume(scene.target.bootstrap, topic, 5, timeout=90)
    scene.stand(group, topic, 3)
    assert _exact_plan(scene, group) == 3
    there = replace(
        scene, source=scene.target, target=scene.source, alias=scene.other, other=scene.alias
    )
    there.stand(f"{group}-there", topic, 3)
    assert _exact_plan(there, f"{group}-there") == 3


def _checkpoints(scene: Scene, group: str) -> list[int]:
    """The offsets on the target of a group's checkpoints."""
    words = ["checkpoints", str(scene.file), "--flow", scene.flow, "--group", group]
    shown = CliRunner().invoke(main, [*words, "--format", "json"], catch_exceptions=False)
    return [row["downstream"] for row in json.loads(shown.stdout)] if shown.exit_code == 0 else []


def _exact_plan(scene: Scene, group: str) -> int:
    """Where a group of one partition would go on, once that is known exactly."""

    def rows() -> list[dict[str, object]]:
        shown = scene.run("failover", "plan", "--group", group, "--format", "json")
        found: list[dict[str, object]] = json.loads(shown.stdout)["offsets"]
        return found

    (row,) = eventually(rows, until=lambda each: bool(each) and bool(each[0]["exact"]), timeout=90)
    return int(str(row["new"]))
