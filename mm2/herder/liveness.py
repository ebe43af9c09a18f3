"""
Tells whether anybody runs a flow.

What an operator changes while a task runs would be undone by that task, or copied twice.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from mm2.config.flow import FlowConfig
from mm2.core.model import SOURCE_CONNECTOR, TopicName, TopicPartition
from mm2.herder.control import Assignment, BundleState, Entry, Lease
from mm2.herder.control_steering import ConnectorState
from mm2.herder.last_words import all_have_ended, reports
from mm2.herder.wanted import readable, steering_of
from mm2.kafka.admin import Admin
from mm2.kafka.groups import GroupState
from mm2.kafka.log import read_to_end
from mm2.kafka.offsets import OffsetAt

_WATCH_S: Final = 2.5
"""Every task reports once a second, also when nothing happens."""

_LOOK_EVERY_S: Final = 0.5

_STARTS_WITHIN_MS: Final = 20_000
"""A leader that has just written what is to be done may still be waiting for Spark."""

_IDLE: Final = (GroupState.EMPTY, GroupState.DEAD)
_OF_JAVA: Final = "connect"
"""Type of the protocol of Connect's workers; our own nodes are consumers to the broker."""


async def reason_to_wait(config: FlowConfig, target: Admin) -> str | None:
    """
    Returns a sentence that says who runs the flow; None if nobody does.

    Args:
        config: the flow.
        target: admin client of its target.

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    group = await target.group_members(config.herder.names.election_group)
    if group.state not in _IDLE and group.protocol_type == _OF_JAVA:
        group_id = config.herder.names.election_group
        return f"the group {group_id} has members: Kafka's MirrorMaker runs the flow"
    known = await target.list_topics()
    if config.herder.names.control_topic in known and await all_have_ended(config, target):
        return None
    progress = TopicName(config.herder.names.progress_topic)
    if progress in known and await _tasks_report(config, target, progress):
        return "a task of the flow is running: it has reported just now"
    if config.herder.names.control_topic in known:
        return await _reason_in_control(config)
    return None


async def _tasks_report(config: FlowConfig, target: Admin, progress: TopicName) -> bool:
    where = TopicPartition(progress, 0)
    before = (await target.list_offsets([where], OffsetAt.LATEST)).get(where, 0)
    deadline = time.monotonic() + _WATCH_S
    while before and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_EVERY_S)
        end = (await target.list_offsets([where], OffsetAt.LATEST)).get(where, 0)
        if end > before and any(not each.is_last for each in await reports(config, before)):
            return True
        before = end
    return False


async def _reason_in_control(config: FlowConfig) -> str | None:
    """What the leader has said last, if that was just now; tasks obey operators without it."""
    records = await read_to_end(
        config.flow.target,
        config.herder.client("consumer", "control"),
        config.herder.names.control_topic,
        newest_only=True,
    )
    steering = steering_of(sorted(records, key=lambda record: record.offset))
    if steering.state_of(SOURCE_CONNECTOR) is ConnectorState.STOPPED:
        return None
    said = [(each.timestamp_ms, readable(each)) for each in records]
    lease = next((entry for _, entry in said if isinstance(entry, Lease)), None)
    if lease is not None and lease.is_released:
        return None
    now_ms = time.time_ns() // 1_000_000
    for timestamp_ms, entry in said:
        age_ms = now_ms - timestamp_ms
        if isinstance(entry, Lease) and age_ms < (entry.lasts_ms or _STARTS_WITHIN_MS):
            return f"{entry.owner} leads the flow"
        if _says_run(entry) and age_ms < _STARTS_WITHIN_MS:
            return "the flow has been started just now"
    return None


def _says_run(entry: Entry | None) -> bool:
    return isinstance(entry, Assignment) and entry.state is BundleState.RUNNING
