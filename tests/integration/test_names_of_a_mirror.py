"""Whole mirrors with other names than the default ones: policies, aliases, and a chain of three."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mm2.client import MirrorClient
from mm2.core.model import ClusterAlias
from mm2.core.topics.acls import AclOperation
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually, eventually_async
from tests.support.groups import group_offsets
from tests.support.mirror import Mirror, properties
from tests.support.records import Sample, commit_group, committed, create_topic, produce
from tests.support.taskless import alices_rule
from tests.support.topics import allow, partition_counts, settings_of, topic_acls

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.mark.parametrize("policy", ["IdentityReplicationPolicy", "LegacyReplicationPolicy"])
def test_where_names_stay_records_settings_rights_and_groups_arrive(
    policy: str, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source, target = f"S{unique[-6:]}", f"T{unique[-6:]}"
    create_topic(cluster_a.bootstrap, unique, 1, {"retention.bytes": "123456"})
    rule = alices_rule(unique, AclOperation.READ)
    allow(cluster_a, rule)
    text = properties(
        {source: cluster_a.bootstrap, target: cluster_b.bootstrap},
        {
            f"{source}->{target}.enabled": "true",
            "topics": unique,
            "groups": unique,
            "replication.policy.class": policy,
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
            "sync.topic.acls.enabled": "true",
            "sync.topic.acls.interval.seconds": "1",
        },
    )
    with Mirror(tmp_path, text) as mirror:
        produce(cluster_a.bootstrap, unique, [Sample(value=b"1"), Sample(value=b"2")])
        commit_group(cluster_a.bootstrap, unique, {(unique, 0): 1})
        eventually(lambda: _values(cluster_b, unique), until=lambda found: found == [b"1", b"2"])
        assert settings_of(cluster_b, unique)["retention.bytes"] == "123456"
        eventually(lambda: rule in topic_acls(cluster_b))
        eventually(lambda: group_offsets(cluster_b.bootstrap, unique) == {(unique, 0): 1})
        beats = f"{source}.heartbeats"
        eventually(lambda: committed(cluster_b.bootstrap, beats), until=lambda found: found != [])
        assert mirror.stop() == 0
    assert _values(cluster_a, unique) == [b"1", b"2"], "nothing came back"


@pytest.mark.parametrize(
    "alias", [pytest.param("2nd-DC_west", marks=pytest.mark.thorough), "eu.west"]
)
def test_an_alias_of_every_character_that_topics_may_have_is_mirrored_both_ways(
    alias: str, cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    odd, plain = f"{alias}{unique[-4:]}", f"P{unique[-4:]}"
    create_topic(cluster_a.bootstrap, unique)
    create_topic(cluster_b.bootstrap, unique)
    text = properties(
        {odd: cluster_a.bootstrap, plain: cluster_b.bootstrap},
        {
            f"{odd}->{plain}.enabled": "true",
            f"{plain}->{odd}.enabled": "true",
            # What came over is not matched here, so that a circle would show.
            "topics": f".*{unique}",
            "groups": unique,
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
        },
    )
    with Mirror(tmp_path, text) as mirror:
        produce(cluster_a.bootstrap, unique, [Sample(value=b"odd")])
        produce(cluster_b.bootstrap, unique, [Sample(value=b"plain")])
        commit_group(cluster_a.bootstrap, unique, {(unique, 0): 1})
        there, back = f"{odd}.{unique}", f"{plain}.{unique}"
        eventually(lambda: _values(cluster_b, there), until=lambda found: found == [b"odd"])
        eventually(lambda: _values(cluster_a, back), until=lambda found: found == [b"plain"])
        eventually(lambda: group_offsets(cluster_b.bootstrap, unique).get((there, 0)) == 1)
        assert mirror.stop() == 0
    topics = {*partition_counts(cluster_a), *partition_counts(cluster_b)}
    assert {topic for topic in topics if topic.endswith(unique)} == {unique, there, back}


def test_heartbeats_tell_of_both_clusters_at_the_end_of_a_chain_of_three(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    first, second, third = (f"{word}{unique[-6:]}" for word in ("X", "Y", "Z"))
    with KafkaCluster("Z") as last:
        text = properties(
            {first: cluster_a.bootstrap, second: cluster_b.bootstrap, third: last.bootstrap},
            {
                f"{first}->{second}.enabled": "true",
                f"{second}->{third}.enabled": "true",
                "topics": unique,
                "emit.heartbeats.interval.seconds": "1",
                "heartbeats.topic.retention.ms": "86400003",
            },
        )
        with Mirror(tmp_path, text) as mirror:
            asyncio.run(_is_told_of_both(last, first, second))
            assert settings_of(last, "heartbeats")["retention.ms"] == "86400003"
            far = f"{second}.{first}.heartbeats"
            eventually(lambda: committed(last.bootstrap, far), until=lambda found: found != [])
            assert mirror.stop() == 0


def _values(cluster: Cluster, topic: str) -> list[bytes | None]:
    return [record.value for record in committed(cluster.bootstrap, topic)]


async def _is_told_of_both(last: Cluster, first: str, second: str) -> None:
    """As a program that asks the end of the chain would see it."""
    client = MirrorClient({"bootstrap.servers": last.bootstrap})
    try:
        wanted = {ClusterAlias(first), ClusterAlias(second)}
        await eventually_async(client.upstream_clusters, until=lambda found: wanted <= found)
        assert await client.replication_hops(first) == len(wanted)
        assert await client.replication_hops(second) == 1
    finally:
        await client.close()
