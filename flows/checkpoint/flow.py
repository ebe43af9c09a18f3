"""
The checkpoint flow: carries the offsets of consumer groups from the source over to the target.

Java: ``MirrorCheckpointConnector`` and its task (behaviours section 9). Java cuts the groups into
tasks; here one loop follows them all, because its work is to wait for answers. Java's positions for
this connector are always zero and say nothing (behaviours 1.4), so none are kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

import structlog

from flows.checkpoint.emit import Emission, Translation
from flows.checkpoint.follow import RunFollower, SyncFollower
from flows.checkpoint.groups import FollowedGroups
from flows.checkpoint.outbox import Outbox
from flows.checkpoint.store import CheckpointStore, load_checkpoints
from flows.checkpoint.sync import GroupOffsetSync
from mm2.config.clients import data_producer_properties
from mm2.config.flow import FlowConfig
from mm2.core.filters import build_group_filter, build_topic_filter
from mm2.core.model import CHECKPOINT_CONNECTOR
from mm2.core.offset_sync_store import OffsetSyncStore
from mm2.core.policy import ReplicationPolicy, build_policy
from mm2.core.translation import OffsetTranslation, RunStore
from mm2.herder.clusters import FlowClusters
from mm2.herder.supervision import every
from mm2.herder.topics import offset_runs_topic, offset_syncs_topic
from mm2.kafka.admin import Admin

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
    if settings.runs and settings.emit_checkpoints is not None:
        async with _own_clients(config) as own:
            await _run(config, own)


@asynccontextmanager
async def _own_clients(config: FlowConfig) -> AsyncIterator[FlowClusters]:
    """Admin clients with the roles of Java's; nobody else uses them, so they may be renewed."""
    settings = config.checkpoint
    source = Admin(config.flow.source, settings.source_admin("checkpoint-source-admin", 0))
    target = Admin(config.flow.target, settings.target_admin("checkpoint-target-admin", 0))
    try:
        yield FlowClusters(source, target)
    finally:
        await source.close()
        await target.close()


async def _run(config: FlowConfig, clusters: FlowClusters) -> None:
    translation = _translation(config)
    group_filter = build_group_filter(config.checkpoint.properties)
    topic = translation.policy.checkpoints_topic(config.flow.source)
    known = await load_checkpoints(config.checkpoint, topic, group_filter)
    store = CheckpointStore(known or ())
    # Without earlier checkpoints, translations must not fall behind what was emitted (C238).
    syncs = OffsetSyncStore(must_read_to_end=known is None)
    runs = RunStore()
    groups = FollowedGroups(
        clusters.source,
        group_filter=group_filter,
        topic_filter=translation.topic_filter,
        interval=config.checkpoint.refresh_groups,
    )
    producer = data_producer_properties(config.worker, config.checkpoint.properties, 0)
    outbox = Outbox(config.flow.target, producer.properties, topic, store)
    jobs: dict[str, Callable[[], Coroutine[None, None, None]]] = {
        "offset-syncs": _follower(config, translation.policy, syncs).run,
        "offset-runs": _run_follower(config, clusters, runs).run,
        "refresh-groups": groups.keep_current,
        "emit-checkpoints": partial(
            _emit,
            config,
            Emission(
                clusters.source,
                groups=groups,
                translation=translation,
                translator=OffsetTranslation(syncs, runs),
                store=store,
                outbox=outbox,
            ),
        ),
        "sync-group-offsets": partial(
            _sync, config, GroupOffsetSync(clusters.target, groups, store)
        ),
    }
    try:
        async with asyncio.TaskGroup() as work:
            for name, job in jobs.items():
                work.create_task(job(), name=name)
    finally:
        await outbox.close()


def _translation(config: FlowConfig) -> Translation:
    properties = config.checkpoint.properties
    return Translation(
        flow=config.flow,
        policy=build_policy(properties),
        topic_filter=build_topic_filter(properties),
    )


def _follower(
    config: FlowConfig, policy: ReplicationPolicy, store: OffsetSyncStore
) -> SyncFollower:
    settings = config.checkpoint
    topic = offset_syncs_topic(config, policy)
    is_on_source = settings.offset_syncs_location == "source"
    alias = config.flow.source if is_on_source else config.flow.target
    return SyncFollower(alias, settings.offset_syncs_consumer(0), topic, store)


def _run_follower(config: FlowConfig, clusters: FlowClusters, store: RunStore) -> RunFollower:
    settings = config.checkpoint
    is_on_source = settings.offset_syncs_location == "source"
    alias = config.flow.source if is_on_source else config.flow.target
    admin = clusters.source if is_on_source else clusters.target
    properties = settings.offset_syncs_consumer(0)
    return RunFollower(alias, properties, offset_runs_topic(config), store, admin)


async def _emit(config: FlowConfig, emission: Emission) -> None:
    """Emits after each interval, never before the first has passed (C281)."""
    interval = config.checkpoint.emit_checkpoints
    assert interval is not None  # noqa: S101 - the flow does not run otherwise
    seconds = max(interval.total_seconds(), _SHORTEST_S)
    await every(seconds, emission.round, name="emit-checkpoints", at_once=False)


async def _sync(config: FlowConfig, sync: GroupOffsetSync) -> None:
    """Syncs after each interval, if the user wants that (C279)."""
    interval = config.checkpoint.sync_group_offsets
    if interval is not None:
        seconds = interval.total_seconds()
        await every(seconds, sync.round, name="sync-group-offsets", at_once=False)
