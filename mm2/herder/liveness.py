"""
Tells whether anybody runs a flow.

What an operator changes while a task runs would be undone by that task, or copied twice.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from mm2.config.flow import FlowConfig
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError, SchemaError
from mm2.herder.control import Assignment, BundleState, Wanted, decode
from mm2.herder.progress import is_of_bundle
from mm2.kafka.admin import Admin
from mm2.kafka.groups import Group, GroupState
from mm2.kafka.log import Record, read_to_end, records_to_end
from mm2.kafka.offsets import OffsetAt

_WATCH_S: Final = 2.5
"""Every task reports once a second, also when nothing happens."""

_STARTS_WITHIN_S: Final = 20.0
"""A leader that has just written what is to be done may still be waiting for Spark."""

_IDLE: Final = (GroupState.EMPTY, GroupState.DEAD)


async def reason_to_wait(config: FlowConfig, target: Admin) -> str | None:
    """
    Returns a sentence that says who runs the flow; None if nobody does.

    Args:
        config: the flow.
        target: admin client of its target.

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    workers = (await target.describe_groups([config.herder.group_id])).get(config.herder.group_id)
    if isinstance(workers, ClusterError):
        raise workers
    if isinstance(workers, Group) and workers.state not in _IDLE:
        return f"the group {config.herder.group_id} has members: Kafka's MirrorMaker runs the flow"
    known = await target.list_topics()
    progress = TopicName(config.herder.names.progress_topic)
    if progress in known and await _tasks_report(config, target, progress):
        return "a task of the flow is running: it has reported just now"
    if config.herder.names.control_topic in known and await _is_starting(config):
        return "the flow has been started just now"
    return None


async def _tasks_report(config: FlowConfig, target: Admin, progress: TopicName) -> bool:
    where = TopicPartition(progress, 0)
    before = (await target.list_offsets([where], OffsetAt.LATEST)).get(where, 0)
    if not before:
        return False
    await asyncio.sleep(_WATCH_S)
    reports = records_to_end(
        config.flow.target,
        config.herder.client("consumer", "progress"),
        progress,
        partitions=[0],
        starts={0: before},
    )
    return any([is_of_bundle(record.key) async for record in reports])


async def _is_starting(config: FlowConfig) -> bool:
    records = await read_to_end(
        config.flow.target,
        config.herder.client("consumer", "control"),
        config.herder.names.control_topic,
        newest_only=True,
    )
    recent = [r for r in records if time.time() * 1000 - r.timestamp_ms < _STARTS_WITHIN_S * 1000]
    return bool(recent) and not _says_stop(max(recent, key=lambda record: record.offset))


def _says_stop(record: Record) -> bool:
    """A clean stop is the last word of a leader, or that of an operator whom no leader heard."""
    try:
        entry = decode(record.key, record.value)
    except SchemaError:
        return False
    if isinstance(entry, Wanted):
        return entry.is_stopped
    return isinstance(entry, Assignment) and entry.state is BundleState.STOPPED
