"""A target whose brokers learn late of topics, for what a handler names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from flows.legacy.named_topics import NamedTopics
from flows.legacy.target_topics import TargetTopics
from mm2.core.model import TopicName
from mm2.core.topics.topic_plan import CreateTopic, GrowTopic, TopicDescription
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.wire.wire_client import WireClient


class NamedTarget:
    """
    Speaks what ``NamedTopics`` needs of a client, and of an administrative one.

    Attributes:
        alias: of both.
        topics: with their numbers of partitions.
        tracked: the topics whose metadata are kept.
        late: how many refreshes bring nothing of what was changed.
        away: how many questions are not answered.
        refusal: what creating and growing ends in.
        created: the topics that were created.
    """

    alias = "target"

    def __init__(self, **topics: int) -> None:
        self.topics = {TopicName(name): count for name, count in topics.items()}
        self.tracked: frozenset[str] = frozenset()
        self.late = self.away = 0
        self.refusal: ClusterError | None = None
        self.created: list[str] = []
        self._known: dict[str, int] = {}

    def partitions_of(self, topic: str) -> int:
        """As of the last refresh."""
        return self._known.get(topic, 0) if topic in self.tracked else 0

    async def track(self, topics: Iterable[str]) -> None:
        """Asks a broker, which may have heard of nothing yet."""
        self.tracked = frozenset(topics)
        if self.late:
            self.late -= 1
        else:
            self._known = {str(name): count for name, count in self.topics.items()}

    async def describe_topics(
        self, names: Iterable[TopicName]
    ) -> dict[TopicName, TopicDescription]:
        """Those that are there."""
        if self.away:
            self.away -= 1
            raise Unavailable(self.alias, "no broker answers")
        wanted = set(names)
        return {
            name: TopicDescription(name, count, 1)
            for name, count in self.topics.items()
            if name in wanted
        }

    async def create_topics(self, topics: Iterable[CreateTopic]) -> dict[TopicName, ClusterError]:
        """Creates all, or refuses all."""
        return self._change([(each.name, each.partitions) for each in topics], self.created)

    async def create_partitions(self, topics: Iterable[GrowTopic]) -> dict[TopicName, ClusterError]:
        """Likewise."""
        return self._change([(each.name, each.partitions) for each in topics], [])

    def _change(
        self, topics: list[tuple[TopicName, int]], done: list[str]
    ) -> dict[TopicName, ClusterError]:
        if self.refusal is not None:
            return {name: self.refusal for name, _ in topics}
        self.topics |= topics
        done += [name for name, _ in topics]
        return {}


def named_topics(source: NamedTarget, target: NamedTarget, tracked: set[str]) -> NamedTopics:
    """What asks them."""
    admins = TargetTopics(cast("Admin", source), cast("Admin", target))
    return NamedTopics(cast("WireClient", target), admins, tracked)
