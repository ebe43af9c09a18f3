"""Which way a partition goes between two clusters."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.config.flow_config import flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.properties import load
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.failover.directions import AgainstFlow, FlowDirection, WithFlow, direction_of
from mm2.failover.move_route import Pair, pair_of
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import FlowClusters
from tests.support.configs import TWO_CLUSTERS_TEXT

_FILE = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
topics = orders.*
"""
_IDENTITY = "replication.policy.class = IdentityReplicationPolicy\n"
_BOTH = "B->A.enabled = true\n"


def _pair(tmp_path: Path, *more: str) -> Pair:
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE + "".join(more))
    maker = MirrorMakerConfig.of(load(file))
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    return pair_of(maker, flow_config(maker, flow))


def _forth(pair: Pair) -> list[FlowDirection]:
    clusters = FlowClusters(Admin("A", {}), Admin("B", {}))
    against = [] if pair.opposite is None else [AgainstFlow(pair.opposite)]
    return [WithFlow(pair.flow, clusters), *against]


def _back(pair: Pair) -> list[FlowDirection]:
    clusters = FlowClusters(Admin("B", {}), Admin("A", {}))
    onward = [] if pair.opposite is None else [WithFlow(pair.opposite, clusters)]
    return [AgainstFlow(pair.flow), *onward]


def _goes(directions: list[FlowDirection], topic: str) -> str | None:
    way = direction_of(directions, TopicPartition(TopicName(topic), 2))
    if way is None:
        return None
    kind = "with" if isinstance(way.direction, WithFlow) else "against"
    opposite = "" if way.opposite is None else f", against {way.opposite.config.flow}"
    return f"{kind} {way.direction.config.flow}: {way.destination}{opposite}"


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("orders", "with A->B: A.orders-2"),
        ("B.orders", "against B->A: orders-2"),
        ("payments", None),
        ("B.payments", None),
        ("C.orders", None),
        ("mm2-offsets.B.internal", None),
    ],
)
def test_a_group_that_leaves(tmp_path: Path, topic: str, expected: str | None) -> None:
    """Its topics become copies, and copies of the other side's topics become originals."""
    assert _goes(_forth(_pair(tmp_path, _BOTH)), topic) == expected


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("A.orders", "against A->B: orders-2"),
        ("orders", "with B->A: B.orders-2"),
        ("A.payments", None),
        ("payments", None),
    ],
)
def test_a_group_that_comes_home(tmp_path: Path, topic: str, expected: str | None) -> None:
    assert _goes(_back(_pair(tmp_path, _BOTH)), topic) == expected


def test_what_no_flow_copies_has_no_way(tmp_path: Path) -> None:
    pair = _pair(tmp_path)
    assert pair.opposite is None, "it exists for heartbeats only"
    assert _goes(_forth(pair), "B.orders") is None
    assert _goes(_back(pair), "orders") is None


def test_with_the_identity_policy_both_flows_count(tmp_path: Path) -> None:
    """Names tell nothing there: a topic holds originals of both sides, and copies of them."""
    pair = _pair(tmp_path, _IDENTITY, _BOTH)
    assert _goes(_forth(pair), "orders") == "with A->B: orders-2, against B->A"
    assert _goes(_back(pair), "orders") == "with B->A: orders-2, against A->B"


def test_with_the_identity_policy_what_one_flow_copies_goes_one_way(tmp_path: Path) -> None:
    pair = _pair(tmp_path, _IDENTITY, _BOTH, "B->A.topics = other\n")
    assert _goes(_forth(pair), "orders") == "with A->B: orders-2"
    assert _goes(_back(pair), "orders") == "against A->B: orders-2"
    assert _goes(_forth(pair), "other") == "against B->A: other-2"
