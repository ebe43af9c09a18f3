"""What names say: copies that are none, topics of services, patterns without a topic."""

from __future__ import annotations

from mm2.config.offset_topics import topic_refusals
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import DefaultReplicationPolicy
from mm2.core.preflight.mirrored_names import idle_patterns, seeming_copies, service_topics
from tests.support.configs import flow_of

_DEFAULT = DefaultReplicationPolicy()


def _names(*names: str) -> set[TopicName]:
    return {TopicName(name) for name in names}


def test_a_local_topic_looks_like_a_copy_if_its_origin_has_no_such_topic() -> None:
    local = _names(
        "B.orders", "B.payments", "team.orders", "orders", "B.heartbeats", "B.x.internal"
    )
    others = {ClusterAlias("B"): _names("payments")}
    found = [*seeming_copies(local, _DEFAULT, others)]
    assert [(each.topic, each.origin, each.upstream) for each in found][:1] == [
        ("B.orders", "B", "orders")
    ]
    assert {each.topic for each in found} == {"B.orders", "B.x.internal"}


def test_topics_of_services_are_known() -> None:
    found = service_topics(_names("orders", "_schemas", "_confluent-metrics", "connect-status"))
    assert list(found) == ["_confluent-metrics", "_schemas", "connect-status"]
    assert found[TopicName("_schemas")] == "Schema Registry"


def test_a_pattern_without_a_topic_is_named_with_what_is_like_it() -> None:
    topics = _names("orders", "payments")
    assert idle_patterns(["orders", "pay.*", "oders.*", "zzz"], topics) == {
        "oders.*": ("orders",),
        "zzz": (),
    }


def test_each_refusal_says_which_rule_it_is() -> None:
    config = flow_of(
        topics="orders.*, mm2-x\\.internal, B.*", topics_exclude="orders-(old|tmp), __.*"
    )
    topics = [*map(TopicName, ["orders", "orders-tmp", "x", "mm2-x.internal", "B.orders"])]
    assert topic_refusals(config, topics) == {
        "orders-tmp": "topics.exclude: orders-(old|tmp)",
        "x": "no pattern of topics matches it",
        "mm2-x.internal": "internal topics are never mirrored",
        "B.orders": "its records come from the target",
    }
