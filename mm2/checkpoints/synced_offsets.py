"""Reads from the checkpoints of a flow how far it has synced offsets of groups."""

from __future__ import annotations

import structlog

from mm2.config.flow_settings import FlowConfig
from mm2.config.offset_topics import accepted_topics
from mm2.core.internal_records import Checkpoint
from mm2.core.policy import build_policy
from mm2.core.translation.returned_groups import SyncedOffsets
from mm2.core.translation.reverse_translation import Copies
from mm2.errors import SchemaError
from mm2.kafka.admin import Admin
from mm2.kafka.logs.read_log import records_to_end
from mm2.kafka.logs.records import Record

log = structlog.get_logger()


def copies_of(config: FlowConfig) -> Copies:
    """Which topics of a flow's target may be copies that it has made."""
    policy = build_policy(config.source.properties)
    return Copies(config.flow.source, policy, accepted_topics(config))


async def read_synced_offsets(config: FlowConfig, admin: Admin) -> SyncedOffsets:
    """
    Reads how far a flow has given groups offsets; everything its topic still holds.

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    synced = SyncedOffsets()
    topic = build_policy(config.source.properties).checkpoints_topic(config.flow.source)
    if topic in await admin.list_topics():
        properties = config.checkpoint.target_consumer("checkpoints-target-consumer")
        async for record in records_to_end(config.flow.target, properties, topic, partitions=[0]):
            note(synced, record)
    synced.backlog_read()
    return synced


def note(synced: SyncedOffsets, record: Record) -> None:
    """Takes a record of checkpoints in; a tombstone takes nothing back that was given."""
    if record.value is None:
        return
    try:
        synced.note(Checkpoint.decode(record.key, record.value, record.headers))
    except SchemaError as error:
        log.warning("checkpoint.ignored", offset=record.offset, error=str(error))
