"""``mm2 failover`` and ``mm2 failback`` between two real clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from mm2.core.topics.acls import AclBinding, AclOperation
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.failover import Scene, read_on, stands
from tests.support.groups import needs_new_groups
from tests.support.in_time import in_time
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
    produce,
    produce_transaction,
)
from tests.support.topics import allow, asking

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]


_KINDS = ("both", "same", "whole")
"""Flows: there and back, of topics that keep their names, and one that is moved as a whole."""


@pytest.fixture(scope="module")
def scenes(
    cluster_a: Cluster, cluster_b: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Scene]]:
    """A mirror that runs for all tests of this file; each has topics and groups of its own."""
    unique = uuid4().hex[:8]
    aliases = {
        kind: (f"{kind[0].upper()}S{unique}", f"{kind[0].upper()}T{unique}") for kind in _KINDS
    }
    clusters: dict[str, str] = {}
    settings = {
        "heartbeats.replication.enabled": "false",
        # Else heartbeats make a flow of each pair of aliases, and those of one source into one
        # cluster under several names would take the lead from each other all the time.
        "emit.heartbeats.enabled": "false",
        "emit.checkpoints.interval.seconds": "1",
        "refresh.groups.interval.seconds": "1",
    }
    for kind, (source, target) in aliases.items():
        clusters |= {source: cluster_a.bootstrap, target: cluster_b.bootstrap}
        settings |= {
            f"{source}->{target}.enabled": "true",
            f"{source}->{target}.emit.heartbeats.enabled": "true",
            f"{source}->{target}.topics": f"{kind}-{unique}.*",
            f"{source}->{target}.groups": f"{kind}-{unique}.*",
            f"{source}.consumer.isolation.level": "read_committed",
        }
    source, target = aliases["both"]
    settings |= {
        f"{target}->{source}.enabled": "true",
        f"{target}->{source}.emit.heartbeats.enabled": "true",
        f"{target}->{source}.topics": f"both-{unique}.*",
        f"{target}->{source}.groups": f"both-{unique}.*",
        f"{'->'.join(aliases['same'])}.replication.policy.class": "IdentityReplicationPolicy",
        f"{aliases['whole'][1]}.exactly.once.source.support": "enabled",
    }
    folder = tmp_path_factory.mktemp("failover")
    with Mirror(folder, properties(clusters, settings)) as mirror:
        eventually(lambda: mirror.text().count("flow.assigned") >= len(_KINDS) + 1, timeout=150)
        yield {
            kind: Scene(
                mirror.file,
                cluster_a,
                cluster_b,
                *aliases[kind],
                f"{kind}-{unique}-",
                is_renamed=kind != "same",
            )
            for kind in _KINDS
        }
        assert mirror.stop() == 0


@pytest.fixture
def scene(scenes: dict[str, Scene]) -> Scene:
    """Two clusters that mirror each other."""
    return scenes["both"]


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
                in_time(partial(member.commit, asynchronous=False))
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


def test_a_whole_flow_moves_and_comes_back(scenes: dict[str, Scene], tmp_path: Path) -> None:
    """All groups, exactly once; everything is copied, the flow stands still, and goes on."""
    scene = scenes["whole"]
    here, there, topic = scene.source.bootstrap, scene.target.bootstrap, scene.topic("orders")
    remote = scene.remote(topic)
    groups = [f"{scene.prefix}{name}" for name in ("one", "two")]
    scene.write(topic, range(20))
    for group, offset in zip(groups, (5, 20), strict=True):
        scene.stand(group, topic, offset)
    consume(there, remote, 20, timeout=90)
    moved = scene.follow("migrate-a-consumer-group.md", "Move everything", "")
    assert f"stopping the flow {scene.flow}" in moved[0]
    scene.write(topic, range(20, 25))
    assert "is stopped" in scene.run("failover", "plan", "--group", groups[0]).stdout
    assert read_on(there, groups[0], remote, 15) == [b"%d" % n for n in range(5, 20)]

    back = scene.follow("failback.md", "Everything", "")
    assert f"resuming the flow {scene.flow}" in back[0]
    for group in groups:
        assert read_on(here, group, topic, 1) == [b"20"]
    consume(there, remote, 25, timeout=70)

    lost, page = scene.without_source(tmp_path), "unplanned-failover.md"
    words = ("failover", "plan", "--all-groups", "--unplanned")
    eventually(lambda: scene.run(*words, file=lost).exit_code == 0, timeout=70)
    for heading in ("See what it costs", "Go on", "When A is back"):
        scene.follow(page, heading, "", lost)


def test_a_group_comes_back_to_topics_that_both_sides_write(scene: Scene) -> None:
    """Active and active: each side's own records and their copies on the other side."""
    topic, group = scene.topic("orders", 1), f"{scene.prefix}orders-group"
    here, there, remote = scene.source.bootstrap, scene.target.bootstrap, scene.remote(topic)
    create_topic(there, topic)
    scene.write(topic, range(10))
    produce(there, topic, [Sample(value=b"t%d" % n) for n in range(10)])
    copied = f"{scene.other}.{topic}"
    for bootstrap, name in ((there, remote), (here, copied)):
        consume(bootstrap, name, 10, timeout=70)
    commit_group(here, group, {(topic, 0): 4, (copied, 0): 6})
    scene.ok("failover", "execute", "--group", group, "--execute")
    # Else nobody could tell which of both commits was the later one.
    for number in range(2):
        scene.until_looked_at(topic, number)
    assert read_on(there, group, remote, 3) == [b"4", b"5", b"6"]
    assert read_on(there, group, topic, 2) == [b"t6", b"t7"]
    produce(there, topic, [Sample(value=b"t10")])
    scene.ok("failback", "execute", "--group", group, "--drain", "--execute")
    assert read_on(here, group, topic, 3) == [b"7", b"8", b"9"]
    assert read_on(here, group, copied, 3) == [b"t8", b"t9", b"t10"], "what is there is waited for"


def test_a_group_comes_back_to_topics_that_keep_their_names(scenes: dict[str, Scene]) -> None:
    """The identity policy; aborted records make both logs differ."""
    scene = scenes["same"]
    topic, group = scene.topic("kept"), f"{scene.prefix}kept"
    here, there = scene.source.bootstrap, scene.target.bootstrap
    scene.write(topic, range(5))
    produce_transaction(here, topic, [Sample(value=b"x")] * 5, commit=False)
    scene.write(topic, range(5, 10))
    consume(there, topic, 10, timeout=70)
    scene.stand(group, topic, 3)
    scene.ok("failover", "execute", "--group", group, "--execute")
    assert read_on(there, group, topic, 4) == [b"3", b"4", b"5", b"6"]
    assert stands(there, group, topic) != stands(here, group, topic)
    scene.ok("failback", "execute", "--group", group, "--execute")
    assert read_on(here, group, topic, 3) == [b"7", b"8", b"9"]
    assert "further there" in scene.refused("failback", "execute", "--group", group, "--execute")


@contextmanager
def _rules(cluster: Cluster, *rules: AclBinding) -> Iterator[None]:
    """Access rules that are there for a while."""

    async def delete() -> None:
        async with asking(cluster) as admin:
            assert await admin.delete_acls(rules) == {}

    for rule in rules:
        allow(cluster, rule)
    try:
        yield
    finally:
        asyncio.run(delete())
