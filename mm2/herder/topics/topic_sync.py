"""What a leader keeps in step beside the bundles: topics, their settings and their ACLs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.core.policy import ReplicationPolicy
from mm2.core.topics.missing_topics import MissedOnce
from mm2.herder.topics.discovery import Assigned, Discovery
from mm2.kafka.cancelling import cancellable
from mm2.kafka.flow_clusters import FlowClusters
from mm2.supervision import Supervised, run_periodically

log = structlog.get_logger()

_RETRY_INCOMPLETE_S: Final = 10.0
"""
A remote topic that could not be created is tried again soon, not at the next refresh; and what is
missing is given up when it is missed again.
"""


class TopicSync:
    """Refreshes the topics of one flow periodically."""

    def __init__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        self._config = config
        self._clusters = clusters
        self._discovery = Discovery(config, clusters)
        self._is_known = asyncio.Event()
        self._is_missed = asyncio.Event()
        self._part: Supervised | None = None
        self._missed = MissedOnce()

    @property
    def policy(self) -> ReplicationPolicy:
        """The flow's replication policy."""
        return self._discovery.policy

    def refresh(self) -> None:
        """Refreshes the topics now: a task misses a remote one."""
        self._is_missed.set()

    def reconfigure(self, config: FlowConfig) -> None:
        """
        Goes on with other settings, and refreshes at once.

        Raises:
            ConfigError: a filter cannot be made; everything stays as it is.
        """
        self._discovery = Discovery(config, self._clusters)
        self._config = config
        if self._part is not None:
            self._part.restart()

    async def run(self, assign: Callable[[Assigned], Awaitable[None]]) -> None:
        """
        Refreshes until cancelled.

        Args:
            assign: is called with everything that can be copied, whenever that has changed.
        """
        self._part = Supervised("topic-sync", lambda: self._keep_synced(assign), is_cut=True)
        await self._part.run()

    async def _keep_synced(self, assign: Callable[[Assigned], Awaitable[None]]) -> None:
        self._is_known.clear()
        source, discovery = self._config.source, self._discovery
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_assigned(assign), name="refresh-topics")
            for name, interval, job in (
                ("sync-topic-configs", source.sync_topic_configs, discovery.sync_configs),
                ("sync-topic-acls", source.sync_topic_acls, discovery.sync_acls),
            ):
                if interval is not None:
                    group.create_task(self._sync(name, interval, job), name=name)

    async def _keep_assigned(self, assign: Callable[[Assigned], Awaitable[None]]) -> None:
        """Looks for new topics and partitions at once, then at each interval."""
        assigned, discovery = None, self._discovery
        while True:
            try:
                assigned = await cancellable(self._refresh(assign, assigned))
                self._is_known.set()
                await cancellable(discovery.delete_orphans())
            except Exception as error:  # noqa: BLE001 - as any periodic job, it tries again
                log.warning("job.failed", job="refresh-topics", error=str(error))
                discovery.is_complete = False
            interval = self._config.source.refresh_topics
            if self._missed.is_any or not discovery.is_complete:
                await self._wait(_shorter(_RETRY_INCOMPLETE_S, interval))
            else:
                await self._wait(None if interval is None else interval.total_seconds())

    async def _refresh(
        self, assign: Callable[[Assigned], Awaitable[None]], before: Assigned | None
    ) -> Assigned:
        found = self._missed.update(before or {}, await self._discovery.refresh())
        if found != before:
            await assign(found)
        return found

    async def _wait(self, seconds: float | None) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_missed.wait()
        self._is_missed.clear()

    async def _sync(
        self, name: str, interval: timedelta, job: Callable[[], Awaitable[None]]
    ) -> None:
        """Once what is mirrored is known, now and at each interval."""
        await self._is_known.wait()
        await run_periodically(interval.total_seconds(), job, name=name, at_once=True)


def _shorter(seconds: float, interval: timedelta | None) -> float:
    return seconds if interval is None else min(seconds, interval.total_seconds())
