"""What a new leader learns of the bundles of the one before."""

from __future__ import annotations

from mm2.core.model import TopicName, TopicPartition
from mm2.protocol.control_records import Assignment, BundleState, earlier_bundles

A, B = (TopicPartition(TopicName(name), 0) for name in "ab")


def _assignment(index: int, epoch: int, *partitions: TopicPartition) -> Assignment:
    return Assignment(
        index=index,
        epoch=epoch,
        generation=1,
        state=BundleState.STOPPED,
        partitions=dict.fromkeys(partitions, TopicName("r")),
    )


def test_only_the_last_leader_counts() -> None:
    assert earlier_bundles([_assignment(0, 1, A, B), _assignment(2, 2, B)]) == [[], [], [B]]


def test_there_may_have_been_none() -> None:
    assert earlier_bundles([]) == []
