"""
Whether the remote topics are those that the copies were written to.

A remote topic may be deleted while we write to it, and come back empty. Nothing is written to a
topic that is missing or has another id; by policy it is filled again from the source's start, or
its partitions stop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from uuid import UUID

import structlog

from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import GapReporter
from flows.source.monitor.remote_ends import RemoteEnds
from flows.source.send.producer import Producer
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.source_gaps import Gap, GapKind
from mm2.kafka.wire.error_codes import Code, code_name
from mm2.kafka.wire.requests.list_offsets import EARLIEST
from mm2.kafka.wire.requests.metadata import TopicMetadata
from mm2.kafka.wire.wire_client import WireClient

log = structlog.get_logger()

_ASK_AGAIN_MS: Final = 10_000
"""The leader tries again by itself what it could not create; so wishes only need to reach it."""
_ASK_AT_LEAST_MS: Final = 300_000


class RemoteTopics:
    """
    Compares the remote topics with those that the positions belong to.

    Args:
        fails: whether partitions stop when their remote topic is gone.
        ask_for: asks the flow's leader to create a remote topic.
        forget: called when a partition goes back to an earlier offset.
    """

    def __init__(
        self,
        *,
        source: WireClient,
        target: WireClient,
        producer: Producer,
        gaps: GapReporter,
        ends: RemoteEnds,
        fails: bool,
        now_ms: Callable[[], int],
        ask_for: Callable[[TopicName], Awaitable[None]],
        forget: Callable[[TopicPartition], None],
    ) -> None:
        self._source = source
        self._target = target
        self._producer = producer
        self._gaps = gaps
        self._ends = ends
        self._fails = fails
        self._now_ms = now_ms
        self._ask_for = ask_for
        self._forget = forget
        self._missing: set[TopicName] = set()
        self._reported: set[TopicName] = set()
        self._asked: dict[TopicName, tuple[int, int]] = {}

    @property
    def is_unsure(self) -> bool:
        """Whether to check again soon."""
        return self._ends.is_unsure

    async def check(self, partitions: Sequence[MirroredPartition]) -> None:
        """
        Checks all remote topics once.

        Raises:
            ClusterError: a cluster does not answer.
        """
        topics = await self._target.describe({p.sender.target.topic for p in partitions})
        gone = {name for name, topic in topics.items() if _is_gone(topic)}
        same: dict[MirroredPartition, UUID | None] = {}
        for partition in partitions:
            topic = topics.get(partition.sender.target.topic)
            if topic is None or partition.error is not None:
                continue
            if topic.name in gone:
                self._hold(partition)
            elif partition.sender.target.partition in topic.partitions:
                if _is_same(partition, topic):
                    same[partition] = topic.topic_id
                elif self._withdraw(partition):
                    await self._begin_again(partition, topic.topic_id)
            else:
                error = topic.error or Code.UNKNOWN_TOPIC_OR_PARTITION
                partition.sender.report_error(f"the target answers {code_name(error)}")
        for partition in await self._ends.check(same, self._withdraw):
            self._accept(partition, same[partition])
        # Where the source topic is gone as well, its copy is not missed.
        missed = [p for p in partitions if not p.validation.is_missing]
        await self._note_missing(
            {p.sender.target.topic for p in missed} & gone,
            known={p.sender.target.topic for p in missed if p.remote.topic_id is not None},
        )

    def _hold(self, partition: MirroredPartition) -> None:
        """Writes nothing more, so that nothing of the middle gets into a new, empty topic."""
        partition.remote.block()
        partition.validation.invalidate()
        if not self._producer.withdraw(partition.sender):
            return
        topic = partition.sender.target.topic
        # A single broker that has just started may not know a topic that is there.
        is_certain = topic in self._missing and partition.remote.topic_id is not None
        if self._fails and is_certain and not partition.validation.is_missing:
            partition.fail(f"the remote topic {topic} was deleted")

    def _withdraw(self, partition: MirroredPartition) -> bool:
        """Has nothing more written to a partition; whether nothing of it is under way any more."""
        partition.remote.block()
        partition.validation.invalidate()
        return self._producer.withdraw(partition.sender) and partition.is_idle

    async def _begin_again(self, partition: MirroredPartition, found: UUID | None) -> None:
        starts = await self._source.list_offsets([partition.source], EARLIEST)
        if (start := starts.get(partition.source)) is None:
            return
        reached = max(start, partition.progress.mirrored + 1)
        gap = Gap(kind=GapKind.REMOTE_RECREATED, first=start, end=reached, resume=start)
        if self._gaps.found(partition, gap):
            partition.begin_at(start, self._now_ms())
            self._forget(partition.source)
            partition.remote.identify(None)
            self._accept(partition, found)

    def _accept(self, partition: MirroredPartition, found: UUID | None) -> None:
        if partition.remote.topic_id is None and found is not None:
            partition.remote.identify(found)
            partition.progress.require_commit()
        if not partition.remote.is_there:
            self._producer.resume(partition.sender)
            partition.remote.unblock()

    async def _note_missing(self, gone: set[TopicName], *, known: set[TopicName]) -> None:
        """A topic that we have not seen yet may just have been created: it is looked at again."""
        missing = gone & (known | self._missing)
        for topic in sorted(missing - self._reported):
            log.error(
                "remote_topic.missing", topic=topic, policy="fail" if self._fails else "recreate"
            )
        if not self._fails:
            await self._ask_for_all(missing)
        self._missing, self._reported = gone, missing

    async def _ask_for_all(self, gone: set[TopicName]) -> None:
        """Less and less often: some topics may not be created."""
        self._asked = {topic: asked for topic, asked in self._asked.items() if topic in gone}
        now_ms = self._now_ms()
        for topic in gone:
            at_ms, pause_ms = self._asked.get(topic, (now_ms, _ASK_AGAIN_MS))
            if now_ms >= at_ms:
                await self._ask_for(topic)
                self._asked[topic] = now_ms + pause_ms, min(2 * pause_ms, _ASK_AT_LEAST_MS)


def _is_same(partition: MirroredPartition, topic: TopicMetadata) -> bool:
    known = partition.remote.topic_id
    return None in (known, topic.topic_id) or known == topic.topic_id


def _is_gone(topic: TopicMetadata) -> bool:
    return topic.error == Code.UNKNOWN_TOPIC_OR_PARTITION
