"""
The source task: one bundle of partitions, copied by one asyncio loop in a Spark worker.

It follows the control topic for what to do, continues where the positions topic says, and writes
positions, offset syncs and progress to Kafka as it goes. What it can handle it handles itself and
reports per partition; it raises only when the whole bundle must start over.

On a stop the order is: no more fetches, wait for what is under way, commit positions, publish the
last offset syncs, report, close. A task that ends for any other reason commits nothing more: what
the target has and the positions topic does not is mirrored again (at least once).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final

import stamina
import structlog
import uvloop

from flows.source.budget import Budget
from flows.source.control import ControlFollower
from flows.source.fetch import Fetcher
from flows.source.identity import bundle_identity
from flows.source.intake import Intake
from flows.source.lane import Lane, Outgoing
from flows.source.partition import Mirrored
from flows.source.positions import Positions, positions_of
from flows.source.produce import Producer
from flows.source.report import Reporter
from flows.source.syncs import OffsetSyncs
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import FlowError, Unavailable, root_cause
from mm2.herder.bundle import BundleSpec
from mm2.herder.control import Assignment
from mm2.kafka.log import read_to_end
from mm2.kafka.settings import aiokafka_settings
from mm2.kafka.wire.client import ProducerIdentity, WireClient
from mm2.kafka.wire.codes import code_name
from mm2.kafka.writer import Writer
from mm2.telemetry.logs import configure_task_logs

log = structlog.get_logger()

_DRAIN_WITHIN_S: Final = 8.0
_GIVE_UP_WITHIN_S: Final = 10.0
_RETRY_MOST_S: Final = 5.0
_PROMOTE_EVERY_S: Final = 60.0
"""Java promotes delayed offset syncs at each commit of positions, every 60 s by default."""


class Stuck(FlowError):
    """Partitions cannot be drained; a new task, with a new producer epoch, must take over."""

    retriable = True


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def run_bundle(spec: BundleSpec) -> Mapping[str, int]:
    """
    Runs a bundle until the control topic says to stop; returns ``records``, ``bytes``, ``pid``.

    Raises:
        Fenced: another leader or task has taken the bundle over.
        SequenceLost: the bundle must start over with a new producer epoch.
        ClusterError: a cluster cannot be reached at the start.
    """
    configure_task_logs()
    with structlog.contextvars.bound_contextvars(flow=str(spec.flow), task=spec.index):
        return uvloop.run(_run(spec))


async def _run(spec: BundleSpec) -> Mapping[str, int]:
    async with AsyncExitStack() as stack:
        task = await SourceTask.open(spec, stack)
        try:
            await task.run()
        except BaseExceptionGroup as error:
            raise root_cause(error) from error
        return task.totals()


class SourceTask:
    """
    One run of one bundle; made by ``open``.

    Args:
        spec: the bundle.
        source: the connected source cluster.
        target: the connected target cluster.
        identity: the bundle's producer id on the target.
        writer: a producer of the target for progress.
        syncs_writer: a producer of the cluster that holds the offset-syncs topic.
    """

    def __init__(
        self,
        spec: BundleSpec,
        *,
        source: WireClient,
        target: WireClient,
        identity: ProducerIdentity,
        writer: Writer,
        syncs_writer: Writer | None,
    ) -> None:
        self._spec = spec
        self._source = source
        self._target = target
        self._partitions: dict[TopicPartition, Mirrored] = {}
        self._lanes: dict[TopicPartition, Lane] = {}
        self._budget = Budget(spec.buffer_memory)
        self._producer = Producer(
            flow=str(spec.flow),
            client=target,
            identity=identity,
            max_request_size=spec.max_request_size,
        )
        self._positions = Positions(
            self._producer,
            flow=str(spec.flow),
            source=spec.flow.source,
            topic=TopicName(spec.offsets_topic),
            partitions=spec.offsets_partitions,
            now_ms=now_ms,
        )
        intake = Intake(self._producer, self._budget, read_committed=spec.fetch.read_committed)
        self._fetcher = Fetcher(
            client=source,
            partitions=self._partitions,
            spec=spec.fetch,
            budget=self._budget,
            take=intake.take,
        )
        self._reporter = Reporter(spec, self._partitions, writer, now_ms)
        self._syncs: OffsetSyncs | None = None
        if spec.offset_syncs is not None and syncs_writer is not None:
            self._syncs = OffsetSyncs(spec.offset_syncs, syncs_writer)
        self._control = ControlFollower(spec)

    @classmethod
    async def open(cls, spec: BundleSpec, stack: AsyncExitStack) -> SourceTask:
        """Connects to both clusters and takes over the bundle's producer id."""
        source = WireClient(spec.flow.source, aiokafka_settings(spec.source))
        target = WireClient(spec.flow.target, aiokafka_settings(spec.target))
        for client in (source, target):
            await client.start()
            stack.push_async_callback(client.close)
        syncs_writer = None
        if spec.offset_syncs is not None:
            syncs_writer = await stack.enter_async_context(
                Writer(spec.offset_syncs.cluster, spec.offset_syncs.properties)
            )
        return cls(
            spec,
            source=source,
            target=target,
            identity=await bundle_identity(spec, target),
            writer=await stack.enter_async_context(Writer(spec.flow.target, spec.target)),
            syncs_writer=syncs_writer,
        )

    async def run(self) -> None:
        """Runs until the control topic says to stop, then drains and commits."""
        async with asyncio.TaskGroup() as group:
            lasting = [
                group.create_task(self._producer.run(), name="producer"),
                group.create_task(self._control.follow(), name="control"),
                group.create_task(self._reporter.run(), name="report"),
            ]
            if self._syncs is not None:
                lasting.append(group.create_task(self._syncs.run(), name="offset-syncs"))
                lasting.append(group.create_task(self._promote_syncs(), name="promote"))
            intake = [
                group.create_task(self._obey(), name="assignments"),
                group.create_task(self._fetcher.run(), name="fetcher"),
                group.create_task(self._commit_often(), name="commit"),
            ]
            await self._control.stop.wait()
            for task in intake:
                task.cancel()
            await self._drain()
            for task in lasting:
                task.cancel()

    def totals(self) -> Mapping[str, int]:
        """What was mirrored in this run."""
        return {
            "records": sum(p.records for p in self._partitions.values()),
            "bytes": sum(p.bytes for p in self._partitions.values()),
            "pid": os.getpid(),
        }

    async def _drain(self) -> None:
        partitions = list(self._partitions.values())
        lanes = [partition.lane for partition in partitions]
        if not await self._producer.flush(lanes, within_s=_DRAIN_WITHIN_S):
            stuck = [str(lane.target) for lane in lanes if not lane.is_idle]
            log.warning("source.not_drained", partitions=stuck, within_s=_DRAIN_WITHIN_S)
        committed = await self._positions.commit(partitions)
        if self._syncs is not None:
            await self._syncs.promote()
        await self._reporter.report()
        log.info("source.stopped", positions=committed, **self.totals())

    async def _obey(self) -> None:
        """Carries out assignments as they come."""
        while True:
            await self._carry_out(await self._control.next_assignment())

    async def _carry_out(self, assignment: Assignment) -> None:
        gone = self._partitions.keys() - assignment.partitions.keys()
        new = assignment.partitions.keys() - self._partitions.keys()
        if gone:
            await self._give_up(gone)
        if new:
            await self._take_on({source: assignment.partitions[source] for source in new})
        self._reporter.generation = assignment.generation
        self._reporter.wake()

    async def _take_on(self, partitions: Mapping[TopicPartition, TopicName]) -> None:
        topics = {p.topic for p in self._partitions} | {p.topic for p in partitions}
        remotes = {m.lane.target.topic for m in self._partitions.values()} | {*partitions.values()}
        # What runs already must not end because a cluster does not answer just now.
        async for attempt in stamina.retry_context(
            on=Unavailable, attempts=None, timeout=None, wait_max=_RETRY_MOST_S
        ):
            with attempt:
                positions = await self._read_positions()
                await self._source.track(topics)
                await self._target.track(remotes | {self._spec.offsets_topic})
        for source, remote in partitions.items():
            mirrored = self._mirrored(source, TopicPartition(remote, source.partition))
            if (offset := positions.get(source)) is not None:
                mirrored.position = offset + 1
                mirrored.mirrored = mirrored.committed = offset
            self._partitions[source] = mirrored
        log.info("source.partitions_assigned", partitions=len(partitions), known=len(positions))
        self._fetcher.changed()

    async def _read_positions(self) -> dict[TopicPartition, int]:
        flow = self._spec.flow
        records = await read_to_end(
            flow.target, self._spec.target, self._spec.offsets_topic, newest_only=True
        )
        return positions_of(((r.key, r.value) for r in records), flow.source)

    async def _give_up(self, partitions: set[TopicPartition]) -> None:
        given = [self._partitions.pop(source) for source in partitions]
        is_drained = await self._producer.flush([m.lane for m in given], within_s=_GIVE_UP_WITHIN_S)
        await self._positions.commit(given)
        if not is_drained:
            # What is still under way must not be written after another bundle has taken over.
            await self._positions.commit(list(self._partitions.values()))
            raise Stuck(str(self._spec.flow), "partitions that were revoked cannot be drained")
        for mirrored in given:
            if self._syncs is not None:
                self._syncs.forget(mirrored.source)
        log.info("source.partitions_revoked", partitions=len(given))

    def _mirrored(self, source: TopicPartition, target: TopicPartition) -> Mirrored:
        # A lane lives as long as its producer id: the broker remembers its sequence numbers.
        lane = self._lanes.setdefault(target, Lane(target))
        mirrored = Mirrored(source, lane)

        def acknowledged(batch: Outgoing) -> None:
            self._budget.give(batch.size)
            mirrored.acknowledge(batch, now_ms())
            if self._syncs is not None:
                self._syncs.acknowledged(mirrored, batch)
            self._fetcher.acknowledged()

        def dropped(batches: Sequence[Outgoing]) -> None:
            size = sum(batch.size for batch in batches)
            self._budget.give(size)
            mirrored.queued -= size
            mirrored.position = batches[0].offsets[0]
            self._fetcher.acknowledged()

        def refused(code: int) -> None:
            self._budget.give(mirrored.queued)
            mirrored.queued = 0
            mirrored.error = f"the target refuses a record for good: {code_name(code)}"
            log.error(
                "source.record_refused",
                topic=source.topic,
                partition=source.partition,
                after_offset=mirrored.mirrored,
                error=code_name(code),
            )
            self._reporter.wake()

        lane.on_ack, lane.on_dropped, lane.on_refused = acknowledged, dropped, refused
        return mirrored

    async def _commit_often(self) -> None:
        while True:
            await asyncio.sleep(self._spec.flush_interval_s)
            await self._positions.commit(list(self._partitions.values()))

    async def _promote_syncs(self) -> None:
        while self._syncs is not None:
            await asyncio.sleep(_PROMOTE_EVERY_S)
            await self._syncs.promote()
