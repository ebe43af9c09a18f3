"""
Translates offsets of a flow from outside of it: what its topics say at one moment.

Works for flows of Java's MirrorMaker as well, whose offset syncs say approximately what exact runs
say exactly.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from mm2.checkpoints.live_topic_ids import LiveTopicIds
from mm2.config.flow_settings import FlowConfig
from mm2.config.offset_topics import offset_runs_topic, offset_syncs_topic
from mm2.core.mirror_records import OffsetSync
from mm2.core.model import TopicName
from mm2.core.policy import build_policy
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import OffsetTranslation, RunStore
from mm2.errors import SchemaError
from mm2.kafka.admin import Admin
from mm2.kafka.logs.read_log import Record, read_to_end

log = structlog.get_logger()


async def load_translation(
    config: FlowConfig, live: LiveTopicIds | None = None
) -> OffsetTranslation:
    """
    Reads what is known of a flow's offsets by now; of former topics only if nobody looks at them.

    Example::

        translation = await load_translation(flow_config(maker, SourceAndTarget(a, b)))
        found = translation.explain(TopicPartition(TopicName("t"), 0), 1234)

    Args:
        config: the flow; says where the topics are, and how to log in there.
        live: looks which topics there are now.

    Raises:
        ConfigError: the replication policy cannot be had.
        ClusterError: the cluster does not answer, or refuses us.
    """
    settings = config.checkpoint
    at_source = settings.offset_syncs_location == "source"
    return await read_translation(
        config.flow.source if at_source else config.flow.target,
        settings.offset_syncs_consumer(),
        syncs_topic=offset_syncs_topic(config, build_policy(config.source.properties)),
        runs_topic=offset_runs_topic(config),
        live=live,
    )


async def read_translation(
    alias: str,
    properties: Mapping[str, str],
    *,
    syncs_topic: str,
    runs_topic: str,
    live: LiveTopicIds | None = None,
) -> OffsetTranslation:
    """
    Reads the topics of offset syncs and of exact runs to their ends; a missing one says nothing.

    Args:
        alias: of the cluster that has them, for messages.
        properties: Java's client properties for it.
        syncs_topic: ``mm2-offset-syncs.<the other cluster>.internal``.
        runs_topic: ``mm2-offset-runs.<the other cluster>.internal``.
        live: looks which topics there are now.

    Raises:
        ClusterError: the cluster does not answer, or refuses us.
    """
    syncs, runs = OffsetSyncStore(must_read_to_end=False), RunStore()
    there = await _topics(alias, properties)
    if syncs_topic in there:
        for record in await read_to_end(alias, properties, syncs_topic, partitions=[0]):
            _take_sync(syncs, record)
    if runs_topic in there:
        for record in await read_to_end(
            alias, properties, runs_topic, partitions=[0], newest_only=True
        ):
            _take_run(runs, record)
    syncs.backlog_read()
    runs.backlog_read()
    if live is None:
        return OffsetTranslation(syncs, runs)
    translation = OffsetTranslation(syncs, runs, live.ids)
    await live.look(translation.topics)
    return translation


async def _topics(alias: str, properties: Mapping[str, str]) -> set[TopicName]:
    admin = Admin(alias, properties)
    try:
        return await admin.list_topics()
    finally:
        await admin.close()


def _take_sync(syncs: OffsetSyncStore, record: Record) -> None:
    try:
        syncs.handle(OffsetSync.decode(record.key, record.value))
    except SchemaError as error:
        log.warning("offset_sync.ignored", offset=record.offset, error=str(error))


def _take_run(runs: RunStore, record: Record) -> None:
    try:
        runs.handle(record.key, record.value)
    except SchemaError as error:
        log.warning("offset_run.ignored", offset=record.offset, error=str(error))
