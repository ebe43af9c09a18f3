"""
Detects re-created topics, and resets the checkpoints of the former ones.

An offset in a log that is gone may lie anywhere in the one that has its name now: a group that went
on there would skip records. So, as soon as the other topic is seen, its checkpoints say that
nothing of it has been read; what groups then read and commit is translated as ever. Not tombstones:
Java's clients fail on these (C144, C429).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog

from flows.checkpoint.checkpoint_store import CheckpointStore
from mm2.checkpoints.live_topic_ids import LiveTopicIds
from mm2.clock import now_ms
from mm2.core.internal_records import Checkpoint
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_translation import OffsetTranslation
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs

log = structlog.get_logger()

CHECK_EVERY_S: Final = 5.0
"""As often as source tasks check the same."""

_PARTITIONS_IN_A_SECOND: Final = 200
"""Thousands of partitions are checked less often, as in those tasks."""


@dataclass(frozen=True, slots=True)
class TrackedFlow:
    """
    A flow whose translations make checkpoints.

    Attributes:
        live: its topics as they are; what ``translation`` compares with.
        upstream: names the partition of a checkpoint as the flow's source does.
        is_back: whether its checkpoints lead from its copies back to the originals.
        compared: the topics as they were when checkpoints were last compared with them.
    """

    translation: OffsetTranslation
    live: LiveTopicIds
    upstream: Callable[[TopicPartition], TopicPartition]
    is_back: bool = False
    compared: dict[TopicName, Logs] = field(default_factory=dict)

    def not_compared(self) -> dict[TopicName, Logs]:
        """Topics of which more, or something else, is known than checkpoints were compared with."""
        live = self.live.ids.items()
        return {topic: logs for topic, logs in live if self.compared.get(topic) != logs}

    def logs(self, topic: TopicName) -> Logs:
        """The topics that there are, as checkpoints name them."""
        live = self.live.ids.get(topic, UNKNOWN_LOGS)
        return Logs(source=live.remote, remote=live.source) if self.is_back else live


class RecreatedTopics:
    """Invalidates translations and checkpoints of topics that are gone."""

    def __init__(self, flows: Iterable[TrackedFlow], store: CheckpointStore) -> None:
        self._flows = list(flows)
        self._store = store

    @property
    def interval_s(self) -> float:
        """Seconds until the next check."""
        most = max(flow.translation.partitions for flow in self._flows)
        return CHECK_EVERY_S + most / _PARTITIONS_IN_A_SECOND

    async def check(self) -> int:
        """Looks once; returns how many checkpoints are due because of what was seen."""
        return sum([await self._check(flow) for flow in self._flows])

    async def _check(self, flow: TrackedFlow) -> int:
        changed = await flow.live.look(flow.translation.topics)
        former, others = flow.translation.former(), flow.not_compared()
        if not former and not others:
            return 0
        topics: set[TopicName] = set()

        def current_logs(checkpoint: Checkpoint) -> Logs | None:
            original = flow.upstream(checkpoint.partition)
            topic, logs = original.topic, flow.logs(original.topic)
            is_gone = (
                topic in changed
                or original in former
                or (topic in others and logs.conflicts_with(checkpoint.logs))
            )
            if is_gone:
                topics.add(topic)
            return logs if is_gone else None

        count = self._store.start_over(current_logs, now_ms())
        flow.compared.update(others)
        if count:
            log.warning("checkpoint.reset", topics=sorted(topics), records=count)
        return count
