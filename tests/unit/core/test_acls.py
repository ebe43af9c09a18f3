"""Behaviours 5.6: which rules the target is to have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import DefaultReplicationPolicy, ReplicationPolicy, build_policy
from mm2.core.topics.acls import (
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourceType,
    target_acls,
)

SOURCE = ClusterAlias("source")
POLICY = DefaultReplicationPolicy()
IDENTITY = build_policy(
    {"replication.policy.class": "IdentityReplicationPolicy", "source.cluster.alias": "source"}
)


def acl(
    operation: AclOperation,
    permission: AclPermission = AclPermission.ALLOW,
    name: str = "test_topic",
) -> AclBinding:
    return AclBinding(
        name=name, principal="User:kafka", operation=operation, permission=permission, host="h"
    )


def copied(
    *source: AclBinding,
    mirrored: tuple[str, ...] | None = None,
    policy: ReplicationPolicy = POLICY,
    same_name_all: bool = False,
) -> list[AclBinding]:
    return sorted(
        target_acls(
            source,
            accepts=lambda topic: topic != "rejected",
            policy=policy,
            alias=SOURCE,
            mirrored=None if mirrored is None else [TopicName(topic) for topic in mirrored],
            same_name_all=same_name_all,
        )
    )


def prefixed(name: str, operation: AclOperation = AclOperation.READ) -> AclBinding:
    return replace(acl(operation, name=name), pattern_type=PatternType.PREFIXED)


def test_the_right_to_write_is_not_copied() -> None:
    """C186, C187."""
    assert copied(acl(AclOperation.WRITE)) == []
    denied = copied(acl(AclOperation.WRITE, AclPermission.DENY))
    assert denied == [acl(AclOperation.WRITE, AclPermission.DENY, "source.test_topic")]


def test_the_right_to_do_everything_becomes_the_right_to_read() -> None:
    """C188."""
    allowed = copied(acl(AclOperation.ALL))
    assert allowed == [acl(AclOperation.READ, name="source.test_topic")]
    denied = copied(acl(AclOperation.ALL, AclPermission.DENY))
    assert denied == [acl(AclOperation.ALL, AclPermission.DENY, "source.test_topic")]


def test_other_rights_are_copied_as_they_are_and_once() -> None:
    """C189."""
    found = copied(acl(AclOperation.READ), acl(AclOperation.ALL), acl(AclOperation.DESCRIBE))
    assert found == [
        acl(AclOperation.DESCRIBE, name="source.test_topic"),
        acl(AclOperation.READ, name="source.test_topic"),
    ]


def test_only_rules_of_single_topics_that_are_mirrored_count() -> None:
    """C186, C191."""
    group = replace(acl(AclOperation.READ), resource_type=ResourceType.GROUP)
    assert copied(prefixed("t"), group, acl(AclOperation.READ, name="rejected")) == []


def test_a_rule_for_every_topic_becomes_one_for_a_name_as_in_java() -> None:
    """C191."""
    assert copied(acl(AclOperation.READ, name="*")) == [acl(AclOperation.READ, name="source.*")]


def test_rules_for_prefixes_are_copied_on_demand() -> None:
    """C414."""
    rules = [
        prefixed("ord", AclOperation.ALL),
        prefixed("ord", AclOperation.WRITE),
        prefixed("none"),
        acl(AclOperation.READ, name="x"),
    ]
    assert copied(*rules, mirrored=("orders", "clicks")) == [
        prefixed("source.ord"),
        acl(AclOperation.READ, name="source.x"),
    ]


def test_a_rule_for_every_topic_becomes_one_for_every_copy_on_demand() -> None:
    """C414: Java's copy of it is of no use to anybody."""
    every = acl(AclOperation.DESCRIBE, AclPermission.DENY, name="*")
    expected = replace(every, name="source.", pattern_type=PatternType.PREFIXED)
    assert copied(every, mirrored=("orders", "heartbeats")) == [expected]
    assert copied(every, mirrored=()) == []


@pytest.mark.parametrize("mirrored", [None, ("orders", "heartbeats")])
def test_where_names_stay_only_the_rights_to_read_single_topics_are_copied(
    mirrored: tuple[str, ...] | None,
) -> None:
    safe = [acl(operation) for operation in (AclOperation.DESCRIBE, AclOperation.READ)]
    of_many = [prefixed("ord"), acl(AclOperation.READ, name="*"), acl(AclOperation.ALTER, name="*")]
    others = set(AclOperation) - {AclOperation.READ, AclOperation.DESCRIBE, AclOperation.ALL}
    allowed = [acl(operation) for operation in others]
    denied = [acl(operation, AclPermission.DENY) for operation in others]
    found = copied(*safe, *of_many, *allowed, *denied, mirrored=mirrored, policy=IDENTITY)
    assert found == safe


def test_where_names_stay_all_rights_become_reading_and_all_denials_too() -> None:
    assert copied(acl(AclOperation.ALL), policy=IDENTITY) == [acl(AclOperation.READ)]
    denied = copied(acl(AclOperation.ALL, AclPermission.DENY), policy=IDENTITY)
    assert denied == [
        acl(AclOperation.DESCRIBE, AclPermission.DENY),
        acl(AclOperation.READ, AclPermission.DENY),
    ]


def test_where_names_stay_all_rules_are_copied_on_demand() -> None:
    rules = [prefixed("ord"), acl(AclOperation.READ, name="*"), acl(AclOperation.ALTER)]
    topics = ("orders", "heartbeats")
    found = copied(*rules, mirrored=topics, policy=IDENTITY, same_name_all=True)
    assert found == sorted(rules)


def test_no_rule_is_made_for_a_prefix_that_copies_do_not_keep() -> None:
    class Backwards(DefaultReplicationPolicy):
        def format_remote_topic(self, source: ClusterAlias, topic: TopicName) -> TopicName:
            return TopicName(f"{topic[::-1]}.{source}")

    assert copied(prefixed("ord"), mirrored=("orders",), policy=Backwards()) == []
