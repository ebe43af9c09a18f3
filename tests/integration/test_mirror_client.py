"""``mm2.client`` asks real clusters (behaviours section 4)."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import timedelta

import pytest

from mm2.client import MirrorClient, blocking, remote_cluster_utils
from mm2.core.connect.offset_records import SourcePartition, encode_key, encode_offset
from mm2.core.internal_records import Checkpoint, Heartbeat
from mm2.core.java_regex import JavaPattern
from mm2.core.model import SOURCE_CONNECTOR, ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.demo.broker_settings import free_ports
from mm2.errors import InvalidArgument, Unavailable
from mm2.kafka.client_errors import UnknownTopic
from tests.support.cluster import Cluster
from tests.support.records import Sample, create_topic, produce, produce_transaction

pytestmark = pytest.mark.broker


def _where(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), partition)


def _sample(record: Checkpoint | Heartbeat, timestamp_ms: int | None = None) -> Sample:
    return Sample(key=record.key(), value=record.value(), timestamp_ms=timestamp_ms)


def _checkpoint(group: str, topic: str, partition: int, downstream: int) -> Checkpoint:
    return Checkpoint(GroupId(group), _where(topic, partition), 100, downstream, f"m{downstream}")


def _beat(source: str, target: str, timestamp_ms: int) -> Sample:
    beat = Heartbeat(ClusterAlias(source), ClusterAlias(target), timestamp_ms)
    return _sample(beat, timestamp_ms)


@pytest.fixture
def alias(unique: str) -> str:
    """Of a cluster upstream that no other test knows."""
    return f"S{unique[-8:]}"


@pytest.fixture
def client(cluster_b: Cluster) -> MirrorClient:
    return MirrorClient({"bootstrap.servers": cluster_b.bootstrap})


async def test_topics_tell_of_the_clusters_upstream(
    cluster_b: Cluster, client: MirrorClient, alias: str
) -> None:
    """C134-C142 against a real list of topics."""
    far = f"far-{alias}"
    topics = {
        "beats": f"{alias}.heartbeats",
        "far beats": f"{alias}.{far}.heartbeats",
        "copy": f"{alias}.orders",
        "far copy": f"{alias}.{far}.orders",
        "checkpoints": f"{alias}.checkpoints.internal",
    }
    for name in topics.values():
        create_topic(cluster_b.bootstrap, name)
    async with client:
        assert await client.replication_hops(alias) == 1
        assert await client.replication_hops(far) == 2
        assert await client.replication_hops("nobody") == -1
        assert {topics["beats"], topics["far beats"]} <= await client.heartbeat_topics()
        assert topics["checkpoints"] in await client.checkpoint_topics()
        assert {alias, far} <= await client.upstream_clusters()
        copies = {name for key, name in topics.items() if key != "checkpoints"}
        assert await client.remote_topics(alias) == copies
        assert copies <= await client.remote_topics()
        assert await client.remote_topics(far) == set()


@pytest.fixture
def checkpoints(cluster_b: Cluster, alias: str) -> str:
    """A topic with checkpoints of two groups, one gone, and what is none, as Java may write it."""
    topic = f"{alias}.checkpoints.internal"
    create_topic(cluster_b.bootstrap, topic, configs={"cleanup.policy": "compact"})
    old, remote = "gone", f"{alias}.t"
    written = [
        _sample(_checkpoint("g0", remote, 0, 1)),
        _sample(_checkpoint("g0", remote, 0, 2)),
        Sample(key=b"?", value=b"?"),
        _sample(_checkpoint("g0", remote, 1, 3)),
        _sample(_checkpoint(old, remote, 1, 9)),
        Sample(key=_checkpoint(old, remote, 1, 9).key(), value=None),
    ]
    produce(cluster_b.bootstrap, topic, written)
    # Ends with a commit marker, which no reader gets to see.
    produce_transaction(
        cluster_b.bootstrap, topic, [_sample(_checkpoint("g1", remote, 1, 4))], commit=True
    )
    return remote


async def test_offsets_of_a_group_or_of_a_pattern_of_groups_are_translated(
    cluster_b: Cluster, client: MirrorClient, alias: str, checkpoints: str
) -> None:
    """C143, C144, C146, C467, C468."""
    g0 = {
        _where(checkpoints, 0): CommittedOffset(2, "m2"),
        _where(checkpoints, 1): CommittedOffset(3, "m3"),
    }
    g1 = {_where(checkpoints, 1): CommittedOffset(4, "m4")}
    async with client:
        assert await client.remote_consumer_offsets("g0", alias) == g0
        assert await client.remote_consumer_offsets("unknown", alias) == {}
        assert await client.remote_consumer_offsets(JavaPattern(".*"), alias) == {
            "g0": g0,
            "g1": g1,
        }
        assert await client.remote_consumer_offsets(re.compile("g1|x"), alias) == {"g1": g1}
        assert await client.remote_consumer_offsets(re.compile("g"), alias) == {}, "not the whole"
    properties = {"bootstrap.servers": cluster_b.bootstrap}
    utils = remote_cluster_utils
    assert await utils.translate_offsets(properties, alias, "g0") == g0
    assert await utils.translate_offsets(properties, alias, JavaPattern("g1")) == {"g1": g1}


async def test_checkpoints_that_are_not_there_are_an_error_that_names_those_that_are(
    client: MirrorClient, alias: str, checkpoints: str
) -> None:
    async with client:
        with pytest.raises(UnknownTopic, match=rf"no topic nobody\.checkpoints.*{alias}\.check"):
            await client.remote_consumer_offsets("g0", "nobody")


async def test_arguments_that_are_missing_are_named(client: MirrorClient) -> None:
    """C466."""
    second = timedelta(seconds=1)
    for arguments, name in (
        ((None, "A", second), "group"),
        (("g", None, second), "remote_alias"),
        (("g", "A", None), "timeout"),
        (("g", "A", -second), "timeout"),
    ):
        with pytest.raises(InvalidArgument, match=name):
            await client.remote_consumer_offsets(*arguments)


async def test_a_cluster_that_is_away_is_an_error_that_names_it() -> None:
    """C145."""
    servers = f"127.0.0.1:{free_ports(1)[0]}"
    properties = {"bootstrap.servers": servers, "admin.default.api.timeout.ms": "3000"}
    async with MirrorClient(properties, alias="B") as client:
        with pytest.raises(Unavailable, match="cluster B: connect"):
            await client.replication_hops("A")


async def test_heartbeats_tell_which_clusters_live(
    cluster_b: Cluster, client: MirrorClient, alias: str
) -> None:
    """C318: a copied heartbeat proves the path that it came by."""
    living, dead = f"{alias}.heartbeats", f"{alias}x.{alias}y.heartbeats"
    now_ms = time.time_ns() // 1_000_000
    for topic in (living, dead):
        create_topic(cluster_b.bootstrap, topic)
    produce(cluster_b.bootstrap, living, [_beat("T", alias, now_ms - n) for n in (9000, 1000)])
    day_ms = 86_400_000
    produce(cluster_b.bootstrap, dead, [_beat("T", "y", now_ms - n * day_ms) for n in (3, 2)])
    hour = timedelta(hours=1)
    async with client:
        through = [alias, f"{alias}x"]
        seen = {
            each.topic: each for name in through for each in await client.heartbeats(upstream=name)
        }
        assert seen[TopicName(living)].path == (alias,)
        assert seen[TopicName(living)].age_ms(now_ms) == 1000
        assert seen[TopicName(dead)].path == (f"{alias}x", f"{alias}y")
        assert seen[TopicName(dead)].age_ms(now_ms) == 2 * day_ms, "the last one, however old"
        assert await client.is_reachable(alias, hour)
        assert not await client.is_reachable(f"{alias}x", hour)
        assert not await client.is_reachable(f"{alias}y", hour)
        assert await client.is_reachable(f"{alias}y", timedelta(days=3))
        assert not await client.is_reachable("nobody", hour)
        assert len(await client.heartbeats(None, upstream=alias)) == 1
        assert {living, dead} <= {each.topic for each in await client.heartbeats()}


async def test_lag_is_what_positions_have_not_reached(
    cluster_a: Cluster, cluster_b: Cluster, client: MirrorClient, unique: str, alias: str
) -> None:
    """C416: Java's positions are nowhere to be compared with the source's ends."""
    create_topic(cluster_a.bootstrap, unique, 3)
    samples = [Sample(value=b"v", partition=n % 3) for n in range(12)]
    produce(cluster_a.bootstrap, unique, samples)
    positions = f"mm2-offsets.{alias}.internal"
    create_topic(cluster_b.bootstrap, positions, 5)
    keys = [
        encode_key(SOURCE_CONNECTOR, SourcePartition(ClusterAlias(alias), TopicName(unique), n))
        for n in range(3)
    ]
    stored = [Sample(key=keys[0], value=encode_offset(1)), Sample(key=keys[1], value=None)]
    stored += [Sample(key=keys[2], value=encode_offset(n)) for n in (2, 3)]
    produce(cluster_b.bootstrap, positions, stored)
    async with client, MirrorClient({"bootstrap.servers": cluster_a.bootstrap}) as source:
        assert await client.lag(alias, source) == {_where(unique, 0): 2, _where(unique, 2): 0}


async def test_programs_without_an_event_loop_ask_the_same(
    cluster_b: Cluster, alias: str, checkpoints: str
) -> None:
    """C146."""
    properties = {"bootstrap.servers": cluster_b.bootstrap}
    g1 = {_where(checkpoints, 1): CommittedOffset(4, "m4")}

    def ask() -> None:
        with blocking.MirrorClient(properties) as client:
            assert client.replication_policy.heartbeats_topic() == "heartbeats"
            assert client.remote_consumer_offsets("g1", alias) == g1
            assert client.remote_consumer_offsets(JavaPattern("g1"), alias) == {"g1": g1}
            assert set(client.checkpoints(alias)) == {"g0", "g1"}
            topic = f"{alias}.checkpoints.internal"
            assert topic in client.checkpoint_topics()
            assert topic in client.topics()
            assert topic not in client.remote_topics(alias)
            assert client.replication_hops(alias) == -1
            assert alias not in client.upstream_clusters()
            assert alias not in " ".join(client.heartbeat_topics())
            assert not client.is_reachable(alias, timedelta(seconds=1))
            assert client.heartbeats(upstream=alias) == []
        assert blocking.translate_offsets(properties, alias, "g1") == g1
        assert blocking.translate_offsets(properties, alias, JavaPattern("g1")) == {"g1": g1}
        assert topic in blocking.checkpoint_topics(properties)
        assert blocking.replication_hops(properties, alias) == -1
        assert alias not in blocking.upstream_clusters(properties)
        assert alias not in " ".join(blocking.heartbeat_topics(properties))

    await asyncio.to_thread(ask)
