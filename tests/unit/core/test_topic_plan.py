"""Behaviours 5.3 and 5.5: what must change on the target."""

from __future__ import annotations

from mm2.core.filters import build_config_property_filter
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import DefaultReplicationPolicy
from mm2.core.topics.remote_configs import (
    AlterConfig,
    ConfigEntry,
    ConfigOperation,
    ConfigSource,
    config_alterations,
    creation_configs,
)
from mm2.core.topics.topic_plan import (
    CreateTopic,
    GrowTopic,
    TopicDescription,
    TopicPlan,
    plan_topics,
)

SOURCE = ClusterAlias("source")
POLICY = DefaultReplicationPolicy()
FILTER = build_config_property_filter({})
WITH_DEFAULTS = build_config_property_filter({"use.defaults.from": "source"})
REMOTE = TopicName("source.t")
SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE


def topic(name: str, partitions: int = 1) -> TopicDescription:
    return TopicDescription(TopicName(name), partitions)


def plan(
    source: list[TopicDescription],
    target: list[TopicDescription],
    configs: dict[TopicName, list[ConfigEntry]] | None = None,
) -> TopicPlan:
    return plan_topics(
        source,
        target,
        policy=POLICY,
        alias=SOURCE,
        configs=configs or {},
        property_filter=FILTER,
        replication_factor=2,
    )


def test_missing_topics_are_created_with_the_sources_partitions_and_configs() -> None:
    """C163, C168, C169, C171."""
    entries = [ConfigEntry("name-1", "value-1"), ConfigEntry("min.insync.replicas", "2")]
    found = plan([topic("b"), topic("a", 3)], [topic("a", 3)], {TopicName("a"): entries})
    name = TopicName("source.a")
    assert found.create == (
        CreateTopic(name=name, partitions=3, replication_factor=2, configs={"name-1": "value-1"}),
        CreateTopic(name=TopicName("source.b"), partitions=1, replication_factor=2),
    )
    assert found.grow == ()
    assert not found.is_empty


def test_topics_grow_and_never_shrink() -> None:
    """C166, C168."""
    existing = [topic("source.a", 2), topic("source.b", 5)]
    found = plan([topic("a", 4), topic("b", 4)], existing)
    assert found == TopicPlan(grow=(GrowTopic(name=TopicName("source.a"), partitions=4),))
    assert not found.is_empty


def test_a_new_topic_can_have_as_many_replicas_as_its_source() -> None:
    """Java's -1 is the brokers' default (C169); users ask for the source's (C414)."""
    found = plan_topics(
        [TopicDescription(TopicName("a"), 1, 3), TopicDescription(TopicName("b"), 1, 5)],
        [],
        policy=POLICY,
        alias=SOURCE,
        configs={},
        property_filter=FILTER,
        replication_factor=None,
    )
    assert [topic.replication_factor for topic in found.create] == [3, 5]


def test_nothing_is_planned_when_all_is_there() -> None:
    """C163, C164."""
    assert plan([topic("a")], [topic("source.a"), topic("source.gone")]).is_empty


ENTRIES = [
    ConfigEntry("name-1", "value-1"),
    ConfigEntry("name-2", "value-2", ConfigSource.DEFAULT),
    ConfigEntry("min.insync.replicas", "2"),
    ConfigEntry("static", "1", ConfigSource.STATIC_BROKER),
    ConfigEntry("dynamic", "1", ConfigSource.DYNAMIC_BROKER),
    ConfigEntry("fixed", "1", read_only=True),
    ConfigEntry("secret", None, sensitive=True),
]


def test_new_topics_take_over_what_is_not_a_default() -> None:
    """C176, C178, C181."""
    assert creation_configs(ENTRIES, FILTER) == {"name-1": "value-1", "dynamic": "1"}


def test_new_topics_take_over_the_sources_defaults_on_demand() -> None:
    """C179."""
    found = creation_configs(ENTRIES, WITH_DEFAULTS)
    assert found == {"name-1": "value-1", "name-2": "value-2", "dynamic": "1"}


def test_a_property_without_a_value_is_left_out_of_a_creation() -> None:
    assert creation_configs([ConfigEntry("name-1", None)], FILTER) == {}


def test_remote_topics_follow_and_fall_back_to_their_own_defaults() -> None:
    """C177, C180, C181."""
    assert config_alterations(REMOTE, ENTRIES, FILTER) == (
        AlterConfig(REMOTE, "name-1", SET, "value-1"),
        AlterConfig(REMOTE, "name-2", DELETE),
        AlterConfig(REMOTE, "dynamic", SET, "1"),
    )


def test_defaults_of_the_source_are_set_on_demand() -> None:
    """C180."""
    found = config_alterations(REMOTE, ENTRIES[:2], WITH_DEFAULTS)
    assert [(each.name, each.operation) for each in found] == [("name-1", SET), ("name-2", SET)]


def test_alterations_that_change_nothing_are_left_out_if_the_target_is_known() -> None:
    """C182."""
    current = [
        ConfigEntry("name-1", "value-1"),
        ConfigEntry("name-2", "value-2", ConfigSource.DEFAULT),
        ConfigEntry("dynamic", "1", ConfigSource.DYNAMIC_BROKER),
    ]
    found = config_alterations(REMOTE, ENTRIES, FILTER, current)
    assert found == (AlterConfig(REMOTE, "dynamic", SET, "1"),)
    by_hand = [ConfigEntry("name-1", "other"), ConfigEntry("name-2", "other")]
    found = config_alterations(REMOTE, ENTRIES[:2], FILTER, by_hand)
    assert [(each.name, each.operation) for each in found] == [("name-1", SET), ("name-2", DELETE)]
