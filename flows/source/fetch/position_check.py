"""
Whether positions still fit the source's logs.

They are compared before a first fetch, and again whenever the topic or its leader may be another.

Two questions are asked. Is the topic the one that the position was taken from (topic id)? And does
the leader's log still hold the last record that was copied (leader epoch, KIP-320)? Brokers that
know no topic ids are asked the second one only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from flows.source.fetch.initial_offsets import InitialOffsets
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import Gaps
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.positions.log_identity import UNKNOWN_EPOCH
from mm2.core.positions.source_gaps import Gap, GapKind, out_of_range, recreated, truncated
from mm2.core.positions.start_rules import Begin
from mm2.kafka.wire.error_codes import RETRIABLE, Code, code_name
from mm2.kafka.wire.requests.fetch import FetchedPartition
from mm2.kafka.wire.requests.list_offsets import EARLIEST, LATEST
from mm2.kafka.wire.requests.metadata import TopicMetadata
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import FetchSpec

_PAUSE_S: Final = 0.2
"""Before a question is asked again that a broker could not answer."""

_NO_ANSWER: Final = RETRIABLE - {Code.TOPIC_AUTHORIZATION_FAILED, Code.CLUSTER_AUTHORIZATION_FAILED}
"""Old brokers want more rights for the question than it takes to read: then they are not asked."""


class PositionValidator:
    """
    Compares positions with the logs that they speak of.

    Args:
        client: the source; its tracked topics must cover the partitions.
        spec: where to begin.
        gaps: takes note of what is missing.
        now_ms: the clock.
        forget: called when a partition goes back, for those who remember where it was.
    """

    def __init__(
        self,
        *,
        client: WireClient,
        spec: FetchSpec,
        gaps: Gaps,
        now_ms: Callable[[], int],
        forget: Callable[[TopicPartition], None],
    ) -> None:
        self._client = client
        self._spec = spec
        self._gaps = gaps
        self._now_ms = now_ms
        self._forget = forget
        self._starts = InitialOffsets(client, read_committed=spec.read_committed, now_ms=now_ms)

    @staticmethod
    def pending(partitions: Iterable[MirroredPartition]) -> list[MirroredPartition]:
        """Those of some partitions that can be settled now."""
        now = time.monotonic()
        return [each for each in partitions if each.awaits_validation and each.pause_until <= now]

    async def validate(self, partitions: Sequence[MirroredPartition]) -> None:
        """
        Settles those that are not, as far as brokers answer and nothing of them is under way.

        Raises:
            Unavailable: the source does not answer.
        """
        if not (open_ := self.pending(partitions)):
            return
        topics = await self._client.describe({p.source.topic for p in open_})
        there = [p for p in open_ if self._is_there(p, topics)]
        await self._locate([p for p in there if p.position is None], topics)
        await self._compare([p for p in there if p.position is not None], topics)

    def observe(self, partition: MirroredPartition, answer: FetchedPartition) -> None:
        """Learns from a fetch what transactions hold back."""
        if not self._spec.read_committed:
            return
        if partition.pinned.see(answer.last_stable, answer.high_watermark, time.monotonic()):
            self._gaps.closed(partition, GapKind.TRANSACTION_HANGING)

    async def out_of_range(self, partition: MirroredPartition) -> None:
        """
        A broker says that the position is outside of its log: finds out why, and where to go on.

        Raises:
            Unavailable: the source does not answer.
        """
        if not partition.is_at_rest:
            partition.pause_until = time.monotonic() + _PAUSE_S
            return
        position, partition.is_settled = partition.position, False
        await self.validate([partition])
        if position is None or partition.position != position or not partition.is_settled:
            return
        start = (await self._client.list_offsets([partition.source], EARLIEST)).get(
            partition.source
        )
        end = (await self._client.list_offsets([partition.source], LATEST)).get(partition.source)
        if start is None or end is None:
            return
        if partition.position != position or not partition.is_settled:
            return  # another broker's loop was faster
        # Of a position without a lineage the id was only assumed, until a batch was taken.
        same_topic = partition.topic_id is not None and partition.leader_epoch != UNKNOWN_EPOCH
        reset = self._spec.reset
        gap = out_of_range(position, start=start, end=end, same_topic=same_topic, reset=reset)
        if gap is None:
            return
        if reset == "none":
            partition.fail(f"position {position} is outside of the log, {start} to {end}")
        self._go_on(partition, gap)

    @staticmethod
    def _is_there(partition: MirroredPartition, topics: Mapping[str, TopicMetadata]) -> bool:
        topic = topics.get(partition.source.topic)
        found = None if topic is None else topic.partitions.get(partition.source.partition)
        if found is not None and found.leader >= 0:
            return True
        error = topic.error if topic is not None and topic.error else Code.LEADER_NOT_AVAILABLE
        partition.lane.last_error = f"the source answers {code_name(error)}"
        partition.pause_until = time.monotonic() + _PAUSE_S
        return False

    async def _locate(
        self, partitions: Sequence[MirroredPartition], topics: Mapping[str, TopicMetadata]
    ) -> None:
        """Gives partitions without a position one, as ``auto.offset.reset`` and rules say."""
        starts = {p.source: self._spec.start(p.source) for p in partitions}
        for partition in partitions:
            if starts[partition.source].begin is Begin.NOWHERE:
                del starts[partition.source]
                partition.fail("it has no position yet, and auto.offset.reset=none")
        found = await self._starts.find(starts)
        for partition in partitions:
            offset = found.get(partition.source)
            if offset is not None and _is_as_asked(partition, None):
                partition.begin_at(offset, self._now_ms())
                # Any other place may be another one after a restart.
                is_fixed = starts[partition.source].begin is Begin.EARLIEST
                partition.begins_empty = offset == 0 and not is_fixed
                self._settled(partition, topics[partition.source.topic])

    async def _compare(
        self, partitions: Sequence[MirroredPartition], topics: Mapping[str, TopicMetadata]
    ) -> None:
        if not partitions:
            return
        positions = [p.position for p in partitions]
        starts = await self._client.list_offsets([p.source for p in partitions], EARLIEST)
        epochs = {p.source: p.leader_epoch for p in partitions if p.leader_epoch != UNKNOWN_EPOCH}
        ends = await self._client.epoch_ends(epochs) if epochs else {}
        for partition, position in zip(partitions, positions, strict=True):
            if not _is_as_asked(partition, position):
                continue
            topic, start = topics[partition.source.topic], starts.get(partition.source)
            epoch_end = NO_OFFSET
            if partition.source in epochs:
                end = ends.get(partition.source)
                if end is None or end.error in _NO_ANSWER:
                    start = None
                elif end.error == Code.NONE:
                    epoch_end = end.end_offset
            if start is None:
                partition.pause_until = time.monotonic() + _PAUSE_S
            else:
                self._decide(partition, topic, start, epoch_end)

    def _decide(
        self, partition: MirroredPartition, topic: TopicMetadata, start: int, epoch_end: int
    ) -> None:
        position = partition.position or 0
        if topic.topic_id is not None and topic.topic_id == partition.former_id:
            # This broker has not heard of the topic that we have seen.
            partition.pause_until = time.monotonic() + _PAUSE_S
            return
        gap = recreated(
            position,
            known=partition.topic_id,
            found=topic.topic_id,
            seen_end=partition.known_end,
            start=start,
        ) or truncated(position, epoch_end=epoch_end, start=start)
        if gap is None:
            self._settled(partition, topic)
        elif not partition.is_at_rest:
            # What is under way belongs to the old log, and is acknowledged first.
            partition.pause_until = time.monotonic() + _PAUSE_S
        elif self._go_on(partition, gap):
            if gap.kind is GapKind.TOPIC_RECREATED:
                partition.former_id, partition.topic_id = partition.topic_id, topic.topic_id
                partition.known_end = NO_OFFSET
            self._settled(partition, topic)

    def _go_on(self, partition: MirroredPartition, gap: Gap) -> bool:
        if not self._gaps.found(partition, gap) or partition.error is not None:
            return False
        partition.begin_at(gap.resume, self._now_ms())
        self._forget(partition.source)
        return True

    @staticmethod
    def _settled(partition: MirroredPartition, topic: TopicMetadata) -> None:
        if partition.topic_id is None and topic.topic_id is not None:
            partition.topic_id, partition.committed = topic.topic_id, None
        leader_epoch = topic.partitions[partition.source.partition].leader_epoch
        if UNKNOWN_EPOCH < leader_epoch < partition.surprise:
            # This broker has not heard of the leader whose batch we have seen.
            partition.pause_until = time.monotonic() + _PAUSE_S
            return
        if UNKNOWN_EPOCH < partition.surprise < partition.leader_epoch:
            # The log is fine, and so the epoch that we expected was not.
            partition.leader_epoch = UNKNOWN_EPOCH
        partition.settled_epoch, partition.surprise = leader_epoch, UNKNOWN_EPOCH
        partition.is_settled = True
        if partition.lane.is_idle:
            partition.lane.last_error = None


def _is_as_asked(partition: MirroredPartition, position: int | None) -> bool:
    """
    Whether answers about a position still concern the partition.

    While a leader changes, the loops of two brokers settle it: the other one may have been faster.
    """
    return partition.awaits_validation and partition.position == position
