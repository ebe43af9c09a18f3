"""The partitions of a task: they start at stored positions, and are given up once committed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import stamina
import structlog

from flows.source.commit.position_commits import Committer
from flows.source.commit.resume import Resumed, read_positions
from flows.source.fetch.fetcher import Fetcher
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.overlap import Overlap
from flows.source.forward.overlap_reader import OverlapReader
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.topic_monitor import TopicMonitor
from flows.source.publish.translation_publisher import TranslationPublisher
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.sender_callbacks import take_answers
from flows.source.task_reporter import TaskReporter
from flows.source.transform.target_routes import Routes
from flows.source.transform.topic_transforms import TopicTransforms
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import FlowError, Unavailable
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_records import Assignment
from mm2.stop_deadlines import REVOKED_PARTITIONS_S

log = structlog.get_logger()

_RETRY_MOST_S: Final = 5.0


class Stuck(FlowError):
    """Partitions cannot be drained; a new task, with a new producer epoch, must take over."""

    retriable = True


@dataclass(slots=True, kw_only=True)
class AssignedPartitions:
    """
    Carries out assignments.

    Attributes:
        partitions: shared with the parts that fetch, commit and report; changed here only.
        records, bytes: acknowledged ones of revoked partitions.
    """

    spec: BundleSpec
    partitions: MutableMapping[TopicPartition, MirroredPartition]
    source: WireClient
    target: WireClient
    budget: MemoryBudget
    producer: Producer
    committer: Committer
    fetcher: Fetcher
    overlaps: OverlapReader
    monitor: TopicMonitor
    reporter: TaskReporter
    translation: TranslationPublisher
    error_policy: ErrorPolicy
    transforms: TopicTransforms
    routes: Routes
    records: int = 0
    bytes: int = 0
    _giving_up: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def carry_out(self, assignment: Assignment) -> None:
        """
        Gives up and takes on what differs from the last assignment.

        Raises:
            Stuck: what was given up cannot be drained.
        """
        gone = self.partitions.keys() - assignment.partitions.keys()
        new = assignment.partitions.keys() - self.partitions.keys()
        if gone:
            async with self._giving_up:
                await self._give_up(gone)
        if new:
            await self._take_on(
                {source: assignment.partitions[source] for source in new}, assignment.generation
            )
        self.reporter.generation = assignment.generation
        self.reporter.wake()

    async def end(self, obeying: asyncio.Task[None]) -> None:
        """Ends the task that calls ``carry_out``, once what it is giving up is committed."""
        async with self._giving_up:
            obeying.cancel()

    async def _take_on(
        self, partitions: Mapping[TopicPartition, TopicName], generation: int
    ) -> None:
        topics = {p.topic for p in self.partitions} | {p.topic for p in partitions}
        remotes = {m.sender.target.topic for m in self.partitions.values()} | {*partitions.values()}
        # What runs already must not end because a cluster does not answer just now.
        async for attempt in stamina.retry_context(
            on=Unavailable, attempts=None, timeout=None, wait_max=_RETRY_MOST_S
        ):
            with attempt:
                await self.source.track(topics)
                await self.target.track(remotes | self._own_topics() | self.routes.topics)
                positions = await read_positions(self.spec, self.target, partitions)
                overlaps = await self._find_overlaps(partitions, positions)
        for source, remote in partitions.items():
            mirrored = self._mirrored(source, TopicPartition(remote, source.partition), generation)
            if (stored := positions.get(source)) is not None:
                mirrored.continue_from(stored.offset, stored.lineage)
                if not stored.is_complete:
                    mirrored.progress.require_commit()
                mirrored.progress.restore_places(
                    elsewhere_ms=stored.elsewhere_ms, is_contested=stored.is_contested
                )
                mirrored.fetch.compare_with(overlaps.get(mirrored.sender.target))
            self.partitions[source] = mirrored
        log.info("source.partitions_assigned", partitions=len(partitions), known=len(positions))
        self.monitor.wake()
        self.overlaps.wake()
        self.translation.wake()

    async def _find_overlaps(
        self,
        partitions: Mapping[TopicPartition, TopicName],
        positions: Mapping[TopicPartition, Resumed],
    ) -> dict[TopicPartition, Overlap]:
        """What the target has beyond the positions; in transactions there is no such thing."""
        if self.spec.exactly_once is not None:
            return {}
        ends = {
            TopicPartition(partitions[source], source.partition): stored.lineage.remote_end
            for source, stored in positions.items()
            if stored.is_complete
        }
        return await self.overlaps.find(ends)

    def _own_topics(self) -> set[str]:
        dead_letters = self.spec.errors.dead_letter_topic
        return {self.spec.offsets_topic} | ({dead_letters} if dead_letters else set())

    async def _give_up(self, partitions: set[TopicPartition]) -> None:
        given = [self.partitions.pop(source) for source in partitions]
        self.fetcher.changed()
        is_drained = await self.producer.wait_until(
            lambda: all(mirrored.is_sent for mirrored in given), within_s=REVOKED_PARTITIONS_S
        )
        await self.committer.commit(given)
        await self.translation.publish_before_commit(given)
        if not is_drained:
            # What is still under way must not be written after another bundle has taken over.
            await self.committer.commit(list(self.partitions.values()))
            raise Stuck(str(self.spec.flow), "partitions that were revoked cannot be drained")
        for mirrored in given:
            self.records += mirrored.progress.records
            self.bytes += mirrored.progress.bytes
            self.translation.forget(mirrored.source)
        log.info("source.partitions_revoked", partitions=len(given))

    def _mirrored(
        self, source: TopicPartition, target: TopicPartition, generation: int
    ) -> MirroredPartition:
        # A sender lives as long as its producer id: the broker remembers its sequence numbers.
        sender = self.routes.senders.setdefault(target, PartitionSender(target, merges=True))
        mirrored = MirroredPartition(
            source,
            sender,
            runs=self.translation.tracker(source, generation),
            transform=self.transforms.of(source.topic, target.topic),
        )
        take_answers(
            mirrored,
            partial(self.committer.appended, mirrored),
            budget=self.budget,
            fetcher=self.fetcher,
            errors=self.error_policy,
            went_back=partial(self.committer.went_back, mirrored),
        )
        return mirrored
