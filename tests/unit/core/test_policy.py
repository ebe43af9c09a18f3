"""Behaviours section 3: what topics are called."""

from __future__ import annotations

import pytest

from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    LegacyReplicationPolicy,
    ReplicationPolicy,
    build_policy,
)
from mm2.errors import ConfigError

SEPARATOR = "replication.policy.separator"
SWITCH = "replication.policy.internal.topic.separator.enabled"


class ArrowPolicy(ReplicationPolicy):
    """A user's own policy: ``topic<-source``, configurable arrow, that otherwise inherits."""

    def __init__(self) -> None:
        self.arrow = "<-"

    def configure(self, properties: dict[str, str]) -> None:  # type: ignore[override]  # as users write
        self.arrow = properties.get("arrow", self.arrow)

    def format_remote_topic(self, source: ClusterAlias, topic: TopicName) -> TopicName:
        return TopicName(f"{topic}{self.arrow}{source}")

    def topic_source(self, topic: TopicName) -> ClusterAlias | None:
        _, arrow, source = topic.rpartition(self.arrow)
        return ClusterAlias(source) if arrow else None

    def upstream_topic(self, topic: TopicName) -> TopicName | None:
        upstream, arrow, _ = topic.rpartition(self.arrow)
        return TopicName(upstream) if arrow else None


class NoPolicy:
    """Can be imported and created, and is no policy."""


class NeedsArguments(ArrowPolicy):
    def __init__(self, argument: str) -> None:
        super().__init__()
        self.arrow = argument


class Circle(ArrowPolicy):
    def upstream_topic(self, topic: TopicName) -> TopicName | None:
        return TopicName("b" if topic == "a" else "a")


no_class = "a module's attribute that is no class"


@pytest.mark.parametrize(
    ("topic", "source", "upstream"),
    [
        ("a.b.c", "a", "b.c"),
        ("a..b", "a", ".b"),
        (".b", "", "b"),
        ("topic.", None, None),
        ("a..", None, None),
        (".", None, None),
        ("", None, None),
        ("topic", None, None),
    ],
)
def test_default_policy_splits_as_java_does(
    topic: str, source: str | None, upstream: str | None
) -> None:
    """C117-C119, C445."""
    policy = build_policy({})
    assert policy.topic_source(TopicName(topic)) == source
    assert policy.upstream_topic(TopicName(topic)) == upstream


def test_default_policy_prefixes_without_looking() -> None:
    """C117."""
    policy = build_policy({})
    assert policy.format_remote_topic(ClusterAlias("A"), TopicName("A.t")) == "A.A.t"


def test_an_empty_separator_makes_the_first_letter_the_source() -> None:
    policy = build_policy({SEPARATOR: ""})
    assert policy.topic_source(TopicName("ab")) == "a"
    assert policy.upstream_topic(TopicName("ab")) == "b"
    assert policy.topic_source(TopicName("a")) is None


def test_original_topic_unwraps_altogether() -> None:
    """C113."""
    policy = build_policy({})
    assert policy.original_topic(TopicName("a.b.c")) == "c"
    assert policy.original_topic(TopicName("c")) == "c"


def test_a_policy_that_leads_in_a_circle_ends() -> None:
    """C113."""
    assert Circle().original_topic(TopicName("a")) == "b"


@pytest.mark.parametrize(
    ("switch", "syncs", "checkpoints"),
    [
        ("false", "mm2-offset-syncs.CLUSTER.internal", "CLUSTER.checkpoints.internal"),
        ("true", "mm2-offset-syncs__CLUSTER__internal", "CLUSTER__checkpoints__internal"),
        ("TRUE", "mm2-offset-syncs__CLUSTER__internal", "CLUSTER__checkpoints__internal"),
        (" true", "mm2-offset-syncs.CLUSTER.internal", "CLUSTER.checkpoints.internal"),
    ],
)
def test_internal_names_follow_the_separator_if_switched_on(
    switch: str, syncs: str, checkpoints: str
) -> None:
    """C120-C123."""
    policy = build_policy({SEPARATOR: "__", SWITCH: switch})
    alias = ClusterAlias("CLUSTER")
    assert policy.offset_syncs_topic(alias) == syncs
    assert policy.checkpoints_topic(alias) == checkpoints
    assert policy.heartbeats_topic() == "heartbeats"


def test_the_switch_is_not_read_without_a_separator_and_configure_is_no_reset() -> None:
    """C120."""
    policy = DefaultReplicationPolicy()
    policy.configure({SEPARATOR: "__"})
    policy.configure({SWITCH: "false"})
    assert policy.checkpoints_topic(ClusterAlias("A")) == "A__checkpoints__internal"


@pytest.mark.parametrize(
    "topic",
    [
        "__consumer_offsets",
        ".hiddentopic",
        "mm2-offsets.CLUSTER.internal",
        "mm2.internal",
        "A.checkpoints.internal",
        "B.A.checkpoints.internal",
        ".checkpoints.internal",
    ],
)
def test_internal_topics(topic: str) -> None:
    """C115, C116, C464."""
    for policy in (build_policy({}), IdentityReplicationPolicy(), ArrowPolicy()):
        assert policy.is_internal_topic(TopicName(topic))


@pytest.mark.parametrize(
    "topic",
    [
        "mm2-offsets_CLUSTER_internal",
        "mm2-offsets-CLUSTER-internal",
        "foo.internal",
        "mm2internal",
        "foo-internal",
        "checkpoints.internal",
        "A.mm2-offset-syncs.B.internal",
        "topic",
    ],
)
def test_topics_that_are_not_internal(topic: str) -> None:
    """C116, C464."""
    for policy in (build_policy({}), IdentityReplicationPolicy(), ArrowPolicy()):
        assert not policy.is_internal_topic(TopicName(topic))


def test_herder_topics_are_not_internal_under_another_separator() -> None:
    """C124, C465."""
    topic = TopicName("mm2-offsets.A.internal")
    assert not build_policy({SEPARATOR: "_"}).is_internal_topic(topic)
    assert build_policy({SEPARATOR: "_"}).is_internal_topic(TopicName("mm2-x_A_internal"))
    assert build_policy({SEPARATOR: "_", SWITCH: "no"}).is_internal_topic(topic)


def test_identity_renames_heartbeats_only() -> None:
    """C125-C129."""
    policy = build_policy(
        {
            "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
            "source.cluster.alias": "primary",
        }
    )
    primary, backup = ClusterAlias("primary"), ClusterAlias("backup")
    assert policy.format_remote_topic(primary, TopicName("topic1")) == "topic1"
    assert policy.topic_source(TopicName("topic1")) == "primary"
    assert policy.upstream_topic(TopicName("topic1")) == "topic1"
    assert policy.original_topic(TopicName("topic1")) == "topic1"
    assert policy.format_remote_topic(backup, TopicName("heartbeats")) == "backup.heartbeats"
    assert policy.topic_source(TopicName("backup.heartbeats")) == "backup"
    assert policy.upstream_topic(TopicName("backup.heartbeats")) == "heartbeats"
    assert policy.format_remote_topic(primary, TopicName("myheartbeats")) == "primary.myheartbeats"
    assert policy.offset_syncs_topic(primary) == "mm2-offset-syncs.primary.internal"


def test_identity_without_an_alias_knows_no_source() -> None:
    """C126."""
    policy = build_policy({"replication.policy.class": "IdentityReplicationPolicy"})
    assert policy.topic_source(TopicName("topic1")) is None


def test_legacy_keeps_names_as_the_first_mirror_maker_did() -> None:
    """KIP-382."""
    policy = build_policy({"replication.policy.class": "LegacyReplicationPolicy"})
    assert isinstance(policy, LegacyReplicationPolicy)
    assert policy.format_remote_topic(ClusterAlias("A"), TopicName("t")) == "t"
    assert policy.format_remote_topic(ClusterAlias("A"), TopicName("heartbeats")) == "A.heartbeats"


@pytest.mark.parametrize("path", [f"{__name__}:ArrowPolicy", f" {__name__}.ArrowPolicy "])
def test_the_users_own_policy_is_configured_with_all_properties(path: str) -> None:
    """C084."""
    policy = build_policy({"replication.policy.class": path, "arrow": "~"})
    alias = ClusterAlias("A")
    assert policy.format_remote_topic(alias, TopicName("t")) == "t~A"
    assert policy.is_heartbeats_topic(TopicName("heartbeats~A"))
    assert policy.offset_syncs_topic(alias) == "mm2-offset-syncs.A.internal"
    assert policy.checkpoints_topic(alias) == "A.checkpoints.internal"
    policy.close()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("Nonsense", "is not an import path"),
        ("no_such_module:Policy", "cannot be imported"),
        (f"{__name__}:Missing", "cannot be imported"),
        (f"{__name__}:no_class", "is not a class"),
        (f"{__name__}:NeedsArguments", "cannot be created without arguments"),
        (f"{__name__}:NoPolicy", "does not extend mm2.core.policy.ReplicationPolicy"),
        ("org.example.SomeJavaPolicy", "cannot be imported"),
    ],
)
def test_a_policy_that_cannot_be_used_is_a_config_error(path: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        build_policy({"replication.policy.class": path})
    assert caught.value.key == "replication.policy.class"
    assert caught.value.value == path
