"""
Translates offsets of a flow from outside of it: by what its topics have at one moment.

Works for flows of Java's MirrorMaker as well, whose offset syncs are approximate where exact
runs are exact.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from mm2.checkpoints.live_topic_ids import LiveTopicIds
from mm2.config.flow_settings import FlowConfig
from mm2.config.offset_topics import offset_runs_topic, offset_syncs_topic
from mm2.core.internal_records import OffsetSync
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
    Reads what is known of a flow's offsets by now; of former topics only without ``live``.

    Example::

        translation = await load_translation(flow_config(maker, SourceAndTarget(a, b)))
        found = translation.explain(TopicPartition(TopicName("t"), 0), 1234)

    Args:
        live: reads which topics there are now.

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
    Reads the topics of offset syncs and of exact runs to their ends; a missing one counts as empty.

    Args:
        syncs_topic: ``mm2-offset-syncs.<the other cluster>.internal``.
        runs_topic: ``mm2-offset-runs.<the other cluster>.internal``.

    Raises:
        ClusterError: the cluster does not answer, or refuses us.
    """
    syncs, runs = OffsetSyncStore(must_read_to_end=False), RunStore()
    there = await _topics(alias, properties)
    if syncs_topic in there:
        for record in await read_to_end(alias, properties, syncs_topic, partitions=[0]):
            _apply_sync(syncs, record)
    if runs_topic in there:
        for record in await read_to_end(
            alias, properties, runs_topic, partitions=[0], newest_only=True
        ):
            _apply_run(runs, record)
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


def _apply_sync(syncs: OffsetSyncStore, record: Record) -> None:
    try:
        syncs.handle(OffsetSync.decode(record.key, record.value))
    except SchemaError as error:
        log.warning("offset_sync.ignored", offset=record.offset, error=str(error))


def _apply_run(runs: RunStore, record: Record) -> None:
    try:
        runs.handle(record.key, record.value)
    except SchemaError as error:
        log.warning("offset_run.ignored", offset=record.offset, error=str(error))
