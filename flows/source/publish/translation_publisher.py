"""
Publishes what offset translation needs: offset syncs for all clients, exact runs for mm2.

A flow may publish both, the syncs alone, or nothing; the other parts need not know which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

import structlog

from flows.source.mirrored_partition import MirroredPartition
from flows.source.publish.offset_syncs import OffsetSyncs
from flows.source.publish.run_cleanup import RunCleanup, StoredBlocks
from flows.source.publish.run_publisher import RunPublisher
from mm2.core.model import TopicPartition
from mm2.core.policy import HEARTBEATS_TOPIC
from mm2.core.translation.partition_runs import PartitionRuns
from mm2.core.translation.run_tracker import RunTracker
from mm2.core.translation.runs import Runs
from mm2.errors import ClusterError, Unavailable
from mm2.kafka.logs.read_log import records_to_end
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec

log = structlog.get_logger()

_PROMOTE_EVERY_S: Final = 60.0
"""Java promotes delayed offset syncs at each commit of positions, every 60 s by default."""


class TranslationPublisher:
    """
    Publishes where the target has the records of a task.

    ``writer`` is None if the flow publishes nothing.
    """

    def __init__(
        self,
        spec: BundleSpec,
        writer: Writer | None,
        partitions: Mapping[TopicPartition, MirroredPartition],
        *,
        source: WireClient,
        target: WireClient,
        producer_epoch: int,
    ) -> None:
        self._cluster = spec.offset_syncs
        self._syncs: OffsetSyncs | None = None
        self._runs: RunPublisher | None = None
        self._cleanup: RunCleanup | None = None
        syncs = spec.offset_syncs
        if syncs is None or writer is None:
            return
        self._syncs = OffsetSyncs(syncs, writer)
        if syncs.runs_topic is not None:
            self._runs = RunPublisher(
                syncs.runs_topic,
                writer,
                partitions,
                is_transactional=spec.exactly_once is not None,
                epoch=spec.epoch,
                producer_epoch=producer_epoch,
            )
            self._cleanup = RunCleanup(syncs, self._runs, partitions, source=source, target=target)

    def tracker(self, source: TopicPartition, generation: int) -> RunTracker | None:
        """
        Collects the runs of a newly assigned partition; None if they are not published.

        Those of heartbeats are not: one record a second would be a record more here, and two
        fetches by who translates.
        """
        if self._runs is None or source.topic == HEARTBEATS_TOPIC:
            return None
        return self._runs.tracker(generation)

    def wake(self) -> None:
        """There is something new to publish."""
        if self._runs is not None:
            self._runs.wake()

    def settled(self, partition: MirroredPartition, runs: Runs) -> None:
        """Learns that the target has the runs of a batch for good."""
        if self._syncs is not None:
            self._syncs.acknowledged(partition.source, runs)
        if self._runs is not None:
            self._runs.wake(partition)

    async def publish_before_commit(self, partitions: Iterable[MirroredPartition]) -> None:
        """Publishes the runs of some partitions before their positions are committed."""
        if self._runs is not None:
            await self._runs.publish_before_commit(partitions)

    def forget(self, partition: TopicPartition) -> None:
        """The task copies this partition no longer, or goes back in it."""
        if self._syncs is not None:
            self._syncs.forget(partition)

    async def stored(
        self, partitions: Iterable[MirroredPartition]
    ) -> dict[TopicPartition, PartitionRuns]:
        """
        What is published of the runs of some partitions; nothing if it cannot be read.

        Raises:
            Unavailable: no answer.
        """
        requested = {each.source: each for each in partitions}
        if self._runs is None or self._cluster is None:
            return {}
        await self._runs.publish_before_commit(requested.values())
        cluster, topic = self._cluster, self._runs.topic
        records = records_to_end(cluster.cluster, cluster.properties, topic, partitions=[0])
        stored = StoredBlocks(requested, frozenset())
        try:
            await stored.read(records)
        except Unavailable:
            raise
        except ClusterError as error:
            log.warning("offset_runs.unread", topic=topic, error=str(error))
        return {where: each.runs for where, each in stored.runs.items()}

    async def end(self, partitions: Iterable[MirroredPartition]) -> None:
        """Publishes what is left of some partitions, if that does not take long."""
        await self.publish_before_commit(partitions)
        if self._syncs is not None:
            await self._syncs.end()

    async def run(self) -> None:
        """Publishes until cancelled."""
        async with asyncio.TaskGroup() as group:
            if self._syncs is not None:
                group.create_task(self._syncs.run(), name="offset-syncs")
                group.create_task(_promote_now_and_then(self._syncs), name="promote")
            if self._runs is not None:
                group.create_task(self._runs.run(), name="offset-runs")
            if self._cleanup is not None:
                group.create_task(self._cleanup.run(), name="run-cleanup")


async def _promote_now_and_then(syncs: OffsetSyncs) -> None:
    while True:
        await asyncio.sleep(_PROMOTE_EVERY_S)
        await syncs.promote()
