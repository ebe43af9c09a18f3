"""What a flow is said to need is what the documentation has, for all that it can be set to."""

from __future__ import annotations

import re

from mm2.core.model import TopicName
from mm2.core.policy import build_policy
from mm2.core.topics.acls import PatternType, ResourceType
from mm2.preflight.permissions import Need, source_needs, target_needs
from tests.support.configs import flow_of
from tests.support.layout import ROOT

_PAGE = (ROOT / "docs" / "how-to" / "run.md").read_text()


def _needs(**settings: str) -> list[Need]:
    config = flow_of(**settings)
    policy = build_policy(config.source.properties)
    topic = TopicName("orders")
    return [
        *source_needs(config, policy, [topic]),
        *target_needs(config, policy, [policy.format_remote_topic(config.flow.source, topic)]),
    ]


def test_all_operations_are_documented() -> None:
    documented = set(re.findall(r"[A-Z][A-Za-z]+", _PAGE.partition("## Permissions")[2]))
    needs = _needs(sync_group_offsets_enabled="true", groups="readers")
    operations = {each for need in needs for each in need.permission.operations}
    assert {each.value.replace("_", "").lower() for each in operations} <= {
        word.lower() for word in documented
    }
    assert len(operations) > 5


def test_copies_are_granted_by_their_prefix_where_they_have_one() -> None:
    (copies,) = [each for each in _needs() if each.permission.purpose == "write copies"]
    assert (copies.permission.name, copies.names) == ("A.", ("A.orders",))
    assert copies.permission.pattern_type is PatternType.PREFIXED
    keeping = _needs(replication_policy_class="IdentityReplicationPolicy")
    (copies,) = [each for each in keeping if each.permission.purpose == "write copies"]
    assert (copies.permission.name, copies.permission.pattern_type) == (
        "orders",
        PatternType.LITERAL,
    )


def test_what_is_switched_off_needs_nothing() -> None:
    needs = _needs(sync_topic_acls_enabled="false", emit_checkpoints_enabled="false")
    kinds = {each.permission.resource_type for each in needs}
    assert ResourceType.CLUSTER not in kinds


def test_named_topics_and_groups_are_looked_at_even_if_nobody_sees_them() -> None:
    names = {name for each in _needs(topics="hidden, p.*", groups="g1, .*") for name in each.names}
    assert {"hidden", "g1"} <= names
    assert not {"p.*", ".*"} & names
