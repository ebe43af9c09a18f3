"""
Commits positions after the fact: at least once.

``drain`` brings what a task has under way to its end: copies first, then their positions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from flows.source.commit.positions_topic import PositionsTopic, position_of
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.aligned_waits import aligned
from mm2.core.latency import LatencySeries
from mm2.core.model import TopicPartition
from mm2.core.policy import HEARTBEATS_TOPIC
from mm2.protocol.command_records import LiveSettings
from mm2.stop_deadlines import POSITIONS_S

log = structlog.get_logger()

_MOST_IN_A_SECOND: Final = 2_000
"""Positions that a task writes for good; of more, each is written less often."""

_HEARTBEATS_S: Final = 4.5
"""Between commits of heartbeats alone, of which one a second comes: each five seconds."""

Settled = Callable[[MirroredPartition, OutgoingBatch], None]
"""Learns of each batch that will not be undone any more, in order."""

BeforeCommit = Callable[[Iterable[MirroredPartition]], Awaitable[None]]
"""Must have had its turn before the positions of some partitions are written."""


class Committer(Protocol):
    """Makes what the target has count."""

    def appended(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """Takes note of a batch that the target has."""

    def went_back(self, partition: MirroredPartition) -> None:
        """Records of the partition are to be sent again."""

    def keep_pace(self, settings: LiveSettings) -> None:
        """Goes on at other intervals."""

    async def run(self) -> None:
        """Commits again and again, until cancelled."""

    async def commit(self, partitions: Iterable[MirroredPartition]) -> int:
        """Commits now; returns how many partitions' positions are up to date."""

    @property
    def times(self) -> LatencySeries:
        """How long commits took, in ms."""

    async def abort(self, sender: PartitionSender) -> None:
        """Aborts what an earlier transaction may have left open in a partition."""


class AtLeastOnceCommitter:
    """
    Commits after the fact, at least once.

    What the target has counts at once; its position follows at intervals.

    Attributes:
        times: how long commits took, in ms.
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
        self._committed_s = 0.0
        self._one_at_a_time = asyncio.Lock()
        self.times = LatencySeries()

    def appended(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """Takes note of a batch that the target has."""
        self._on_settled(partition, batch)
        if partition.progress.committed is None:
            self._has_new.set()

    def went_back(self, partition: MirroredPartition) -> None:
        """Nothing: they may come twice."""

    def keep_pace(self, settings: LiveSettings) -> None:
        """Goes on with another interval, which counts from now."""
        self._interval_s = settings.flush_interval_s
        self._paced_anew.set()

    async def run(self) -> None:
        """
        Commits at intervals, until cancelled.

        A partition's first position is committed at once: without any, a task that takes over
        would start over.

        Raises:
            FlowError: the target refuses to store positions for good.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._commit_first_positions(), name="first-positions")
            written = 0
            while True:
                await self._interval(written)
                written = await self.commit(self._due())

    async def _interval(self, written: int) -> None:
        """Waits until the next commit; longer after one of thousands of positions."""
        self._paced_anew.clear()
        with suppress(TimeoutError):
            longer_s = max(self._interval_s, written / _MOST_IN_A_SECOND)
            async with asyncio.timeout(aligned(longer_s)):
                await self._paced_anew.wait()

    def _due(self) -> list[MirroredPartition]:
        """What has moved; heartbeats alone are committed less often."""
        moved = [each for each in self._partitions.values() if each.progress.has_moved]
        now_s = asyncio.get_running_loop().time()
        are_heartbeats = all(each.source.topic == HEARTBEATS_TOPIC for each in moved)
        if are_heartbeats and now_s - self._committed_s < _HEARTBEATS_S:
            return []
        self._committed_s = now_s
        return moved

    async def _commit_first_positions(self) -> None:
        while True:
            await self._has_new.wait()
            self._has_new.clear()
            await self.commit(p for p in self._partitions.values() if p.progress.committed is None)

    async def commit(self, partitions: Iterable[MirroredPartition]) -> int:
        """
        Writes the positions that moved; returns how many the target has.

        One partition of the topic that takes long does not hold up the others: its positions are
        written again later.

        Raises:
            FlowError: the target refuses to store positions for good.
        """
        async with self._one_at_a_time:
            began_s = time.monotonic()
            written = await self._commit(partitions)
            if written:
                now_s = time.monotonic()
                took_ms = round(1000 * (now_s - began_s))
                self.times.record(took_ms, round(1000 * now_s))
                log.debug("positions.committed", partitions=written, took_ms=took_ms)
            return written

    async def abort(self, sender: PartitionSender) -> None:
        """Nothing: there are no transactions."""

    async def _commit(self, partitions: Iterable[MirroredPartition]) -> int:
        moved = [each for each in partitions if each.progress.has_moved]
        positions = self._topic.by_sender(position_of(p, p.progress.mirrored) for p in moved)
        sent = {sender: each for sender, each in positions.items() if sender.is_idle}
        if sent and self._before_commit is not None:
            await self._before_commit([p for each in sent.values() for p, _, _ in each])
        self._topic.write(sent)
        if not await self._producer.flush(sent, within_s=POSITIONS_S):
            late = {str(sender.target): sender.last_error for sender in sent if not sender.is_idle}
            log.warning("positions.late", partitions=late, within_s=POSITIONS_S)
        self._topic.check(self._flow)
        written = [each for sender in sent if sender.is_idle for each in sent[sender]]
        for partition, mirrored, _ in written:
            partition.progress.commit(mirrored)
        return len(written)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """
    The result of ``drain``.

    Attributes:
        is_complete: whether the target has all copies, and the positions of all partitions.
    """

    is_complete: bool
    positions: int


async def drain(
    partitions: Sequence[MirroredPartition],
    producer: Producer,
    committer: Committer,
    *,
    within_s: float,
) -> Drained:
    """
    Waits ``within_s`` seconds for copies that are under way, and commits positions.

    Nothing may be added to the partitions any more.

    Raises:
        FlowError: the target refuses to store positions for good, or a transaction does not end.
    """
    senders = [sender for partition in partitions for sender in partition.senders]
    is_empty = await producer.flush(senders, within_s=within_s)
    if not is_empty:
        stuck = [str(sender.target) for sender in senders if not sender.is_idle]
        log.warning("source.not_drained", partitions=stuck, within_s=within_s)
    committed = await committer.commit(partitions)
    is_complete = is_empty and not any(partition.progress.has_moved for partition in partitions)
    return Drained(is_complete=is_complete, positions=committed)
