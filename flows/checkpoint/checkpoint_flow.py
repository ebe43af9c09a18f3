"""
The checkpoint flow: carries the offsets of consumer groups from the source over to the target.

Java: ``MirrorCheckpointConnector`` and its task (behaviours section 9). Java cuts the groups into
tasks; here one loop follows them all, because its work is to wait for answers. Java's positions for
this connector are always zero and mean nothing (behaviours 1.4), so none are kept.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import structlog

from flows.checkpoint.checkpoint_reporter import CheckpointReporter, Latencies
from flows.checkpoint.checkpoint_store import (
    CheckpointStore,
    DeletedGroups,
    load_checkpoints,
    sync_store,
)
from flows.checkpoint.commit_follower import CommitFollower, RecentCommits
from flows.checkpoint.emission import CheckpointSelector, Emission
from flows.checkpoint.followed_groups import FollowedGroups
from flows.checkpoint.group_offset_sync import GroupOffsetSync, StoreNotes
from flows.checkpoint.outbox import CheckpointOutbox
from flows.checkpoint.recreated_topics import RecreatedTopics
from flows.checkpoint.reverse_flow import TranslationDirections, build_directions
from flows.checkpoint.translation_followers import translation_followers
from mm2.aligned_waits import aligned
from mm2.checkpoints.live_topic_ids import LiveTopicIds
from mm2.config.clients import data_producer_properties
from mm2.config.flow_config import FlowConfig
from mm2.config.transforms.chain_reading import chain_of_bytes
from mm2.core.filters import TopicFilter, build_group_filter
from mm2.core.internal_records import Checkpoint
from mm2.core.model import CHECKPOINT_CONNECTOR
from mm2.core.policy import build_policy
from mm2.core.translation.offset_translation import OffsetTranslation, RunStore
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import FlowClusters
from mm2.supervision import run_periodically

log = structlog.get_logger()

_SHORTEST_S: Final = 0.1
"""Stands for an interval of zero, which means "without a pause"."""


async def run_checkpoints(config: FlowConfig, clusters: FlowClusters) -> None:
    """
    Emits checkpoints and syncs group offsets until cancelled; ends at once when off (C474).

    What fails is logged and tried again at its next interval (C281).

    Raises:
        ConfigError: a policy or filter that cannot be had.
        ClusterError: the flow's topics cannot be read.
    """
    del clusters  # The herder's clients serve its own jobs.
    settings = config.checkpoint
    for refusal in settings.refusals:
        log.error("connector.refused", connector=CHECKPOINT_CONNECTOR, reason=refusal)
    if config.emits_checkpoints:
        async with _own_clients(config) as own:
            await _run(config, own)


@asynccontextmanager
async def _own_clients(config: FlowConfig) -> AsyncIterator[FlowClusters]:
    """Admin clients with the roles of Java's; used here only, so they may be renewed."""
    settings = config.checkpoint
    source = Admin(config.flow.source, settings.source_admin("checkpoint-source-admin", 0))
    target = Admin(config.flow.target, settings.target_admin("checkpoint-target-admin", 0))
    try:
        yield FlowClusters(source, target)
    finally:
        await source.close()
        await target.close()


async def _run(config: FlowConfig, clusters: FlowClusters) -> None:
    policy = build_policy(config.checkpoint.properties)
    topic = policy.checkpoints_topic(config.flow.source)
    group_filter = build_group_filter(config.checkpoint.properties)
    known = await load_checkpoints(config.checkpoint, topic, group_filter)
    syncs, runs = sync_store(known), RunStore()
    live = LiveTopicIds(config, clusters.source, clusters.target)
    directions = build_directions(
        config, clusters, policy, OffsetTranslation(syncs, runs, live.ids), live
    )
    work = _Work(config, clusters, known or (), directions)
    followers = translation_followers(config, clusters, syncs, runs)
    if not config.checkpoint.enabled:
        followers = {}  # It copies nothing, and leads groups back only.
    try:
        async with asyncio.TaskGroup() as tasks:
            for name, job in {**followers, **directions.jobs, **work.jobs()}.items():
                tasks.create_task(job(), name=name)
    finally:
        await work.outbox.close()


class _Work:
    def __init__(
        self,
        config: FlowConfig,
        clusters: FlowClusters,
        known: Iterable[Checkpoint],
        directions: TranslationDirections,
    ) -> None:
        self._config = config
        settings, source = config.checkpoint, config.flow.source
        policy = build_policy(settings.properties)
        store = CheckpointStore(known)
        latencies = Latencies()
        self._groups = _groups(config, clusters.source, store, directions.topic_filter)
        self._renaming = directions.renaming
        self.outbox = CheckpointOutbox(
            config.flow.target,
            data_producer_properties(config.worker, settings.properties, 0).properties,
            policy.checkpoints_topic(source),
            store,
            on_written=latencies.written,
            chain=chain_of_bytes(settings.properties),
        )
        self._emission = Emission(
            clusters.source,
            clusters.target,
            groups=self._groups,
            choice=CheckpointSelector(
                directions.renaming, directions.translator, store, directions.returning
            ),
            outbox=self.outbox,
            until_caught_up=directions.until_caught_up,
        )
        self._recreated = RecreatedTopics(directions.recreated, store)
        notes = StoreNotes(store, self._emission.one_at_a_time, self.outbox.write)
        self._sync = GroupOffsetSync(
            clusters.target, self._groups, store, directions.returning, notes
        )
        self._reporter = CheckpointReporter(
            config.herder.names.progress_topic, self.outbox, self._groups, latencies, self._sync
        )

    def jobs(self) -> dict[str, Callable[[], Coroutine[None, None, None]]]:
        """All that is to run, by names."""
        jobs: dict[str, Callable[[], Coroutine[None, None, None]]] = {
            "refresh-groups": self._groups.keep_current,
            "emit-checkpoints": partial(_emit, self._config, self._round),
            "watch-topics": self._watch_topics,
            "sync-group-offsets": partial(_sync, self._config, self._sync),
            "report-checkpoints": self._reporter.run,
        }
        if self._config.checkpoint.follow_commits:
            jobs["follow-commits"] = self._commit_follower().run
        return jobs

    async def _round(self) -> None:
        """Checks the topics right before: exact means of these."""
        await self._recreated.check()
        await self._emission.round()

    async def _watch_topics(self) -> None:
        while True:
            await asyncio.sleep(aligned(round(self._recreated.interval_s)))
            if await self._recreated.check():
                await self._emission.emit(())

    def _commit_follower(self) -> CommitFollower:
        consumer = self._config.checkpoint.source_consumer("commits-source-consumer", 0)
        commits = RecentCommits(self._groups, self._renaming, time.monotonic)
        return CommitFollower(self._config.flow.source, consumer, commits, self._emission)


def _groups(
    config: FlowConfig, source: Admin, store: CheckpointStore, topic_filter: TopicFilter
) -> FollowedGroups:
    settings = config.checkpoint
    groups = FollowedGroups(
        source,
        group_filter=build_group_filter(settings.properties),
        topic_filter=topic_filter,
        interval=settings.refresh_groups,
    )
    if settings.tombstone_deleted_groups:
        groups.watch_for_absent(store.groups, DeletedGroups(store).tombstone_missing)
    return groups


async def _emit(config: FlowConfig, round_: Callable[[], Awaitable[None]]) -> None:
    """Emits after each interval, never before the first has passed (C281)."""
    interval = config.checkpoint.emit_checkpoints
    assert interval is not None  # noqa: S101 - the flow does not run otherwise
    seconds = max(interval.total_seconds(), _SHORTEST_S)
    await run_periodically(seconds, round_, name="emit-checkpoints", at_once=False)


async def _sync(config: FlowConfig, sync: GroupOffsetSync) -> None:
    """Syncs after each interval, if the user wants that (C279); a flow that is off sets nothing."""
    interval = config.checkpoint.sync_group_offsets
    if interval is not None and config.checkpoint.enabled:
        seconds = interval.total_seconds()
        await run_periodically(seconds, sync.round, name="sync-group-offsets", at_once=False)
