"""
The source flow's control side: keeps the plan of a flow current, and runs its bundles.
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
from mm2.core.model import SOURCE_CONNECTOR, TopicPartition
from mm2.herder.bundles import Bundles, earlier_bundles
from mm2.herder.clusters import FlowClusters
from mm2.herder.control import Assignment, Entry, MissingTopic, Wanted
from mm2.herder.control_steering import ConnectorState, ConnectorWanted, SteeringEntry
from mm2.herder.discovery import Discovery
from mm2.herder.exactly_once import fence_earlier_tasks
from mm2.herder.leading import Term
from mm2.herder.ports import BundleRunner
from mm2.herder.specs import bundle_spec
from mm2.herder.supervision import every, keep_running
from mm2.herder.topics import offset_syncs_topic
from mm2.herder.watch import Watch

log = structlog.get_logger()

_RETRY_INCOMPLETE_S: Final = 10.0
"""A remote topic that could not be created is tried again soon, not at the next refresh."""


class SourceFlow:
    """
    Runs the source side of one flow on the node that leads it.

    Args:
        config: the flow.
        clusters: its admin clients.
        runner: runs bundles.
        term: of this leader.
    """

    def __init__(
        self, config: FlowConfig, clusters: FlowClusters, runner: BundleRunner, term: Term
    ) -> None:
        self._config = config
        self._runner = runner
        self._term = term
        self._control = config.herder.names.control_topic
        self._discovery = Discovery(config, clusters)
        self._discovered = asyncio.Event()
        self._missing = asyncio.Event()
        self._interrupted = asyncio.Event()
        self._epoch = 0
        self._is_held = False

    async def run(self) -> None:
        """
        Mirrors until the term ends, whenever operators want the flow to run.

        Returns when everything under way is committed.
        """
        async with asyncio.TaskGroup() as group:
            stopping = group.create_task(self._interrupt_at_end(), name="stopping")
            with self._term.board.heard_by(self._hear):
                while not self._term.stopping.is_set():
                    self._interrupted.clear()
                    self._is_held = self._is_unwanted
                    if self._is_held:
                        reason = self._term.board.steering.reason_of(SOURCE_CONNECTOR)
                        log.info("flow.held", reason=reason)
                        await self._interrupted.wait()
                    else:
                        await self._mirror()
            stopping.cancel()

    async def _interrupt_at_end(self) -> None:
        await self._term.stopping.wait()
        self._interrupted.set()

    def _hear(self, entry: Entry | SteeringEntry) -> None:
        """What operators want, and what tasks ask for."""
        match entry:
            case MissingTopic() if entry.epoch == self._epoch:
                self._missing.set()
            case Wanted() | ConnectorWanted() if self._is_unwanted is not self._is_held:
                self._interrupted.set()
            case _:
                pass

    @property
    def _is_unwanted(self) -> bool:
        steering = self._term.board.steering
        return steering.state_of(SOURCE_CONNECTOR) is not ConnectorState.RUNNING

    async def _mirror(self) -> None:
        """Runs the bundles until interrupted, and then lets them drain and commit."""
        self._discovered.clear()
        self._epoch = await self._term.next_epoch()
        entries = self._term.board.entries
        assignments = [entry for entry in entries if isinstance(entry, Assignment)]
        await fence_earlier_tasks(
            self._config, max((each.index + 1 for each in assignments), default=0)
        )
        async with asyncio.TaskGroup() as group:
            bundles = self._new_bundles(earlier_bundles(assignments), group)
            watch = self._watch(bundles)
            jobs = [
                group.create_task(self._keep_assigned(bundles), name="refresh-topics"),
                group.create_task(keep_running("watch", watch.run), name="watch"),
                *self._periodic(group),
            ]
            await self._interrupted.wait()
            for job in jobs:
                job.cancel()
            await bundles.stop()

    def _new_bundles(
        self, earlier: Sequence[Collection[TopicPartition]], group: asyncio.TaskGroup
    ) -> Bundles:
        source, epoch = self._config.source, self._epoch
        syncs_topic = offset_syncs_topic(self._config, self._discovery.policy)
        return Bundles(
            self._runner,
            self._term.writer,
            spec_of=lambda index: bundle_spec(self._config, index, epoch, syncs_topic),
            control_topic=self._control,
            epoch=epoch,
            balance=Balance(Strategy(source.assignment_strategy), source.tasks_max, earlier),
            group=group,
        )

    def _watch(self, bundles: Bundles) -> Watch:
        flow = self._config.flow
        return Watch(
            bundles,
            target=flow.target,
            consumer=self._config.herder.client("consumer", "progress"),
            topic=self._config.herder.names.progress_topic,
            epoch=self._epoch,
            look_every=self._config.source.assignment_balance,
        )

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
                await self._missing.wait()
        self._missing.clear()

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
