"""
The source task: one bundle of partitions, copied by one asyncio loop in a Spark worker.

It follows the control topic for what to do, continues where the positions topic says, and writes
positions, offset syncs and progress to Kafka as it goes. What it can handle it handles itself and
reports per partition; it raises only when the whole bundle must start over.

On a stop the order is: no more fetches, commit what is just being handed over, wait for what is
under way, commit positions, publish the last offset syncs, report, close. A task that ends for any
other reason commits nothing more: what the target has and the positions topic does not is mirrored
again (at least once).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack

import structlog
import uvloop

from flows.source.assigned_partitions import AssignedPartitions, now_ms
from flows.source.commit.committer import make_committer
from flows.source.commit.draining import drain
from flows.source.commit.group_retention import with_refresh
from flows.source.connections import Connect, Connections, open_connections
from flows.source.control_follower import ControlFollower
from flows.source.fetch.fetcher import Fetcher
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.fetch.rate_limit import RateLimit
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.forwarder import BatchForwarder
from flows.source.forward.merge_batches import MergePolicy
from flows.source.forward.remote_tails import Tails
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_detection import GapDetection
from flows.source.publish.translation_publisher import TranslationPublisher
from flows.source.send.producer import REQUEST_TIMEOUT_MS, Producer
from flows.source.send.producer_id import renew_transactional_id
from flows.source.send.send_queue import OutgoingBatch
from flows.source.send.transaction_gate import TransactionGate
from flows.source.task_lease import TaskLease
from flows.source.task_reporter import TaskReporter
from mm2.config.text.expressions import RESOLVED
from mm2.core.model import TopicPartition
from mm2.errors import root_cause
from mm2.kafka.client_settings import milliseconds
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol import lease_clock
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.progress_records import PaceProgress
from mm2.telemetry.logs import configure_task_logs

log = structlog.get_logger()


def run_bundle(spec: BundleSpec) -> Mapping[str, int]:
    """
    Runs a bundle until the control topic says to stop.

    Returns:
        ``records``, ``bytes``, ``pid``, and ``drained``: 1 if neither this task nor an earlier one
        of the bundle may still write.

    Raises:
        Fenced: another leader or task has taken the bundle over.
        SequenceLost: the bundle must start over with a new producer epoch.
        ClusterError: a cluster cannot be reached at the start.
    """
    configure_task_logs()
    RESOLVED.take(spec.hidden)
    with structlog.contextvars.bound_contextvars(flow=str(spec.flow), task=spec.index):
        return uvloop.run(_run(spec))


async def _run(spec: BundleSpec, connect: Connect = WireClient) -> Mapping[str, int]:
    control = ControlFollower(spec, RateLimit(time.monotonic), TaskLease(lease_clock.seconds))
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.TaskGroup() as group:
                following = group.create_task(control.follow(), name="control")
                opening = SourceTask.open(spec, control, stack, connect)
                task = await control.unless_stopped(opening)
                if task is not None:
                    await task.run()
                following.cancel()
        except BaseExceptionGroup as error:
            raise root_cause(error) from error
        if task is None:
            # Earlier tasks were perhaps not fenced.
            is_drained = not spec.unsure
            return {"records": 0, "bytes": 0, "pid": os.getpid(), "drained": int(is_drained)}
        return {**task.totals(), "drained": int(task.is_drained)}


class SourceTask:
    """
    One run of one bundle; made by ``open``.

    Args:
        spec: the bundle.
        control: follows the control topic.
        connections: what it has open.

    Attributes:
        is_drained: whether all that it sent was answered and committed before it ended.
    """

    def __init__(
        self, spec: BundleSpec, control: ControlFollower, connections: Connections
    ) -> None:
        self._spec = spec
        self._control = control
        self._connections = connections
        self._lease, limit = control.lease, control.limit
        self._partitions: dict[TopicPartition, MirroredPartition] = {}
        self.is_drained = False
        source, target = connections.source, connections.target
        self._maps = TranslationPublisher(
            spec,
            connections.syncs_writer,
            self._partitions,
            source=source,
            target=target,
            producer_epoch=connections.identity.epoch,
        )
        self._reporter = TaskReporter(
            spec,
            self._partitions,
            connections.writer,
            now_ms,
            pace=lambda: PaceProgress(
                byte_rate_limit=limit.rate,
                source_throttled_ms=source.throttle.total_ms,
                target_throttled_ms=target.throttle.total_ms,
            ),
        )
        policy = MergePolicy(
            compression=spec.compression,
            most_bytes=spec.merge_bytes,
            most_plain=spec.most_plain,
        )
        self._build_writers(connections, policy)
        control.pace(self._positions.keep_pace)
        self._build_readers(connections, policy, limit)

    def _build_writers(self, connections: Connections, policy: MergePolicy) -> None:
        """Creates the producer and the committer."""
        spec = self._spec
        gate = None if spec.exactly_once is None else TransactionGate(spec.transactional_id)
        self._budget = MemoryBudget(spec.buffer_memory)
        self._producer = Producer(
            flow=str(spec.flow),
            client=connections.target,
            identity=connections.identity,
            request_timeout_ms=milliseconds(spec.target, "request.timeout.ms", REQUEST_TIMEOUT_MS),
            max_request_size=spec.max_request_size,
            gate=gate,
            policy=policy,
            may_send=lambda: self._lease.is_valid,
        )
        self._lease.on_resumed = self._producer.wake
        self._tolerance = ErrorPolicy(
            spec.errors,
            task=spec.index,
            most_plain=spec.most_plain,
            producer=self._producer,
            budget=self._budget,
            partitions=self._partitions,
            changed=self._trouble_changed,
        )
        self._positions = make_committer(
            spec,
            connections,
            gate=gate,
            producer=self._producer,
            partitions=self._partitions,
            on_settled=self._settled,
            before_commit=self._maps.settle,
            now_ms=now_ms,
        )

    def _build_readers(
        self, connections: Connections, policy: MergePolicy, limit: RateLimit
    ) -> None:
        """Makes what fetches, what watches that nothing is missed, and what tells both of work."""
        spec, source, target = self._spec, connections.source, connections.target
        intake = BatchForwarder(
            self._producer,
            self._budget,
            self._tolerance,
            read_committed=spec.fetch.read_committed,
            policy=policy,
        )
        self._continuity = GapDetection(
            spec,
            self._partitions,
            source=source,
            target=target,
            producer=self._producer,
            writer=connections.writer,
            maps=self._maps,
            committer=self._positions,
            now_ms=now_ms,
            changed=lambda: self._fetcher.changed(),  # noqa: PLW0108 - made below
            report=self._reporter.wake,
        )
        self._fetcher = Fetcher(
            client=source,
            partitions=self._partitions,
            spec=spec.fetch,
            budget=self._budget,
            settler=self._continuity.settler,
            limit=limit,
            heard=self._reporter.touched,
            take=intake.forward,
            stop=self._tolerance.stop,
        )
        self._tails = Tails(target, self._partitions, self._fetcher.acknowledged)
        self._assigned = AssignedPartitions(
            spec=spec,
            partitions=self._partitions,
            source=source,
            target=target,
            budget=self._budget,
            producer=self._producer,
            positions=self._positions,
            fetcher=self._fetcher,
            tails=self._tails,
            watch=self._continuity.watch,
            reporter=self._reporter,
            maps=self._maps,
            tolerance=self._tolerance,
        )

    def _settled(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        """What the target has for good is counted, and Java's clients may learn its offset."""
        partition.acknowledge(batch, now_ms())
        self._reporter.touched(partition)
        self._maps.settled(partition, batch)
        if partition.cut_at is not None:
            self._continuity.watch.wake()

    @classmethod
    async def open(
        cls, spec: BundleSpec, control: ControlFollower, stack: AsyncExitStack, connect: Connect
    ) -> SourceTask:
        """
        Connects to both clusters and takes over the bundle's producer id.

        Raises:
            Fenced: another leader has the bundle, or nobody leads.
            ClusterError: a cluster cannot be reached.
        """
        connections = await open_connections(spec, control.lease, stack, connect)
        return cls(await with_refresh(spec, connections.target), control, connections)

    async def run(self) -> None:
        """Runs until the control topic says to stop, then drains and commits."""
        async with asyncio.TaskGroup() as group:
            lasting = [
                group.create_task(self._producer.run(), name="producer"),
                group.create_task(self._lease.run(), name="lease"),
                group.create_task(self._reporter.run(), name="report"),
                group.create_task(self._tolerance.run(), name="tolerance"),
                group.create_task(self._positions.run(), name="commit"),
                group.create_task(self._maps.run(), name="offset-maps"),
                group.create_task(self._renew_transactional_id(), name="transactional-id"),
            ]
            obeying = group.create_task(self._obey(), name="assignments")
            intake = [
                group.create_task(self._fetcher.run(), name="fetcher"),
                group.create_task(self._continuity.run(), name="continuity"),
                group.create_task(self._tails.run(), name="tails"),
            ]
            await self._control.stop.wait()
            for task in intake:
                task.cancel()
            await self._assigned.end(obeying)
            await self._drain()
            for task in lasting:
                task.cancel()

    async def _renew_transactional_id(self) -> None:
        connections = self._connections
        await renew_transactional_id(self._spec, connections.target, connections.identity)

    def _trouble_changed(self) -> None:
        self._fetcher.acknowledged()
        self._reporter.wake()

    def totals(self) -> Mapping[str, int]:
        """What was mirrored in this run, of partitions that were given up meanwhile too."""
        parts: list[AssignedPartitions | MirroredPartition] = [
            self._assigned,
            *self._partitions.values(),
        ]
        return {
            "records": sum(part.records for part in parts),
            "bytes": sum(part.bytes for part in parts),
            "pid": os.getpid(),
        }

    async def _drain(self) -> None:
        partitions = list(self._partitions.values())
        drained = await drain(
            partitions, self._producer, self._positions, within_s=self._spec.drain_within_s
        )
        await self._maps.settle(partitions)
        await self._maps.promote()
        self._reporter.wake()
        await self._reporter.report()
        # Whoever reads that we have ended may change positions; none of ours may be on its way.
        if drained.is_complete:
            await self._reporter.final_report()
            self.is_drained = True
        log.info("source.stopped", positions=drained.positions, **self.totals())

    async def _obey(self) -> None:
        """Carries out assignments as they come."""
        while True:
            await self._assigned.carry_out(await self._control.next_assignment())
