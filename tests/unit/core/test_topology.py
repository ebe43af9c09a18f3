"""What names tell about clusters: sections 4 and 5.2 of the behaviours."""

from __future__ import annotations

import pytest

from mm2.core.filters import DefaultTopicFilter, TopicFilter, build_topic_filter
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, build_policy
from mm2.core.topics.cycle_detection import (
    UNREACHABLE,
    checkpoint_topics,
    count_hops,
    heartbeat_topics,
    is_cycle,
    is_own_copy,
    remote_topics,
    replication_hops,
    should_replicate_topic,
    sources_of,
    upstream_clusters,
    way_of,
)

DEFAULT = DefaultReplicationPolicy()
IDENTITY = IdentityReplicationPolicy()
FLOW = SourceAndTarget(ClusterAlias("source"), ClusterAlias("target"))


def topics(*names: str) -> list[TopicName]:
    return [TopicName(name) for name in names]


def replicated(
    topic: str,
    *,
    policy: DefaultReplicationPolicy = DEFAULT,
    topic_filter: TopicFilter | None = None,
    heartbeats: bool = True,
) -> bool:
    return should_replicate_topic(
        TopicName(topic),
        flow=FLOW,
        policy=policy,
        topic_filter=topic_filter or build_topic_filter({}),
        heartbeats_replication=heartbeats,
    )


@pytest.mark.parametrize(
    ("topic", "beats"),
    [
        ("heartbeats", True),
        ("source1.heartbeats", True),
        ("source2.source1.heartbeats", True),
        ("heartbeats!", False),
        ("!heartbeats", False),
        ("source1heartbeats", False),
        ("source1-heartbeats", False),
    ],
)
def test_heartbeat_topics_are_told_by_their_origin(topic: str, *, beats: bool) -> None:
    """C130, C134."""
    assert heartbeat_topics(DEFAULT, topics(topic)) == ({topic} if beats else set())


def test_checkpoint_topics_are_told_by_their_name() -> None:
    """C131, C135."""
    wanted = topics("source1.checkpoints.internal", "source2.source1.checkpoints.internal")
    others = topics(
        "topic1",
        "checkpoints.internal",
        "checkpoints-internal",
        "checkpoints.internal!",
        "!checkpoints.internal",
        "source1checkpointsinternal",
        "x.checkpoints.internal!",
    )
    assert checkpoint_topics(DEFAULT, [*wanted, *others]) == set(wanted)


@pytest.mark.parametrize(
    ("topic", "source", "hops"),
    [
        ("topic", "source", UNREACHABLE),
        ("source", "source", UNREACHABLE),
        ("sourcetopic", "source", UNREACHABLE),
        ("source1.topic", "source2", UNREACHABLE),
        ("source3.source2.source1.topic", "source4", UNREACHABLE),
        ("source1.topic", "source1", 1),
        ("source2.source1.topic", "source1", 2),
        ("source3.source2.source1.topic", "source1", 3),
        ("a.a.b.topic", "b", UNREACHABLE),
    ],
)
def test_hops_are_counted_from_here_to_the_source(topic: str, source: str, hops: int) -> None:
    """C132, C133; a cluster that comes twice ends the walk."""
    assert count_hops(DEFAULT, TopicName(topic), ClusterAlias(source)) == hops


def test_hops_under_identity_end() -> None:
    """C133."""
    policy = build_policy(
        {"replication.policy.class": "IdentityReplicationPolicy", "source.cluster.alias": "A"}
    )
    assert list(sources_of(policy, TopicName("topic"))) == ["A"]
    assert count_hops(policy, TopicName("topic"), ClusterAlias("A")) == 1
    assert count_hops(policy, TopicName("topic"), ClusterAlias("B")) == UNREACHABLE


def test_replication_hops_take_the_shortest_way() -> None:
    """C136."""
    names = topics("heartbeats", "source1.heartbeats", "source1.source2.heartbeats")
    names += topics("source3.heartbeats", "source3.source2.source1.heartbeats")
    found = {
        source: replication_hops(DEFAULT, names, ClusterAlias(source))
        for source in ("source1", "source2", "source3", "source4")
    }
    assert found == {"source1": 1, "source2": 2, "source3": 1, "source4": UNREACHABLE}


@pytest.mark.parametrize("policy", [DEFAULT, IDENTITY])
def test_upstream_clusters_are_all_that_heartbeats_came_through(
    policy: DefaultReplicationPolicy,
) -> None:
    """C137, C138."""
    names = topics("topic1", "heartbeats", "source1.heartbeats", "source1.source2.heartbeats")
    names += topics("source3.source4.source5.heartbeats")
    assert upstream_clusters(policy, names) == {f"source{number}" for number in range(1, 6)}


def test_remote_topics_have_a_source_and_are_not_internal() -> None:
    """C139, C142."""
    names = topics("topic1", "source1.topic4", "source1.source2.topic5", "source3.heartbeats")
    names += topics("source1.checkpoints.internal", "mm2-offsets.source1.internal", "__x.y")
    assert remote_topics(DEFAULT, names) == set(names[1:4])
    assert remote_topics(DEFAULT, names, ClusterAlias("source1")) == set(names[1:3])
    assert remote_topics(DEFAULT, names, ClusterAlias("source2")) == set()


def test_remote_topics_follow_the_separator() -> None:
    """C140."""
    policy = build_policy({"replication.policy.separator": "__"})
    names = topics("topic1", "source1__topic4", "source1.topic5")
    assert remote_topics(policy, names) == {"source1__topic4"}


def test_under_identity_every_ordinary_topic_is_remote() -> None:
    """C141."""
    policy = build_policy(
        {"replication.policy.class": "IdentityReplicationPolicy", "source.cluster.alias": "A"}
    )
    names = topics("topic1", "heartbeats", "backup.heartbeats")
    assert remote_topics(policy, names) == {"topic1", "backup.heartbeats"}


@pytest.mark.parametrize(
    "topic",
    [
        "target.topic1",
        "target.source.topic1",
        "source.target.topic1",
        "target.source.target.topic1",
        "source.target.source.topic1",
    ],
)
def test_what_was_on_the_target_before_is_not_mirrored(topic: str) -> None:
    """C157, C158."""
    assert is_cycle(DEFAULT, TopicName(topic), FLOW.target)
    assert not replicated(topic)


@pytest.mark.parametrize("topic", ["eu.west.topic1", "source.eu.west.topic1"])
def test_an_alias_with_the_separator_in_it_is_recognised(topic: str) -> None:
    """Java finds no cluster of that name in the topic's, and mirrors it back once."""
    assert is_cycle(DEFAULT, TopicName(topic), ClusterAlias("eu.west"))
    assert not is_cycle(DEFAULT, TopicName(topic), ClusterAlias("eu.we"))


@pytest.mark.parametrize("topic", ["topic1", "source.topic1", "other.topic1"])
def test_what_was_not_on_the_target_is_mirrored(topic: str) -> None:
    """C157."""
    assert replicated(topic)


@pytest.mark.parametrize("topic", ["target.topic1", "source.target.topic1", "topic1"])
def test_identity_prevents_cycles_of_heartbeats_only(topic: str) -> None:
    """C159."""
    heartbeats = topic.replace("topic1", "heartbeats")
    assert replicated(topic, policy=IDENTITY)
    assert replicated(heartbeats, policy=IDENTITY) == ("target" not in topic)


def test_a_policy_without_upstream_topics_ends() -> None:
    """C160."""

    class NoUpstream(DefaultReplicationPolicy):
        def upstream_topic(self, topic: TopicName) -> TopicName | None:
            del topic
            return None

    assert not is_cycle(NoUpstream(), TopicName(".b"), FLOW.target)


@pytest.mark.parametrize("topic", ["heartbeats", "us-west.heartbeats"])
def test_heartbeats_are_mirrored_whatever_the_filter_says(topic: str) -> None:
    """C153-C156."""
    nothing = DefaultTopicFilter()
    assert replicated(topic, topic_filter=nothing)
    assert not replicated(topic, topic_filter=nothing, heartbeats=False)
    assert replicated(topic, heartbeats=False)


def test_copied_heartbeats_are_told_by_the_separator() -> None:
    """C154."""
    policy = DefaultReplicationPolicy()
    policy.configure({"replication.policy.separator": "_"})
    nothing = DefaultTopicFilter()
    assert replicated("heartbeats", policy=policy, topic_filter=nothing)
    assert not replicated("us-west.heartbeats", policy=policy, topic_filter=nothing)


@pytest.mark.parametrize("kind", ["configs", "offsets", "status", "control", "progress"])
@pytest.mark.parametrize("separator", [".", "_"])
def test_topics_of_herders_are_never_mirrored(kind: str, separator: str) -> None:
    """C490: Java forgets them when there are a separator and an exclude list of the user's own."""
    policy = build_policy({"replication.policy.separator": separator})
    assert not should_replicate_topic(
        TopicName(f"mm2-{kind}.A.internal"),
        flow=SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")),
        policy=policy,
        topic_filter=build_topic_filter({"topics": ".*", "topics.exclude": "none"}),
        heartbeats_replication=True,
    )


@pytest.mark.parametrize(
    ("policy", "topic", "loops"),
    [
        ("Default", "t", False),
        ("Default", "B.t", False),
        ("Default", "A.t", True),
        ("Default", "B.A.t", True),
        ("Identity", "t", True),
        ("Identity", "heartbeats", False),
        ("Identity", "A.heartbeats", True),
    ],
)
def test_a_copy_of_ones_own_is_known(policy: str, topic: str, *, loops: bool) -> None:
    """C418."""
    built = build_policy(
        {"replication.policy.class": f"{policy}ReplicationPolicy", "source.cluster.alias": "A"}
    )
    assert is_own_copy(built, TopicName(topic), ClusterAlias("A")) is loops


def test_internal_topics_are_never_mirrored() -> None:
    """C152, C469."""
    everything = build_topic_filter({"topics.exclude": ""})
    assert not replicated("__consumer_offsets", topic_filter=everything)
    assert not replicated("mm2-configs.A.internal", topic_filter=everything)
    assert replicated("app.internal", topic_filter=everything)


@pytest.mark.parametrize(
    ("topic", "way"),
    [
        ("heartbeats", ["here"]),
        ("a.heartbeats", ["a", "here"]),
        ("b.a.heartbeats", ["a", "b", "here"]),
    ],
)
def test_a_name_tells_the_clusters_on_the_way_here(topic: str, way: list[str]) -> None:
    """C318."""
    assert list(way_of(DEFAULT, TopicName(topic), ClusterAlias("here"))) == way
