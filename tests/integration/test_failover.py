"""``mm2 failover`` and ``mm2 failback`` between two real clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from mm2.core.acls import AclBinding, AclOperation
from mm2.kafka.admin import Admin
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.failover import Scene, read_on, stands
from tests.support.groups import needs_new_groups
from tests.support.mirror import Mirror, properties
from tests.support.quotas import set_quota
from tests.support.records import (
    Sample,
    commit_group,
    committed,
    consume,
    create_topic,
    everything,
    group_member,
    produce_transaction,
)

pytestmark = [pytest.mark.broker, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def scene(
    cluster_a: Cluster, cluster_b: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """A mirror that runs for all tests of this file; each has topics and groups of its own."""
    unique = uuid4().hex[:8]
    source, target = f"S{unique}", f"T{unique}"
    settings = {
        f"{source}->{target}.enabled": "true",
        "topics": f"move-{unique}.*",
        "groups": f"move-{unique}.*",
        "heartbeats.replication.enabled": "false",
        f"{source}.consumer.isolation.level": "read_committed",
        "emit.checkpoints.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
    }
    clusters = {source: cluster_a.bootstrap, target: cluster_b.bootstrap}
    folder = tmp_path_factory.mktemp("failover")
    with Mirror(folder, properties(clusters, settings)) as mirror:
        eventually(lambda: "flow.assigned" in mirror.text(), timeout=70)
        yield Scene(mirror.file, cluster_a, cluster_b, source, target, f"move-{unique}-")
        assert mirror.stop() == 0


def test_a_group_goes_on_exactly_at_its_first_unread_record(scene: Scene) -> None:
    """In a log with gaps, while records keep coming; what it has read is waited for."""
    topic, group = scene.topic("gaps", 2), f"{scene.prefix}gaps"
    bootstrap = scene.source.bootstrap
    scene.write(topic, range(10))
    produce_transaction(bootstrap, topic, [Sample(value=b"x")] * 5, commit=False)
    produce_transaction(bootstrap, topic, [Sample(value=b"%d" % n) for n in range(10, 20)])
    scene.write(topic, range(20, 30))
    scene.write(topic, range(7), partition=1)
    unread = [s.value for s in committed(bootstrap, topic) if not s.partition and s.offset >= 19]
    scene.stand(group, topic, 19, 7)
    plan = scene.ok("failover", "plan", "--group", group)
    assert not plan["done"]
    moved = scene.ok("failover", "execute", "--group", group, "--execute")
    assert moved["done"]
    assert {row["exact"] for row in moved["offsets"]} == {True}
    remote = scene.remote(topic)
    assert read_on(scene.target.bootstrap, group, remote, len(unread)) == unread
    assert stands(scene.target.bootstrap, group, remote, 1) == 7
    assert stands(bootstrap, group, topic) == 19, "nothing changes where it comes from"


def test_nothing_is_written_without_execute(scene: Scene) -> None:
    topic, group = scene.topic("dry"), f"{scene.prefix}dry"
    scene.write(topic, range(5))
    consume(scene.target.bootstrap, scene.remote(topic), 5, timeout=70)
    scene.stand(group, topic, 3)
    scene.ok("failover", "plan", "--group", group)
    scene.ok("failover", "execute", "--group", group)
    assert stands(scene.target.bootstrap, group, scene.remote(topic)) < 0


def test_what_would_lose_or_repeat_records_is_refused_unless_forced(scene: Scene) -> None:
    topic, group = scene.topic("no"), f"{scene.prefix}no"
    scene.write(topic, range(10))
    remote, there = scene.remote(topic), scene.target.bootstrap
    consume(there, remote, 10, timeout=70)
    words = ("failover", "execute", "--group", group, "--execute")
    assert "has no offsets of mirrored topics" in scene.refused(*words)
    with group_member(scene.source.bootstrap, group, [topic]):
        commit_group(there, group, {(remote, 0): 8})
    scene.stand(group, topic, 5)
    refusal = scene.refused(*words)
    assert "the group is further there, at 8, than 5" in refusal
    assert "With --force: up to 3 records are read again" in refusal
    assert stands(there, group, remote) == 8
    with group_member(there, group, [remote]):
        assert "only its members can commit there" in scene.refused(*words, "--force")
    scene.ok(*words, "--force")
    assert stands(there, group, remote) == 5


def test_a_group_with_members_does_not_move(scene: Scene) -> None:
    topic, group = scene.topic("busy"), f"{scene.prefix}busy"
    scene.write(topic, range(5))
    scene.stand(group, topic, 2)
    with group_member(scene.source.bootstrap, group, [topic]):
        refusal = scene.refused("failover", "execute", "--group", group, "--execute")
    assert "is STABLE where it comes from: stop its consumers first" in refusal
    assert stands(scene.target.bootstrap, group, scene.remote(topic)) < 0


@needs_new_groups
def test_a_group_of_the_new_protocol_moves(scene: Scene) -> None:
    """KIP-848."""
    topic, group = scene.topic("new"), f"{scene.prefix}new"
    scene.write(topic, range(5))
    remote, there = scene.remote(topic), scene.target.bootstrap
    consume(there, remote, 5, timeout=70)
    protocol = {"group.protocol": "consumer"}
    for bootstrap, name in ((scene.source.bootstrap, topic), (there, remote)):
        with group_member(bootstrap, group, [name], protocol) as member:
            member.poll(1)
            if name == topic:
                member.commit(asynchronous=False)
    scene.stand(group, topic, 2)
    scene.ok("failover", "execute", "--group", group, "--execute")
    assert read_on(there, group, remote, 1) == [b"2"]


def test_when_the_source_is_lost_groups_go_on_at_their_checkpoints(
    scene: Scene, tmp_path: Path
) -> None:
    topic, group = scene.topic("lost"), f"{scene.prefix}lost"
    scene.write(topic, range(10))
    scene.stand(group, topic, 4)
    lost, remote = scene.without_source(tmp_path), scene.remote(topic)
    words = ("failover", "plan", "--group", group, "--unplanned")
    checkpoints = f"{scene.alias}.checkpoints.internal"
    eventually(
        lambda: any(
            group.encode() in (sample.key or b"")
            for sample in everything(scene.target.bootstrap, checkpoints)
        ),
        timeout=70,
    )
    assert scene.run("failover", "plan", "--group", group, file=lost).exit_code == 3
    assert "answers: a planned move" in scene.refused(*words)
    plan = scene.ok(*words, file=lost)
    reasons = " ".join(f"{c['reason']} {c['cost']}" for c in plan["checks"])
    assert "what the group committed after that is read again" in reasons
    assert "missing until the origin is back" in reasons
    scene.ok("failover", "execute", *words[2:], "--execute", file=lost)
    (first,) = read_on(scene.target.bootstrap, group, remote, 1)
    assert int(first or b"99") <= 4, "nothing is skipped"


def test_a_group_goes_and_comes_back_as_the_runbooks_say(scene: Scene) -> None:
    topic, group = scene.topic("there-and-back"), f"{scene.prefix}there-and-back"
    here, there, remote = scene.source.bootstrap, scene.target.bootstrap, scene.remote(topic)
    scene.write(topic, range(10))
    scene.stand(group, topic, 3)
    for heading in ("Before", "Move"):
        scene.follow("migrate-a-consumer-group.md", heading, group)
    assert read_on(there, group, remote, 4) == [b"3", b"4", b"5", b"6"]
    scene.follow("failback.md", "One group", group)
    assert read_on(here, group, topic, 3) == [b"7", b"8", b"9"]
    assert "further there" in scene.refused("failback", "execute", "--group", group, "--execute")


def test_what_producers_will_miss_is_said(scene: Scene) -> None:
    topic, group = scene.topic("rights", 2), f"{scene.prefix}rights"
    scene.write(topic, range(5))
    scene.stand(group, topic, 5, 0)
    client = f"client-{group}"
    rule = AclBinding(name=topic, principal="User:writer", operation=AclOperation.WRITE)
    set_quota(scene.source, client, "producer_byte_rate", 1000)
    with _rules(scene.source, rule):
        plan = scene.ok("failover", "plan", "--group", group)
        create_topic(scene.target.bootstrap, topic)
        smaller = scene.ok("failover", "plan", "--group", group)
    said = {each["subject"]: each["reason"] for each in plan["checks"] if each["cost"]}
    assert said[topic].startswith("the topic is not there (2 partitions)")
    assert "no right to write: User:writer" in said[topic]
    assert said[f"client-id={client}"].endswith("producer_byte_rate 1000")
    said = {each["subject"]: each["reason"] for each in smaller["checks"]}
    assert said[topic].startswith("the topic has only 1 of 2 partitions")
    assert scene.run("failover", "plan", "--group", group, "--strict").exit_code == 1


def test_a_whole_flow_moves_and_comes_back(
    cluster_a: Cluster, cluster_b: Cluster, tmp_path: Path
) -> None:
    """All groups, exactly once; everything is copied, the flow stands still, and goes on."""
    unique = uuid4().hex[:8]
    source, target = f"S{unique}", f"T{unique}"
    settings = {
        f"{source}->{target}.enabled": "true",
        f"{target}.exactly.once.source.support": "enabled",
        f"{source}.consumer.isolation.level": "read_committed",
        "topics": f"all-{unique}.*",
        "groups": f"all-{unique}.*",
        "heartbeats.replication.enabled": "false",
    }
    clusters = {source: cluster_a.bootstrap, target: cluster_b.bootstrap}
    with Mirror(tmp_path, properties(clusters, settings)) as mirror:
        scene = Scene(mirror.file, cluster_a, cluster_b, source, target, f"all-{unique}-")
        topic = scene.topic("orders")
        remote = scene.remote(topic)
        groups = [f"{scene.prefix}{name}" for name in ("one", "two")]
        scene.write(topic, range(20))
        for group, offset in zip(groups, (5, 20), strict=True):
            scene.stand(group, topic, offset)
        consume(cluster_b.bootstrap, remote, 20, timeout=90)
        moved = scene.follow("migrate-a-consumer-group.md", "Move everything", "")
        assert f"stopping the flow {source}->{target}" in moved[0]
        scene.write(topic, range(20, 25))
        values = [b"%d" % n for n in range(5, 20)]
        assert read_on(cluster_b.bootstrap, groups[0], remote, 15) == values

        back = scene.follow("failback.md", "Everything", "")
        assert f"resuming the flow {source}->{target}" in back[0]
        for group in groups:
            assert read_on(cluster_a.bootstrap, group, topic, 1) == [b"20"]
        consume(cluster_b.bootstrap, remote, 25, timeout=70)

        lost, page = scene.without_source(tmp_path), "unplanned-failover.md"
        words = ("failover", "plan", "--all-groups", "--unplanned")
        eventually(lambda: scene.run(*words, file=lost).exit_code == 0, timeout=70)
        for heading in ("See what it costs", "Go on", "When A is back"):
            scene.follow(page, heading, "", lost)
        assert mirror.stop() == 0


@contextmanager
def _rules(cluster: Cluster, *rules: AclBinding) -> Iterator[None]:
    """Access rules that are there for a while."""

    async def change(*, delete: bool) -> None:
        admin = Admin("test", {"bootstrap.servers": cluster.bootstrap})
        try:
            assert await (admin.delete_acls if delete else admin.create_acls)(rules) == {}
        finally:
            await admin.close()

    asyncio.run(change(delete=False))
    try:
        yield
    finally:
        asyncio.run(change(delete=True))
