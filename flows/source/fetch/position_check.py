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
from typing import Final, Protocol

from flows.source.fetch.fetch_spec import FetchSpec
from flows.source.fetch.initial_offsets import InitialOffsets
from flows.source.mirrored_partition import MirroredPartition
from mm2.core.model import NO_OFFSET, TopicPartition
from mm2.core.positions.log_identity import UNKNOWN_EPOCH
from mm2.core.positions.source_gaps import Gap, GapKind, out_of_range, recreated, truncated
from mm2.core.positions.start_rules import Begin
from mm2.kafka.wire.error_codes import RETRIABLE, Code, code_name
from mm2.kafka.wire.requests.fetch import FetchedPartition
from mm2.kafka.wire.requests.list_offsets import EARLIEST, LATEST
from mm2.kafka.wire.requests.metadata import TopicMetadata
from mm2.kafka.wire.wire_client import WireClient

_PAUSE_S: Final = 0.2
"""Before a question is asked again that a broker could not answer."""

_NO_ANSWER: Final = RETRIABLE - {Code.TOPIC_AUTHORIZATION_FAILED, Code.CLUSTER_AUTHORIZATION_FAILED}
"""Old brokers want more rights for the question than it takes to read: then they are not asked."""


class GapNotes(Protocol):
    """Takes note of gaps, and decides what they stop."""

    def found(self, partition: MirroredPartition, gap: Gap) -> bool:
        """Takes note of a gap; whether the partition may go on at ``gap.resume``."""

    def closed(self, partition: MirroredPartition, kind: GapKind) -> None:
        """Takes note that what was found is over."""


class PositionValidator:
    """
    Compares positions with the logs that they belong to.

    Args:
        client: the source; its tracked topics must cover the partitions.
        forget: called when a partition goes back to an earlier offset.
        failed: called when a partition has stopped for good.
    """

    def __init__(
        self,
        *,
        client: WireClient,
        spec: FetchSpec,
        gaps: GapNotes,
        now_ms: Callable[[], int],
        forget: Callable[[TopicPartition], None],
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._spec = spec
        self._gaps = gaps
        self._now_ms = now_ms
        self._forget = forget
        self._failed = failed
        self._starts = InitialOffsets(
            client, read_committed=spec.data.read_committed, now_ms=now_ms
        )

    @staticmethod
    def pending(partitions: Iterable[MirroredPartition]) -> list[MirroredPartition]:
        """Returns those that can be validated now."""
        now = time.monotonic()
        return [
            each for each in partitions if each.awaits_validation and each.fetch.pause_until <= now
        ]

    async def validate(self, partitions: Sequence[MirroredPartition]) -> None:
        """
        Validates those that await it, as far as brokers answer and nothing of them is under way.

        Raises:
            Unavailable: the source does not answer.
        """
        if not (open_ := self.pending(partitions)):
            return
        topics = await self._client.describe({p.source.topic for p in open_})
        there = [p for p in open_ if self._is_there(p, topics)]
        await self._locate([p for p in there if p.fetch.position is None], topics)
        await self._compare([p for p in there if p.fetch.position is not None], topics)

    def observe(self, partition: MirroredPartition, answer: FetchedPartition) -> None:
        """Learns from a fetch what transactions hold back, here or for readers of the source."""
        if answer.last_stable == NO_OFFSET:
            return
        if partition.pinned.see(answer.last_stable, answer.high_watermark, time.monotonic()):
            self._gaps.closed(partition, GapKind.TRANSACTION_HANGING)

    async def out_of_range(self, partition: MirroredPartition) -> None:
        """
        A broker answers OFFSET_OUT_OF_RANGE: finds out why, and where to go on.

        Raises:
            Unavailable: the source does not answer.
        """
        if not partition.is_idle:
            partition.fetch.pause(_PAUSE_S)
            return
        position = partition.fetch.position
        partition.validation.invalidate()
        await self.validate([partition])
        if position is None or not _is_valid_at(partition, position):
            return
        start = (await self._client.list_offsets([partition.source], EARLIEST)).get(
            partition.source
        )
        end = (await self._client.list_offsets([partition.source], LATEST)).get(partition.source)
        if start is None or end is None:
            return
        if not _is_valid_at(partition, position):
            return
        # Of a position without a lineage the id was only assumed, until a batch was taken.
        same_topic = (
            partition.validation.topic_id is not None
            and partition.fetch.leader_epoch != UNKNOWN_EPOCH
        )
        reset = self._spec.data.reset
        gap = out_of_range(position, start=start, end=end, same_topic=same_topic, reset=reset)
        if gap is None:
            return
        if reset == "none":
            self._fail(partition, f"position {position} is outside of the log, {start} to {end}")
        self._go_on(partition, gap)

    @staticmethod
    def _is_there(partition: MirroredPartition, topics: Mapping[str, TopicMetadata]) -> bool:
        topic = topics.get(partition.source.topic)
        found = None if topic is None else topic.partitions.get(partition.source.partition)
        if found is not None and found.leader >= 0:
            return True
        error = topic.error if topic is not None and topic.error else Code.LEADER_NOT_AVAILABLE
        partition.sender.report_error(f"the source answers {code_name(error)}")
        partition.fetch.pause(_PAUSE_S)
        return False

    async def _locate(
        self, partitions: Sequence[MirroredPartition], topics: Mapping[str, TopicMetadata]
    ) -> None:
        """Gives partitions without a position one, by ``auto.offset.reset`` and the start rules."""
        starts = {p.source: self._spec.start(p.source) for p in partitions}
        for partition in partitions:
            if starts[partition.source].begin is Begin.NOWHERE:
                del starts[partition.source]
                self._fail(partition, "it has no position yet, and auto.offset.reset=none")
        found = await self._starts.find(starts)
        for partition in partitions:
            offset = found.get(partition.source)
            if offset is not None and _still_awaits(partition, None):
                # Any other place may be another one after a restart.
                is_fixed = starts[partition.source].begin is Begin.EARLIEST
                begins_empty = offset == 0 and not is_fixed
                partition.begin_at(offset, self._now_ms(), begins_empty=begins_empty)
                self._accept(partition, topics[partition.source.topic])

    async def _compare(
        self, partitions: Sequence[MirroredPartition], topics: Mapping[str, TopicMetadata]
    ) -> None:
        if not partitions:
            return
        positions = [p.fetch.position for p in partitions]
        starts = await self._client.list_offsets([p.source for p in partitions], EARLIEST)
        epochs = {
            p.source: p.fetch.leader_epoch
            for p in partitions
            if p.fetch.leader_epoch != UNKNOWN_EPOCH
        }
        ends = await self._client.epoch_ends(epochs) if epochs else {}
        for partition, position in zip(partitions, positions, strict=True):
            if not _still_awaits(partition, position):
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
                partition.fetch.pause(_PAUSE_S)
            else:
                self._decide(partition, topic, start, epoch_end)

    def _decide(
        self, partition: MirroredPartition, topic: TopicMetadata, start: int, epoch_end: int
    ) -> None:
        position, validation = partition.fetch.position or 0, partition.validation
        if topic.topic_id is not None and topic.topic_id == validation.former_id:
            # This broker has not heard of the topic that we have seen.
            partition.fetch.pause(_PAUSE_S)
            return
        gap = recreated(
            position,
            known=validation.topic_id,
            found=topic.topic_id,
            seen_end=validation.known_end,
            start=start,
        ) or truncated(position, epoch_end=epoch_end, start=start)
        if gap is None:
            self._accept(partition, topic)
        elif not partition.is_idle:
            # What is under way belongs to the old log, and is acknowledged first.
            partition.fetch.pause(_PAUSE_S)
        elif self._go_on(partition, gap):
            if gap.kind is GapKind.TOPIC_RECREATED:
                validation.recreated(topic.topic_id)
            self._accept(partition, topic)

    def _fail(self, partition: MirroredPartition, reason: str) -> None:
        partition.fail(reason)
        self._failed()

    def _go_on(self, partition: MirroredPartition, gap: Gap) -> bool:
        if not self._gaps.found(partition, gap) or partition.error is not None:
            return False
        partition.begin_at(gap.resume, self._now_ms())
        self._forget(partition.source)
        return True

    @staticmethod
    def _accept(partition: MirroredPartition, topic: TopicMetadata) -> None:
        validation = partition.validation
        if validation.topic_id is None and topic.topic_id is not None:
            validation.identify(topic.topic_id)
            partition.progress.require_commit()
        leader_epoch = topic.partitions[partition.source.partition].leader_epoch
        if UNKNOWN_EPOCH < leader_epoch < validation.unexpected_epoch:
            # This broker has not heard of the leader whose batch we have seen.
            partition.fetch.pause(_PAUSE_S)
            return
        if UNKNOWN_EPOCH < validation.unexpected_epoch < partition.fetch.leader_epoch:
            # The log is fine, and so the epoch that we expected was not.
            partition.fetch.forget_epoch()
        validation.accept(leader_epoch)
        if partition.sender.is_idle:
            partition.sender.report_error(None)


def _still_awaits(partition: MirroredPartition, position: int | None) -> bool:
    """
    Whether answers about a position still concern the partition.

    While a leader changes, the loops of two brokers validate it: the other may be faster.
    """
    return partition.awaits_validation and partition.fetch.position == position


def _is_valid_at(partition: MirroredPartition, position: int) -> bool:
    """Whether the position is valid and still this one: another broker's loop may be faster."""
    return partition.validation.is_valid and partition.fetch.position == position
