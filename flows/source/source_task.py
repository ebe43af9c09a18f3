"""
The source task: one bundle of partitions, copied by one asyncio loop in a Spark worker.

It follows the control topic, continues at the stored positions, and writes positions, offset syncs
and progress to Kafka as it goes. What it can handle it handles itself and reports per partition; it
raises only when the whole bundle must start over.

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

from flows.source.assigned_partitions import AssignedPartitions
from flows.source.commit.commit_progress import CommitProgress
from flows.source.commit.committer import with_refresh
from flows.source.commit.position_commits import drain
from flows.source.connections import Connect, Connections, open_connections
from flows.source.control_follower import ControlFollower
from flows.source.event_copies import EventCopies
from flows.source.fetch.rate_limit import RateLimit
from flows.source.send.producer_id import renew_transactional_id
from flows.source.task_lease import TaskLease
from flows.source.task_parts import TaskParts
from mm2.config.text.expressions import RESOLVED
from mm2.errors import root_cause
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol import lease_clock
from mm2.protocol.bundle_spec import BundleSpec
from mm2.telemetry.levels import take_levels
from mm2.telemetry.logs import configure_task_logs

log = structlog.get_logger()


def run_bundle(spec: BundleSpec) -> Mapping[str, int]:
    """
    Runs a bundle until the control topic stops it.

    Returns:
        ``records``, ``bytes``, ``pid``, and ``drained``: 1 if neither this task nor an earlier one
        of the bundle may still write.

    Raises:
        Fenced: another leader or task has taken the bundle over.
        SequenceLost: the bundle must start over with a new producer epoch.
        ClusterError: a cluster cannot be reached at the start.
    """
    copies = EventCopies() if spec.copies_events else None
    configure_task_logs(copies.add if copies else None)
    take_levels(spec.log_levels)
    RESOLVED.take(spec.hidden)
    with structlog.contextvars.bound_contextvars(flow=str(spec.flow), task=spec.index):
        return uvloop.run(_run(spec, copies=copies))


async def _run(
    spec: BundleSpec, connect: Connect = WireClient, *, copies: EventCopies | None = None
) -> Mapping[str, int]:
    control = ControlFollower(spec, RateLimit(time.monotonic), TaskLease(lease_clock.seconds))
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.TaskGroup() as group:
                following = group.create_task(control.follow(), name="control")
                opening = SourceTask.open(spec, control, stack, connect)
                task = await control.unless_stopped(opening)
                if task is not None:
                    await task.run(copies)
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

    Attributes:
        is_drained: whether all that it sent was answered and committed before it ended.
    """

    def __init__(
        self, spec: BundleSpec, control: ControlFollower, connections: Connections
    ) -> None:
        self._spec = spec
        self._control = control
        self._connections = connections
        self._parts = TaskParts(spec, control, connections)
        self.is_drained = False

    @classmethod
    async def open(
        cls, spec: BundleSpec, control: ControlFollower, stack: AsyncExitStack, connect: Connect
    ) -> SourceTask:
        """
        Connects to both clusters and takes over the bundle's producer id.

        Raises:
            Fenced: another leader has the bundle, or no node leads.
            ClusterError: a cluster cannot be reached.
        """
        connections = await open_connections(spec, control.lease, stack, connect)
        return cls(await with_refresh(spec, connections.target), control, connections)

    async def run(self, copies: EventCopies | None = None) -> None:
        """
        Runs until the control topic stops it, then drains and commits.

        Args:
            copies: of log events, to be written to the progress topic.
        """
        parts, to = self._parts, (self._spec, self._connections.writer)
        async with asyncio.TaskGroup() as group:
            lasting = [
                group.create_task(parts.producer.run(), name="producer"),
                group.create_task(parts.lease.run(), name="lease"),
                group.create_task(parts.reporter.run(), name="report"),
                group.create_task(parts.error_policy.run(), name="error-policy"),
                group.create_task(parts.committer.run(), name="commit"),
                group.create_task(parts.translation.run(), name="translation"),
                group.create_task(self._renew_transactional_id(), name="transactional-id"),
            ]
            if copies is not None:
                lasting.append(group.create_task(copies.run(*to), name="event-copies"))
            obeying = group.create_task(self._obey(), name="assignments")
            intake = [
                group.create_task(parts.fetcher.run(), name="fetcher"),
                group.create_task(parts.gap_detection.run(), name="gap-detection"),
                group.create_task(parts.overlaps.run(), name="overlaps"),
                group.create_task(parts.record_stage.run(), name="transform"),
            ]
            await self._control.stop.wait()
            for task in intake:
                task.cancel()
            await parts.assigned.end(obeying)
            await self._drain()
            if copies is not None:
                await copies.flush(*to)
            for task in lasting:
                task.cancel()

    async def _renew_transactional_id(self) -> None:
        connections = self._connections
        await renew_transactional_id(self._spec, connections.target, connections.identity)

    def totals(self) -> Mapping[str, int]:
        """What was mirrored in this run, of partitions that were given up meanwhile too."""
        parts: list[AssignedPartitions | CommitProgress] = [
            self._parts.assigned,
            *(partition.progress for partition in self._parts.partitions.values()),
        ]
        return {
            "records": sum(part.records for part in parts),
            "bytes": sum(part.bytes for part in parts),
            "pid": os.getpid(),
        }

    async def _drain(self) -> None:
        parts = self._parts
        partitions = list(parts.partitions.values())
        drained = await drain(
            partitions, parts.producer, parts.committer, within_s=self._spec.drain_within_s
        )
        await parts.translation.end(partitions)
        parts.reporter.wake()
        await parts.reporter.report()
        # Whoever reads that we have ended may change positions; none of ours may be on its way.
        if drained.is_complete:
            await parts.reporter.final_report()
            self.is_drained = True
        log.info("source.stopped", positions=drained.positions, **self.totals())

    async def _obey(self) -> None:
        while True:
            await self._parts.assigned.carry_out(await self._control.next_assignment())
