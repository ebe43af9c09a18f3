"""Behaviours section 4: what topic names tell of other clusters (``MirrorClientTest``)."""

from __future__ import annotations

import pytest

from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import DefaultReplicationPolicy, IdentityReplicationPolicy
from mm2.core.remote_topics import (
    checkpoint_topics,
    count_hops,
    heartbeat_topics,
    remote_topics,
    replication_hops,
    sources_of,
    upstream_clusters,
)

DEFAULT = DefaultReplicationPolicy()
CHAINED = (
    "topic1",
    "topic2",
    "heartbeats",
    "source1.heartbeats",
    "source1.source2.heartbeats",
    "source3.source4.source5.heartbeats",
)


def names(*topics: str) -> list[TopicName]:
    return [TopicName(topic) for topic in topics]


def identity(source: str) -> IdentityReplicationPolicy:
    policy = IdentityReplicationPolicy()
    policy.configure({"source.cluster.alias": source})
    return policy


@pytest.mark.parametrize(
    "topic", ["heartbeats", "source1.heartbeats", "source2.source1.heartbeats"]
)
def test_own_and_copied_heartbeats_are_heartbeats(topic: str) -> None:
    """C130."""
    assert heartbeat_topics(DEFAULT, names(topic)) == {topic}


@pytest.mark.parametrize(
    "topic", ["heartbeats!", "!heartbeats", "source1heartbeats", "source1-heartbeats"]
)
def test_names_that_only_resemble_heartbeats_are_none(topic: str) -> None:
    """C130."""
    assert heartbeat_topics(DEFAULT, names(topic)) == set()


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("source1.checkpoints.internal", True),
        ("checkpoints.internal", False),
        ("checkpoints-internal", False),
        ("checkpoints.internal!", False),
        ("!checkpoints.internal", False),
        ("source1checkpointsinternal", False),
    ],
)
def test_checkpoints_are_told_by_their_name(topic: str, *, expected: bool) -> None:
    """C131."""
    assert checkpoint_topics(DEFAULT, names(topic)) == ({topic} if expected else set())


@pytest.mark.parametrize(
    ("topic", "source", "hops"),
    [
        ("topic", "source", -1),
        ("source", "source", -1),
        ("sourcetopic", "source", -1),
        ("source1.topic", "source2", -1),
        ("source1.topic", "source1", 1),
        ("source2.source1.topic", "source2", 1),
        ("source2.source1.topic", "source1", 2),
        ("source3.source2.source1.topic", "source4", -1),
        ("source3.source2.source1.topic", "source1", 3),
    ],
)
def test_hops_are_counted_from_the_nearest_cluster(topic: str, source: str, hops: int) -> None:
    """C132."""
    assert count_hops(DEFAULT, TopicName(topic), ClusterAlias(source)) == hops


def test_a_policy_that_always_names_the_same_source_does_not_lead_in_circles() -> None:
    """C133."""
    policy = identity("primary")
    assert list(sources_of(policy, TopicName("topic"))) == ["primary"]
    assert count_hops(policy, TopicName("topic"), ClusterAlias("primary")) == 1
    assert count_hops(policy, TopicName("topic"), ClusterAlias("other")) == -1


def test_heartbeat_topics_include_the_clusters_own() -> None:
    """C134."""
    beats = ["heartbeats", "source1.heartbeats", "source2.source1.heartbeats", "source3.heartbeats"]
    assert heartbeat_topics(DEFAULT, names("topic1", "topic2", *beats)) == set(beats)


def test_checkpoint_topics_need_an_alias() -> None:
    """C135."""
    topics = [
        "source1.checkpoints.internal",
        "source2.source1.checkpoints.internal",
        "source3.checkpoints.internal",
    ]
    found = checkpoint_topics(DEFAULT, names("topic1", "checkpoints.internal", *topics))
    assert found == set(topics)


@pytest.mark.parametrize(
    ("source", "hops"), [("source1", 1), ("source2", 2), ("source3", 1), ("source4", -1)]
)
def test_the_shortest_path_of_heartbeats_counts(source: str, hops: int) -> None:
    """C136."""
    topics = names(
        "topic1",
        "topic2",
        "heartbeats",
        "source1.heartbeats",
        "source1.source2.heartbeats",
        "source3.heartbeats",
        "source3.source2.source1.heartbeats",
    )
    assert replication_hops(DEFAULT, topics, ClusterAlias(source)) == hops


def test_every_alias_in_a_heartbeats_topic_is_upstream() -> None:
    """C137."""
    expected = {"source1", "source2", "source3", "source4", "source5"}
    assert upstream_clusters(DEFAULT, names(*CHAINED)) == expected


def test_the_identity_policy_finds_the_same_upstream_clusters_and_not_its_own_alias() -> None:
    """C138."""
    expected = {"source1", "source2", "source3", "source4", "source5"}
    assert upstream_clusters(identity("source"), names(*CHAINED)) == expected


REMOTE = ("source1.topic4", "source1.source2.topic5", "source3.source4.source5.topic6")


def test_topics_with_a_source_are_remote() -> None:
    """C139."""
    local = names("topic1", "topic2", "topic3", "heartbeats", "backup")
    assert remote_topics(DEFAULT, [*local, *names(*REMOTE)]) == set(REMOTE)


def test_a_policy_with_another_separator_finds_its_own_names() -> None:
    """C140."""
    policy = DefaultReplicationPolicy()
    policy.configure({"replication.policy.separator": "__"})
    remote = [name.replace(".", "__") for name in REMOTE]
    assert remote_topics(policy, names("topic1", *remote)) == set(remote)


def test_under_the_identity_policy_all_but_own_heartbeats_are_remote() -> None:
    """C141."""
    policy = identity("primary")
    topics = names("topic1", "topic2", "heartbeats", "backup.heartbeats")
    assert remote_topics(policy, topics) == {"topic1", "topic2", "backup.heartbeats"}


def test_remote_topics_can_be_restricted_to_what_came_from_one_cluster_last() -> None:
    """C142."""
    topics = names(
        *REMOTE,
        "source1.heartbeats",
        "source1.checkpoints.internal",
        "mm2-offsets.source1.internal",
    )
    assert remote_topics(DEFAULT, topics, ClusterAlias("source1")) == {
        "source1.topic4",
        "source1.source2.topic5",
        "source1.heartbeats",
    }
    assert remote_topics(DEFAULT, topics, ClusterAlias("source2")) == set()
