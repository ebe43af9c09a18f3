"""Which stream creates a topic of the target, and which ones wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, cast

from flows.legacy.target_topics import TargetTopics
from mm2.core.model import TopicName, TopicPartition
from mm2.core.topics.topic_plan import CreateTopic
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from tests.support.named_topics import NamedTarget
from tests.support.virtual_time import run

FIRST, SECOND = (TopicPartition(TopicName("t"), number) for number in range(2))
OTHERS_WAIT_S: Final = 5


class Stream:
    """
    What one stream asks of the clusters that it shares with others.

    Attributes:
        created: topics that it has tried to create, with their partitions.
    """

    def __init__(self, source: NamedTarget, target: NamedTarget) -> None:
        self.created: list[tuple[str, int]] = []
        self._target = target
        self._topics = TargetTopics(cast("Admin", source), cast("Admin", self))
        self.describe_topics = target.describe_topics
        self.create_partitions = target.create_partitions

    async def create_topics(self, topics: Iterable[CreateTopic]) -> dict[TopicName, ClusterError]:
        """Notes who asks."""
        wanted = list(topics)
        self.created += [(each.name, each.partitions) for each in wanted]
        return await self._target.create_topics(wanted)

    async def prepare(self, where: TopicPartition) -> None:
        """It has been given a partition."""
        await self._topics.prepare([where])


def test_the_owner_of_partition_0_creates_a_topic_and_another_stream_waits_for_it() -> None:
    async def go() -> None:
        source, target = NamedTarget(t=2), NamedTarget()
        owner, other = Stream(source, target), Stream(source, target)
        async with asyncio.TaskGroup() as group:
            waits = group.create_task(other.prepare(SECOND))
            await asyncio.sleep(OTHERS_WAIT_S - 1)
            assert not waits.done()
            assert target.topics == {}
            await owner.prepare(FIRST)
        assert (owner.created, other.created) == ([("t", 2)], [])
        assert target.topics == {"t": 2}

    run(go())


def test_where_nobody_creates_it_who_waits_does() -> None:
    async def go() -> None:
        source, target = NamedTarget(t=2), NamedTarget()
        other = Stream(source, target)
        async with asyncio.timeout(2 * OTHERS_WAIT_S):
            await other.prepare(SECOND)
        assert other.created == [("t", 2)]

    run(go())
