"""Checkpoints of several clusters for the same groups."""

from __future__ import annotations

from mm2.client.checkpoint_sink import merged
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, TopicName, TopicPartition

G, H = GroupId("g"), GroupId("h")


def checkpoint(group: GroupId, topic: str, downstream: int) -> Checkpoint:
    return Checkpoint(group, TopicPartition(TopicName(topic), 0), 7, downstream)


def test_a_group_gets_the_checkpoints_of_all_clusters() -> None:
    a, c, other = checkpoint(G, "A.t", 1), checkpoint(G, "C.t", 2), checkpoint(H, "C.t", 3)
    assert merged([{G: [a]}, {G: [c], H: [other]}]) == {G: [a, c], H: [other]}
    assert merged([]) == {}


def test_where_two_clusters_name_the_same_partition_the_lower_offset_counts() -> None:
    low, high = checkpoint(G, "t", 5), checkpoint(G, "t", 9)
    assert merged([{G: [low]}, {G: [high]}]) == merged([{G: [high]}, {G: [low]}]) == {G: [low]}
