"""
The source flow's control side: leads the flow, keeps its plan current, and runs its bundles.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final

import structlog

from mm2.config.flow import FlowConfig
from mm2.core.balance import Balance, Strategy
from mm2.core.model import TopicPartition
from mm2.herder.bundles import Bundles, earlier_bundles
from mm2.herder.clusters import FlowClusters
from mm2.herder.control import (
    Assignment,
    Lease,
    Limit,
    MissingTopic,
    Wanted,
    encode_lease,
)
from mm2.herder.discovery import Discovery
from mm2.herder.exactly_once import fence_earlier_tasks
from mm2.herder.ports import BundleRunner
from mm2.herder.specs import bundle_spec
from mm2.herder.supervision import every, keep_running
from mm2.herder.topics import offset_syncs_topic
from mm2.herder.wanted import ControlBacklog, read_control, readable, until_resumed
from mm2.herder.watch import Watch
from mm2.kafka.log import LogTail
from mm2.kafka.writer import Writer

log = structlog.get_logger()

_RETRY_INCOMPLETE_S: Final = 10.0
"""A remote topic that could not be created is tried again soon, not at the next refresh."""


class SourceFlow:
    """
    Runs the source side of one flow on this node.

    Args:
        config: the flow.
        clusters: its admin clients.
        runner: runs bundles.
        worker_id: names this node in the lease.
    """

    def __init__(
        self, config: FlowConfig, clusters: FlowClusters, runner: BundleRunner, worker_id: str
    ) -> None:
        self._config = config
        self._runner = runner
        self._worker_id = worker_id
        self._control = config.herder.names.control_topic
        self._consumer = config.herder.client("consumer", "control")
        self._discovery = Discovery(config, clusters)
        self._discovered = asyncio.Event()
        self._wanted = asyncio.Event()
        self._is_stopping = False
        self._interrupted = asyncio.Event()

    def stop(self) -> None:
        """Asks ``run`` to drain and end."""
        self._is_stopping = True
        self._interrupted.set()

    async def run(self) -> None:
        """
        Mirrors until ``stop``, whenever operators want the flow to run.

        Returns when everything under way is committed.
        """
        target = self._config.flow.target
        properties = self._config.herder.client("producer", "control")
        # An assignment of many topics is larger than brokers take, and compresses very well.
        async with Writer(target, properties, compression="gzip") as writer:
            while not self._is_stopping:
                self._interrupted.clear()
                backlog = await read_control(target, self._consumer, self._control)
                if backlog.wanted.is_stopped:
                    await self._hold(backlog)
                else:
                    await self._mirror(writer, backlog)

    async def _hold(self, backlog: ControlBacklog) -> None:
        """Waits until the flow is wanted again, or ``stop``."""
        log.info("flow.held", reason=backlog.wanted.reason)
        target = self._config.flow.target
        async with asyncio.TaskGroup() as group:
            resumed = group.create_task(
                until_resumed(target, self._consumer, self._control, backlog), name="resumed"
            )
            resumed.add_done_callback(lambda _: self._interrupted.set())
            await self._interrupted.wait()
            resumed.cancel()

    async def _mirror(self, writer: Writer, backlog: ControlBacklog) -> None:
        """Leads the flow until interrupted, and then lets its bundles drain and commit."""
        self._discovered.clear()
        epoch, lease, earlier = await self._lead(writer, backlog)
        async with asyncio.TaskGroup() as group:
            bundles = self._bundles(writer, epoch, earlier, group)
            watch = self._watch(bundles, epoch)
            following = self._follow_control(epoch, lease, bundles, backlog.seen)
            jobs = [
                group.create_task(self._keep_assigned(bundles), name="refresh-topics"),
                group.create_task(keep_running("watch", watch.run), name="watch"),
                group.create_task(following, name="lease"),
                *self._periodic(group),
            ]
            await self._interrupted.wait()
            for job in jobs:
                job.cancel()
            await bundles.stop()

    def _bundles(
        self,
        writer: Writer,
        epoch: int,
        earlier: Sequence[Collection[TopicPartition]],
        group: asyncio.TaskGroup,
    ) -> Bundles:
        source = self._config.source
        syncs_topic = offset_syncs_topic(self._config, self._discovery.policy)
        return Bundles(
            self._runner,
            writer,
            spec_of=lambda index: bundle_spec(self._config, index, epoch, syncs_topic),
            control_topic=self._control,
            epoch=epoch,
            balance=Balance(Strategy(source.assignment_strategy), source.tasks_max, earlier),
            group=group,
        )

    def _watch(self, bundles: Bundles, epoch: int) -> Watch:
        flow = self._config.flow
        return Watch(
            bundles,
            target=flow.target,
            consumer=self._config.herder.client("consumer", "progress"),
            topic=self._config.herder.names.progress_topic,
            epoch=epoch,
            look_every=self._config.source.assignment_balance,
        )

    async def _lead(
        self, writer: Writer, backlog: ControlBacklog
    ) -> tuple[int, int, list[list[TopicPartition]]]:
        """
        Takes the flow over with a higher epoch than anybody had.

        Returns the epoch, the offset of the lease, and the bundles of the leader before.
        """
        led = [e for e in backlog.entries if not isinstance(e, Limit | Wanted)]
        epoch = max((entry.epoch for entry in led), default=0) + 1
        lease = Lease(epoch=epoch, owner=self._worker_id)
        offset = await writer.send(self._control, *encode_lease(lease), partition=0)
        log.info("flow.led", epoch=epoch, owner=self._worker_id)
        assignments = [entry for entry in led if isinstance(entry, Assignment)]
        await fence_earlier_tasks(
            self._config, max((each.index + 1 for each in assignments), default=0)
        )
        return epoch, offset, earlier_bundles(assignments)

    async def _follow_control(
        self, epoch: int, lease_offset: int, bundles: Bundles, seen: int
    ) -> None:
        """
        Stands back when another node has taken over; hears what operators want and tasks ask for.

        Two nodes that start together may choose the same epoch; then the later lease counts.
        """
        async for record in LogTail(self._config.flow.target, self._consumer, self._control):
            entry = readable(record)
            if isinstance(entry, MissingTopic) and entry.epoch == epoch:
                self._wanted.set()
            is_news = record.offset > seen
            if is_news and isinstance(entry, Wanted) and entry.is_stopped:
                self._interrupted.set()
                return
            if not isinstance(entry, Lease) or entry.owner == self._worker_id:
                continue
            if (entry.epoch, record.offset) > (epoch, lease_offset):
                log.error("flow.taken_over", epoch=entry.epoch, owner=entry.owner)
                bundles.abandon()
                self.stop()
                return

    async def _keep_assigned(self, bundles: Bundles) -> None:
        """Looks for new topics and partitions at once, then at each interval."""
        assigned = None
        while True:
            try:
                found = await self._discovery.refresh()
                if found != assigned:
                    await bundles.assign(found)
                    assigned = found
                self._discovered.set()
                await self._discovery.delete_orphans()
            except Exception as error:  # noqa: BLE001 - as any periodic job, it tries again
                log.warning("job.failed", job="refresh-topics", error=str(error))
                self._discovery.is_complete = False
            interval = self._config.source.refresh_topics
            if not self._discovery.is_complete:
                await self._wait(_shorter(_RETRY_INCOMPLETE_S, interval))
            else:
                await self._wait(None if interval is None else interval.total_seconds())

    async def _wait(self, seconds: float | None) -> None:
        """Waits for the next refresh, or until a task misses a remote topic."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wanted.wait()
        self._wanted.clear()

    def _periodic(self, group: asyncio.TaskGroup) -> list[asyncio.Task[None]]:
        source, discovery = self._config.source, self._discovery
        jobs = (
            ("sync-topic-configs", source.sync_topic_configs, discovery.sync_configs),
            ("sync-topic-acls", source.sync_topic_acls, discovery.sync_acls),
        )
        return [
            group.create_task(self._sync(name, interval, job), name=name)
            for name, interval, job in jobs
            if interval is not None
        ]

    async def _sync(
        self, name: str, interval: timedelta, job: Callable[[], Awaitable[None]]
    ) -> None:
        """Once what is mirrored is known, now and at each interval."""
        await self._discovered.wait()
        await every(interval.total_seconds(), job, name=name, at_once=True)


def _shorter(seconds: float, interval: timedelta | None) -> float:
    return seconds if interval is None else min(seconds, interval.total_seconds())
