"""
Which source topics are gone for good, told from looks at the cluster over time.

A topic that is missing from one list may be about to be created anew, or hidden for a moment; it
counts as gone only after several looks and some time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from mm2.core.model import TopicName, TopicPartition

LOOKS: Final = 3
"""So many looks in a row must miss a topic."""


class Absences:
    """
    Counts the looks that missed a topic.

    Args:
        grace_s: so many seconds must lie between the first of them and the last.
    """

    def __init__(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._missed: dict[TopicName, tuple[int, float]] = {}

    def update(self, missing: Collection[TopicName], now_s: float) -> list[TopicName]:
        """
        Returns the topics that count as gone, in order.

        Args:
            missing: topics that this look missed; any other one is there.
            now_s: the time, by a clock that does not jump.
        """
        counted = {topic: self._missed.get(topic, (0, now_s)) for topic in missing}
        self._missed = {topic: (looks + 1, since) for topic, (looks, since) in counted.items()}
        return sorted(
            topic
            for topic, (looks, since) in self._missed.items()
            if looks >= LOOKS and now_s - since >= self._grace_s
        )


class MissedOnce:
    """
    Keeps what a single look misses: a broker that has just started may not know all topics yet.

    Attributes:
        is_any: whether the last look missed something for the first time.
    """

    def __init__(self) -> None:
        self._missed: frozenset[TopicPartition] = frozenset()
        self.is_any = False

    def update(
        self,
        known: Mapping[TopicPartition, TopicName],
        found: Mapping[TopicPartition, TopicName],
    ) -> dict[TopicPartition, TopicName]:
        """What was found, and of what was known what this look misses and the last one did not."""
        missed = frozenset(known.keys() - found.keys())
        doubtful = missed - self._missed
        self._missed, self.is_any = missed, bool(doubtful)
        return {**{where: known[where] for where in doubtful}, **found}
