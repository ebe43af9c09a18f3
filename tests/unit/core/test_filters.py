"""Behaviours section 2.8: filters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from structlog.testing import capture_logs

from mm2.core.filters import (
    ConfigPropertyFilter,
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    GroupFilter,
    NamePatterns,
    TopicFilter,
    build_config_property_filter,
    build_group_filter,
    build_topic_filter,
)
from mm2.core.lists import parse_list
from mm2.core.model import GroupId, TopicName
from mm2.core.plugin import Plugin
from mm2.errors import ConfigError


class OwnTopicFilter(TopicFilter):
    def configure(self, properties: Mapping[str, str]) -> None:
        self.wanted = properties["wanted"]

    def should_replicate_topic(self, topic: TopicName) -> bool:
        return topic == self.wanted


class OwnGroupFilter(GroupFilter):
    def should_replicate_group(self, group: GroupId) -> bool:
        return group == "mine"


class OwnPropertyFilter(ConfigPropertyFilter):
    def should_replicate_config_property(self, name: str) -> bool:
        return name == "mine"


def accepts(topic: str, **lists: str) -> bool:
    properties = {key.replace("_", "."): value for key, value in lists.items()}
    return build_topic_filter(properties).should_replicate_topic(TopicName(topic))


def test_a_list_matches_whole_names() -> None:
    """C087, C088, C091."""
    assert accepts("topic1", topics="topic1, topic2")
    assert accepts("topic2", topics="topic1, topic2")
    assert not accepts("topic3", topics="topic1, topic2")
    assert not accepts("topic12", topics="topic1, topic2")
    assert not accepts("Topic1", topics="topic1")


@pytest.mark.parametrize("topic", ["", "topic1"])
def test_an_empty_list_accepts_nothing(topic: str) -> None:
    """C089."""
    assert not accepts(topic, topics="")


def test_excludes_win() -> None:
    """C090, C092."""
    assert accepts("a", topics=".*")
    assert not accepts("a", topics=".*", topics_exclude="a|b")


def test_a_flag_holds_for_the_rest_of_the_joined_list() -> None:
    """C446."""
    assert accepts("B", topics="a,(?i)b,c")
    assert accepts("C", topics="a,(?i)b,c")
    assert not accepts("A", topics="a,(?i)b,c")


@pytest.mark.parametrize(
    "topic",
    [
        "foo.internal",
        "connect-offsets-internal",
        "mm2foo",
        "mm2-offset-syncs_B_internal",
        "A.checkpoints.internal",
        "A.mm2-configs.B.internal",
        "heartbeats",
    ],
)
def test_default_topic_filter_accepts(topic: str) -> None:
    """C460."""
    assert accepts(topic)


@pytest.mark.parametrize("topic", ["mm2-offsets.A.internal", "mm2.internal", "x.replica", "__x"])
def test_default_topic_filter_rejects(topic: str) -> None:
    """C460."""
    assert not accepts(topic)


def test_groups_have_lists_of_their_own() -> None:
    """C093, C094."""
    chosen = build_group_filter({"groups": "group1"})
    assert chosen.should_replicate_group(GroupId("group1"))
    assert not chosen.should_replicate_group(GroupId("group2"))
    default = build_group_filter({})
    assert default.should_replicate_group(GroupId("group2"))
    for group in ("console-consumer-1", "connect-a", "__mm2-A->B"):
        assert not default.should_replicate_group(GroupId(group))


def test_filters_that_were_never_configured_accept_nothing() -> None:
    """C092, C094."""
    assert not DefaultTopicFilter().should_replicate_topic(TopicName("a"))
    assert not DefaultGroupFilter().should_replicate_group(GroupId("a"))


@pytest.mark.parametrize(
    "chosen", [DefaultConfigPropertyFilter(), build_config_property_filter({})]
)
def test_default_property_filter(chosen: ConfigPropertyFilter) -> None:
    """C096, C461, C470; C489: as Java, which means to exclude the last but one, and does not."""
    assert not chosen.should_replicate_config_property("min.insync.replicas")
    assert not chosen.should_replicate_config_property("minXinsyncYreplicas")
    assert not chosen.should_replicate_config_property("log.message.timestamp.after.max.ms")
    assert chosen.should_replicate_config_property("message.timestamp.after.max.ms")
    assert not chosen.should_replicate_source_default("any")


def test_an_own_exclude_list_replaces_the_default() -> None:
    """C095."""
    chosen = build_config_property_filter({"config.properties.exclude": "prop2"})
    assert chosen.should_replicate_config_property("prop1")
    assert not chosen.should_replicate_config_property("prop2")
    assert chosen.should_replicate_config_property("min.insync.replicas")


@pytest.mark.parametrize(
    ("value", "copied"), [("source", True), (" source ", True), ("Source", False), ("", False)]
)
def test_source_defaults_are_copied_on_demand(value: str, *, copied: bool) -> None:
    """C096; blanks around the value do not count, as in every text of a Kafka configuration."""
    chosen = build_config_property_filter({"use.defaults.from": value})
    assert chosen.should_replicate_source_default("any") == copied


def test_the_users_own_filters_get_all_properties() -> None:
    """C097."""
    topics = build_topic_filter(
        {"topic.filter.class": f"{__name__}:OwnTopicFilter", "wanted": "this"}
    )
    assert topics.should_replicate_topic(TopicName("this"))
    groups = build_group_filter({"group.filter.class": f"{__name__}:OwnGroupFilter"})
    assert groups.should_replicate_group(GroupId("mine"))
    configs = build_config_property_filter(
        {"config.property.filter.class": f"{__name__}:OwnPropertyFilter"}
    )
    assert configs.should_replicate_config_property("mine")
    assert not configs.should_replicate_source_default("mine")


@pytest.mark.parametrize(
    ("key", "build"),
    [
        ("topic.filter.class", build_topic_filter),
        ("group.filter.class", build_group_filter),
        ("config.property.filter.class", build_config_property_filter),
    ],
)
def test_a_class_of_another_kind_is_a_config_error(
    key: str, build: Callable[[Mapping[str, str]], Plugin]
) -> None:
    with pytest.raises(ConfigError, match=f"for {key}: it does not extend"):
        build({key: "mm2.core.policy:DefaultReplicationPolicy"})


def test_javas_class_names_stand_for_ours() -> None:
    name = "org.apache.kafka.connect.mirror.DefaultTopicFilter"
    assert isinstance(build_topic_filter({"topic.filter.class": name}), DefaultTopicFilter)


def test_a_bad_pattern_is_a_config_error_that_names_the_key() -> None:
    """C446."""
    with pytest.raises(ConfigError, match="Dangling meta character") as caught:
        build_topic_filter({"topics": "a,*"})
    assert caught.value.key == "topics"
    assert caught.value.value == "a,*"


@pytest.mark.parametrize(
    ("text", "items"),
    [("", ()), (" \t", ()), ("a", ("a",)), (" a ,\tb\n", ("a", "b")), ("a,b,a", ("a", "b"))],
)
def test_lists_are_split_as_kafka_does(text: str, items: tuple[str, ...]) -> None:
    """C454, C492."""
    assert parse_list("topics", text) == items


@pytest.mark.parametrize("text", ["a,", ",", "a,,b", ", a"])
def test_an_empty_item_is_a_config_error(text: str) -> None:
    """C454."""
    message = "Configuration 'topics' values must not be empty."
    with pytest.raises(ConfigError, match=message):
        build_topic_filter({"topics": text})


SLOW = "(a|aa)+"
HOSTILE = TopicName("a" * 60 + "!")


def test_a_name_whose_match_takes_too_long_is_not_mirrored_and_told_once() -> None:
    chosen = build_topic_filter({"topics": f"{SLOW}, orders"})
    with capture_logs() as logs:
        accepted = [
            name
            for name in ("aaa", HOSTILE, "orders", HOSTILE)
            if chosen.should_replicate_topic(TopicName(name))
        ]
    assert accepted == ["aaa", "orders"]
    (event,) = logs
    assert (event["event"], event["name"], event["counts_as"]) == (
        "pattern.timed_out",
        HOSTILE,
        "no match",
    )
    for part in ("topics", SLOW, HOSTILE):
        assert part in event["error"]


def test_a_name_that_an_exclude_takes_too_long_for_is_excluded() -> None:
    """Else whoever names a topic copies what the user has excluded."""
    chosen = build_topic_filter({"topics": ".*", "topics.exclude": SLOW})
    groups = build_group_filter({"groups": ".*", "groups.exclude": SLOW})
    properties = build_config_property_filter({"config.properties.exclude": SLOW})
    with capture_logs() as logs:
        assert not chosen.should_replicate_topic(HOSTILE)
        assert not groups.should_replicate_group(GroupId(HOSTILE))
        assert not properties.should_replicate_config_property(HOSTILE)
    assert [each["counts_as"] for each in logs] == ["a match"] * 3


def test_after_some_names_a_slow_pattern_is_not_tried_with_others() -> None:
    """Ten thousand names would take hours otherwise; what was decided before stays so."""
    patterns = NamePatterns([SLOW, "orders"], "groups")
    assert "orders" in patterns
    with capture_logs() as logs:
        found = [number for number in range(10_000) if f"{HOSTILE}{number}" in patterns]
    assert found == []
    assert [each["event"] for each in logs] == ["pattern.timed_out"] * 10
    assert [each["tried_with_others"] for each in logs] == [True] * 9 + [False]
    assert "orders" in patterns
    assert "aaa" not in patterns
