"""Rules of exactly-once mirroring that need no cluster (KIP-618, KIP-656)."""

from __future__ import annotations

import pytest

from mm2.core.filters import build_group_filter
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.positions.exactly_once import Boundary, latest_positions, mirror_group
from mm2.core.positions.log_identity import Lineage

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
def test_the_later_counts_where_our_own_record_knows_no_log_unless_it_was_reset(
    record: dict[TopicPartition, int | None],
    group: dict[TopicPartition, int],
    position: dict[TopicPartition, int],
) -> None:
    assert latest_positions(record, {_P: Lineage()}, group) == position


@pytest.mark.parametrize("lineages", [{}, {_P: Lineage(leader_epoch=3)}])
def test_the_group_is_not_heard_where_others_wrote_the_record_or_it_knows_its_log(
    lineages: dict[TopicPartition, Lineage],
) -> None:
    """Java rewinds a flow, or copies a topic created again, and leaves the group where it was."""
    assert latest_positions({_P: 300}, lineages, {_P: 1000}) == {_P: 300}
    assert latest_positions({_P: None}, lineages, {_P: 1000}) == {}


def test_a_reset_counts_as_long_as_its_tombstone_is_there() -> None:
    """Then the group is heard again: what it says was copied was copied, so nothing is missed."""
    assert latest_positions({_P: None}, {}, {_P: 1000}) == {}
    assert latest_positions({}, {}, {_P: 1000}) == {_P: 999}


def test_a_transaction_ends_when_it_is_old_or_large() -> None:
    boundary = Boundary(most_s=0.5, most_bytes=100, ends_when_drained=False)
    assert not boundary.is_reached(age_s=0.4, size=99, is_drained=True)
    assert boundary.is_reached(age_s=0.5, size=0, is_drained=False)
    assert boundary.is_reached(age_s=0.0, size=100, is_drained=False)


def test_a_transaction_ends_when_everything_is_written() -> None:
    boundary = Boundary(most_s=0.5, most_bytes=100, ends_when_drained=True)
    assert boundary.is_reached(age_s=0.0, size=1, is_drained=True)
    assert not boundary.is_reached(age_s=0.0, size=1, is_drained=False)
