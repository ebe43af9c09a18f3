"""Topics that flows would copy without end are found from their names and policies alone."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mm2.config.copying import copying_of
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.preflight.endless_copies import Copying, endless_copies
from tests.support.configs import A_TO_B, B_TO_A, config_of

_IDENTITY = "IdentityReplicationPolicy"
_POLICY = "replication.policy.class"
_TOPICS = {ClusterAlias("A"): {TopicName("orders")}, ClusterAlias("B"): set[TopicName]()}


def _copying(settings: Mapping[str, str]) -> list[Copying]:
    return [
        copying_of(config_of({"A->B.enabled": "true", "B->A.enabled": "true", **settings}, flow))
        for flow in (A_TO_B, B_TO_A)
    ]


def test_renamed_copies_come_to_an_end() -> None:
    assert endless_copies(_TOPICS, _copying({})) == []


@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ({_POLICY: _IDENTITY}, ["A:orders", "B:orders", "A:orders"]),
        ({f"B->A.{_POLICY}": _IDENTITY}, ["A:orders", "B:A.orders", "A:A.orders"]),
        ({f"A->B.{_POLICY}": _IDENTITY}, ["A:orders", "B:orders", "A:B.orders"]),
        ({"A->B.replication.policy.separator": "_"}, ["A:orders", "B:A_orders", "A:B.A_orders"]),
    ],
)
def test_other_copies_do_not(settings: dict[str, str], way: list[str]) -> None:
    (found,) = endless_copies(_TOPICS, _copying(settings))
    assert [f"{alias}:{topic}" for alias, topic in found][: len(way)] == way


def test_headers_of_provenance_end_them_if_all_flows_write_them() -> None:
    both = {_POLICY: _IDENTITY, "provenance.headers.enabled": "true"}
    assert endless_copies(_TOPICS, _copying(both)) == []
    one = {_POLICY: _IDENTITY, "B->A.provenance.headers.enabled": "true"}
    assert len(endless_copies(_TOPICS, _copying(one))) == 1


def test_topics_that_go_one_way_only_come_to_an_end() -> None:
    settings = {_POLICY: _IDENTITY, "A->B.topics": "orders", "B->A.topics": "payments"}
    assert endless_copies(_TOPICS, _copying(settings)) == []
