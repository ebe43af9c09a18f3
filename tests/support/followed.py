"""Groups of a source in memory that a flow of checkpoints follows, and what it knows of them."""

from __future__ import annotations

from flows.checkpoint.followed_groups import FollowedGroups
from mm2.core.filters import build_group_filter, build_topic_filter
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, TopicName, TopicPartition
from tests.support.fake_groups import FakeGroups

G1, G2, G3, G4 = (GroupId(f"g{number}") for number in range(1, 5))


def at(topic: str, partition: int = 0) -> TopicPartition:
    """A partition."""
    return TopicPartition(TopicName(topic), partition)


def checkpoint(group: GroupId, down: int, topic: str = "A.t") -> Checkpoint:
    """A checkpoint of a copy, ``down`` there and ten times that on the source."""
    return Checkpoint(group, at(topic), 10 * down, down)


def following(source: FakeGroups, topics: str = "t.*", groups: str = "g.*") -> FollowedGroups:
    """Those of the source that filters accept, looked for when told to."""
    return FollowedGroups(
        source,
        group_filter=build_group_filter({"groups": groups}),
        topic_filter=build_topic_filter({"topics": topics}),
        interval=None,
    )
