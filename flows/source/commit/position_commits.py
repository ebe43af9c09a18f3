"""
Positions in Connect's own topic: read when a task starts, written as it goes.

``mm2-offsets.<source>.internal`` on the target holds, for each source partition, the upstream
offset of the last mirrored record, in the format of Connect's offset store, so that Java's
MirrorMaker and this one can take over from each other. Positions are written by the same fenced
producer as the records: a task that has been replaced cannot turn one back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

import structlog

from flows.source.forward.recode import DecodedRecord, encode, keyed_body
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import OutgoingBatch, PartitionSender, SendState
from mm2.core.connect.offset_records import SourcePartition, encode_key
from mm2.core.connect.offset_records import encode_offset as encode_position
from mm2.core.model import NO_OFFSET, SOURCE_CONNECTOR, ClusterAlias, TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.core.positions.log_identity import HEADER, Lineage
from mm2.errors import FlowError
from mm2.kafka.wire.compression import UNCOMPRESSED
from mm2.kafka.wire.error_codes import code_name
from mm2.protocol.command_records import LiveSettings
from mm2.stop_deadlines import POSITIONS_S

log = structlog.get_logger()

Position = tuple[MirroredPartition, int, Lineage]
"""A partition, the offset of its last mirrored record, and the logs that this speaks of."""

Settled = Callable[[MirroredPartition, OutgoingBatch], None]
"""Learns of each batch that will not be undone any more, in order."""

BeforeCommit = Callable[[Iterable[MirroredPartition]], Awaitable[None]]
"""Must have had its turn before the positions of some partitions are written."""


def has_moved(partition: MirroredPartition) -> bool:
    """Whether the target's position of a partition is not the one that we are at."""
    if partition.mirrored == NO_OFFSET:
        return partition.begins_empty and partition.committed != NO_OFFSET
    return partition.mirrored != partition.committed


def position_of(
    partition: MirroredPartition, offset: int, last: OutgoingBatch | None = None
) -> Position:
    """
    The position at ``offset``, to be stored as it is now whatever happens meanwhile.

    Args:
        partition: whose.
        offset: in the source.
        last: the last batch before it, if the target has that in an open transaction only.
    """
    lineage = partition.lineage
    if last is not None:
        lineage = replace(lineage, remote_end=last.next_offset)
    return partition, offset, lineage


class Committer(Protocol):
    """Makes what the target has count."""

    def appended(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """Takes note of a batch that the target has."""

    def keep_pace(self, settings: LiveSettings) -> None:
        """Goes on at other intervals."""

    async def run(self) -> None:
        """Commits again and again, until cancelled."""

    async def commit(self, partitions: Iterable[MirroredPartition]) -> int:
        """Commits now; returns how many partitions' positions are up to date."""

    async def abort(self, lane: PartitionSender) -> None:
        """Aborts what an earlier transaction may have left open in a partition."""


class PositionsTopic:
    """
    Writes records of the positions topic.

    Args:
        producer: the task's.
        source: alias of the source cluster.
        topic: the positions topic.
        partitions: says how many partitions that topic has; as many as before, if that is 0.
        now_ms: the clock.
        connector: whose positions they are.

    Attributes:
        refusal: the error code by which the target has refused records for good.
    """

    def __init__(
        self,
        producer: Producer,
        *,
        source: ClusterAlias,
        topic: TopicName,
        partitions: Callable[[], int],
        now_ms: Callable[[], int],
        connector: str = SOURCE_CONNECTOR,
    ) -> None:
        self._producer = producer
        self._source = source
        self._connector = connector
        self._now_ms = now_ms
        self._topic = topic
        self._partitions = partitions
        self._count = 0
        self._lanes: dict[int, PartitionSender] = {}
        self._places: dict[TopicPartition, tuple[bytes, PartitionSender]] = {}
        self.refusal: int | None = None

    def lane_of(self, partition: TopicPartition) -> PartitionSender:
        """The way that the positions of a source partition take."""
        return self._place(partition)[1]

    def write(self, lane: PartitionSender, positions: Iterable[Position]) -> None:
        """Sends positions, which must be of this lane, as one batch."""
        now = self._now_ms()
        records = [
            DecodedRecord(
                number,
                max(now, each.elsewhere_ms + 1),
                _body(self._place(each.source)[0], offset, lineage),
            )
            for number, (each, offset, lineage) in enumerate(positions)
        ]
        batch = encode(records, UNCOMPRESSED)
        self._producer.send(lane, batch.data, list(batch.offsets))

    def check(self, flow: str) -> None:
        """
        Nothing, normally.

        Raises:
            FlowError: the target refuses to store positions for good.
        """
        if self.refusal is not None:
            raise FlowError(
                flow, f"the positions topic answers {code_name(self.refusal)}: see its limits"
            )

    def _place(self, partition: TopicPartition) -> tuple[bytes, PartitionSender]:
        """Key and lane; they are asked for at each commit, and change if the topic grows."""
        self._look_how_many()
        if (place := self._places.get(partition)) is None:
            key = encode_key(self._connector, SourcePartition(self._source, *partition))
            place = key, self._lane(partition_for(key, self._count))
            self._places[partition] = place
        return place

    def _lane(self, number: int) -> PartitionSender:
        if (lane := self._lanes.get(number)) is None:
            lane = PartitionSender(TopicPartition(self._topic, number), on_refused=self._refuse)
            self._lanes[number] = lane
        return lane

    def _look_how_many(self) -> None:
        if (count := self._partitions()) in {0, self._count}:
            return
        if self._count:
            log.warning(
                "positions.partitions_changed", topic=self._topic, before=self._count, now=count
            )
        self._count = count
        self._places.clear()

    def _refuse(self, _batch: OutgoingBatch, code: int) -> SendState:
        self.refusal = code
        return SendState.STOP


class Positions:
    """
    Commits after the fact, at least once.

    What the target has counts at once; its position follows at intervals.

    Args:
        topic: where positions are written.
        producer: the task's, which writes them.
        partitions: of the task; may change at any time.
        flow: for messages.
        interval_s: time between commits, in seconds.
        on_settled: is told of batches that count.
        before_commit: is waited for before positions are written.
    """

    def __init__(
        self,
        topic: PositionsTopic,
        producer: Producer,
        partitions: Mapping[TopicPartition, MirroredPartition],
        *,
        flow: str,
        interval_s: float,
        on_settled: Settled,
        before_commit: BeforeCommit | None = None,
    ) -> None:
        self._topic = topic
        self._producer = producer
        self._partitions = partitions
        self._flow = flow
        self._interval_s = interval_s
        self._on_settled = on_settled
        self._before_commit = before_commit
        self._paced_anew = asyncio.Event()
        self._has_new = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()

    def appended(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """Takes note of a batch that the target has."""
        self._on_settled(partition, batch)
        if partition.committed is None:
            self._has_new.set()

    def keep_pace(self, settings: LiveSettings) -> None:
        """Goes on with another interval, which counts from now."""
        self._interval_s = settings.flush_interval_s
        self._paced_anew.set()

    async def run(self) -> None:
        """
        Commits at intervals, until cancelled.

        A partition's first position is committed at once: without any, a task that takes over
        would begin anew.

        Raises:
            FlowError: the target refuses to store positions for good.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._commit_first_positions(), name="first-positions")
            while True:
                await self._interval()
                await self.commit(self._partitions.values())

    async def _interval(self) -> None:
        self._paced_anew.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._interval_s):
                await self._paced_anew.wait()

    async def _commit_first_positions(self) -> None:
        while True:
            await self._has_new.wait()
            self._has_new.clear()
            await self.commit(p for p in self._partitions.values() if p.committed is None)

    async def commit(self, partitions: Iterable[MirroredPartition]) -> int:
        """
        Writes the positions that moved; returns how many the target has.

        One partition of the topic that takes long does not hold up the others: its positions are
        written again later.

        Raises:
            FlowError: the target refuses to store positions for good.
        """
        async with self._one_at_a_time:
            return await self._commit(list(partitions))

    async def abort(self, lane: PartitionSender) -> None:
        """Nothing: there are no transactions."""

    async def _commit(self, partitions: list[MirroredPartition]) -> int:
        moved: list[tuple[MirroredPartition, int, PartitionSender]] = []
        entries: dict[PartitionSender, list[Position]] = {}
        for partition in filter(has_moved, partitions):
            lane = self._topic.lane_of(partition.source)
            if lane.is_idle or lane in entries:
                entries.setdefault(lane, []).append(position_of(partition, partition.mirrored))
                moved.append((partition, partition.mirrored, lane))
        if moved and self._before_commit is not None:
            await self._before_commit([partition for partition, _, _ in moved])
        for lane, pairs in entries.items():
            self._topic.write(lane, pairs)
        if not await self._producer.flush(entries, within_s=POSITIONS_S):
            late = {str(lane.target): lane.last_error for lane in entries if not lane.is_idle}
            log.warning("positions.late", partitions=late, within_s=POSITIONS_S)
        self._topic.check(self._flow)
        written = [(p, mirrored) for p, mirrored, lane in moved if lane.is_idle]
        for partition, mirrored in written:
            partition.committed = mirrored
        return len(written)


def _body(key: bytes, offset: int, lineage: Lineage) -> bytes:
    """Connect's own key and value, and a header that Connect passes over."""
    return keyed_body(key, encode_position(offset), [(HEADER.encode(), lineage.encode())])
