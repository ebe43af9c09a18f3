"""Rules of exactly-once mirroring that need no cluster (KIP-618, KIP-656)."""

from __future__ import annotations

import pytest

from mm2.core.exactly_once import Boundary, latest_positions, mirror_group
from mm2.core.filters import build_group_filter
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition

_P = TopicPartition(TopicName("t"), 0)


def test_the_group_of_a_flow_is_nobody_s_to_translate() -> None:
    group = mirror_group(SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")))
    assert group == "__mm2-A->B"
    assert not build_group_filter({}).should_replicate_group(group)


@pytest.mark.parametrize(
    ("record", "group", "position"),
    [
        ({_P: 4}, {_P: 5}, {_P: 4}),
        ({_P: 9}, {_P: 5}, {_P: 9}),
        ({_P: 4}, {_P: 10}, {_P: 9}),
        ({_P: 4}, {}, {_P: 4}),
        ({}, {_P: 5}, {_P: 4}),
        ({}, {}, {}),
        ({_P: None}, {_P: 5}, {}),
        ({_P: None}, {}, {}),
        ({_P: -1}, {_P: 0}, {_P: -1}),
    ],
)
def test_the_later_of_both_positions_counts_unless_one_was_reset(
    record: dict[TopicPartition, int | None],
    group: dict[TopicPartition, int],
    position: dict[TopicPartition, int],
) -> None:
    assert latest_positions(record, group) == position


def test_a_transaction_ends_when_it_is_old_or_large() -> None:
    boundary = Boundary(most_s=0.5, most_bytes=100, ends_when_drained=False)
    assert not boundary.is_reached(age_s=0.4, size=99, is_drained=True)
    assert boundary.is_reached(age_s=0.5, size=0, is_drained=False)
    assert boundary.is_reached(age_s=0.0, size=100, is_drained=False)


def test_a_transaction_ends_when_everything_is_written() -> None:
    boundary = Boundary(most_s=0.5, most_bytes=100, ends_when_drained=True)
    assert boundary.is_reached(age_s=0.0, size=1, is_drained=True)
    assert not boundary.is_reached(age_s=0.0, size=1, is_drained=False)
