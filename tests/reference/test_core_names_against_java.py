"""Our policies and filters beside Java's own classes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.filters import (
    build_config_property_filter,
    build_group_filter,
    build_topic_filter,
)
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy, build_policy
from mm2.core.topics.cycle_detection import (
    count_hops,
    is_cycle,
    remote_topics,
    should_replicate_topic,
    upstream_clusters,
)
from mm2.core.translation.checkpoint_rules import downstream_partition
from mm2.errors import ConfigError
from tests.reference.core_java import Java, many, running_java

pytestmark = pytest.mark.reference


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    with running_java() as found:
        yield found


PARTS = ". A B C heartbeats checkpoints internal mm2 -offset-syncs _ __ x .. .internal"
NAMES = st.lists(st.sampled_from(PARTS.split()), max_size=7).map("".join)


@given(
    kind=st.sampled_from(["Default", "Identity"]),
    topics=st.lists(NAMES, min_size=1, max_size=12),
    properties=st.fixed_dictionaries(
        {},
        optional={
            "replication.policy.separator": st.sampled_from([".", "_", "__", "..", "", "x"]),
            "replication.policy.internal.topic.separator.enabled": st.sampled_from(
                ["true", "FALSE", "True", " true", "no", ""]
            ),
            "source.cluster.alias": st.sampled_from(["A", "B", "C"]),
        },
    ),
)
@many(300)
def test_policies_answer_as_javas(
    java: Java, kind: str, topics: list[str], properties: dict[str, str]
) -> None:
    name = f"{kind}ReplicationPolicy"
    question = {"class": name, "topics": topics, "properties": properties}
    answer = java.ask("policy", {**question, "source": "A", "target": "B"})
    policy = build_policy({**properties, "replication.policy.class": name})
    alias = ClusterAlias("A")
    assert answer["topics"] == [_about(policy, TopicName(topic)) for topic in topics]
    assert answer["heartbeats"] == policy.heartbeats_topic()
    assert answer["syncs"] == policy.offset_syncs_topic(alias)
    assert answer["checkpoints"] == policy.checkpoints_topic(alias)


def _about(policy: ReplicationPolicy, topic: TopicName) -> list[object]:
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    heartbeat_sources = upstream_clusters(_EveryTopicBeats(policy), [topic])
    return [
        policy.format_remote_topic(flow.source, topic),
        policy.topic_source(topic),
        policy.upstream_topic(topic),
        policy.original_topic(topic),
        policy.is_heartbeats_topic(topic),
        policy.is_checkpoints_topic(topic),
        policy.is_mm2_internal_topic(topic),
        policy.is_internal_topic(topic),
        is_cycle(policy, topic, flow.target),
        should_replicate_topic(
            topic,
            flow=flow,
            policy=policy,
            topic_filter=build_topic_filter({"topics": ""}),
            heartbeats_replication=True,
        ),
        count_hops(policy, topic, flow.source),
        sorted(heartbeat_sources),
        bool(remote_topics(policy, [topic])),
        str(downstream_partition(policy, flow, TopicPartition(topic, 1))),
    ]


class _EveryTopicBeats(ReplicationPolicy):
    """Another policy that takes every topic for heartbeats, so that all names are walked."""

    def __init__(self, policy: ReplicationPolicy) -> None:
        self.format_remote_topic = policy.format_remote_topic  # type: ignore[method-assign]  # delegates
        self.topic_source = policy.topic_source  # type: ignore[method-assign]  # delegates
        self.upstream_topic = policy.upstream_topic  # type: ignore[method-assign]  # delegates

    def format_remote_topic(self, source: ClusterAlias, topic: TopicName) -> TopicName:
        raise NotImplementedError

    def topic_source(self, topic: TopicName) -> ClusterAlias | None:
        raise NotImplementedError

    def upstream_topic(self, topic: TopicName) -> TopicName | None:
        raise NotImplementedError

    def is_heartbeats_topic(self, topic: TopicName) -> bool:
        del topic
        return True


FILTERED = (
    "a A b bb a.b __x x.replica mm2.internal connect-a minXinsyncYreplicas "
    "message.timestamp.after.max.ms "
)
LISTS = st.lists(
    st.sampled_from(["a", "b.*", " a", "a ", "", "(?i)A", ".*", "b|c", "\\Qa.b\\E", "[", "__.*"]),
    max_size=4,
).map(",".join)


@given(
    properties=st.fixed_dictionaries(
        {},
        optional={
            "topics": LISTS,
            "topics.exclude": LISTS,
            "groups": LISTS,
            "groups.exclude": LISTS,
            "config.properties.exclude": LISTS,
            "use.defaults.from": st.sampled_from(["source", "target", "Source", " source"]),
        },
    ),
    names=st.lists(st.sampled_from(FILTERED.split(" ")), min_size=1),
)
@many(300)
def test_filters_answer_as_javas(java: Java, properties: dict[str, str], names: list[str]) -> None:
    answer = java.ask("filter", {"properties": properties, "names": names})
    try:
        topics = build_topic_filter(properties)
        groups = build_group_filter(properties)
        configs = build_config_property_filter(properties)
    except ConfigError:
        assert "error" in answer
        return
    assert answer == [
        [
            topics.should_replicate_topic(TopicName(name)),
            groups.should_replicate_group(GroupId(name)),
            configs.should_replicate_config_property(name),
            configs.should_replicate_source_default(name),
        ]
        for name in names
    ]
