"""
Tells whether anybody runs a flow.

What an operator changes while a task runs would be undone by that task, or copied twice. So a flow
is over when its tasks have said that they have ended; those that cannot say it any more are known
by their silence.
"""

from __future__ import annotations

import asyncio
from typing import Final

from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.core.connect.run_states import LOST_MS
from mm2.core.connect.status_records import RunState
from mm2.core.model import SOURCE_CONNECTOR, TopicName, TopicPartition
from mm2.errors import SchemaError
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_topics import CONTROL, PROGRESS, FlowTopics
from mm2.kafka.admin import Admin
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.kafka.logs.read_log import Record, records_to_end
from mm2.protocol.progress_records import decode_progress, is_of_bundle

_LOOKS: Final = 10
_LOOK_EVERY_S: Final = 0.5
"""
Every task reports each three seconds, also when nothing happens.

Looks are counted, and not the time: a machine that stood still for longer, and its tasks with it,
must not pass for a flow that is over.
"""

_RUNS: Final = "a task of the flow is running: it has reported just now"


async def why_still_running(config: FlowConfig, target: Admin) -> str | None:
    """
    Returns a sentence that says who runs the flow; None if nobody does.

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    return await _reason(config, target, await _look(config, target))


async def why_offsets_are_locked(config: FlowConfig, target: Admin) -> str | None:
    """
    Returns a sentence that says why positions must not change now; None if they may.

    As in Connect, it is not enough that a flow is paused (KIP-875).

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    snapshot = await _look(config, target)
    is_paused = snapshot.desired_state_of(SOURCE_CONNECTOR) is RunState.PAUSED
    if is_paused and (snapshot.members.members or snapshot.is_led(now_ms())):
        return "the flow is only paused, which keeps its positions"
    return await _reason(config, target, snapshot)


def describe_owner(snapshot: FlowSnapshot, group: str, now_ms: int) -> str | None:
    """A sentence that says who runs a flow, or would do so at once; None if nobody can be seen."""
    if snapshot.is_run_by_java:
        return f"the group {group} has members: Kafka's MirrorMaker runs the flow"
    tasks = active_tasks(snapshot, now_ms)
    if snapshot.desired_state_of(SOURCE_CONNECTOR) is not RunState.RUNNING:
        # Whoever leads it only waits.
        named = ", ".join(map(str, tasks))
        return f"of its tasks, {named} have not said that they have ended" if tasks else None
    if tasks:
        return _RUNS
    if snapshot.lease is not None and snapshot.is_led(now_ms):
        return f"{snapshot.lease.owner} leads the flow"
    if count := len(snapshot.members.members):
        return f"{count} of its nodes are there, and one of them leads it at once"
    return None


async def _look(config: FlowConfig, target: Admin) -> FlowSnapshot:
    topics = FlowTopics(config, target)
    topics.snapshot.members = await target.group_members(config.herder.names.election_group)
    known = await target.list_topics()
    for kind in (CONTROL, PROGRESS):
        if topics.names[kind] in known:
            await topics.read(kind)
    return topics.snapshot


async def _reason(config: FlowConfig, target: Admin, snapshot: FlowSnapshot) -> str | None:
    reason = describe_owner(snapshot, config.herder.names.election_group, now_ms())
    if reason is not None or all_tasks_ended(snapshot):
        return reason
    return _RUNS if await _a_task_reports(config, target) else None


async def _a_task_reports(config: FlowConfig, target: Admin) -> bool:
    """Watches for a while, without a look at any clock."""
    topic = TopicName(config.herder.names.progress_topic)
    if topic not in await target.list_topics():
        return False
    where = TopicPartition(topic, 0)
    before = (await target.list_offsets([where], OffsetAt.LATEST)).get(where, 0)
    for _ in range(_LOOKS if before else 0):
        await asyncio.sleep(_LOOK_EVERY_S)
        end = (await target.list_offsets([where], OffsetAt.LATEST)).get(where, 0)
        if end > before and await _has_report(config, before):
            return True
        before = end
    return False


async def _has_report(config: FlowConfig, first: int) -> bool:
    consumer = config.herder.client("consumer", "progress")
    topic = config.herder.names.progress_topic
    records = records_to_end(config.flow.target, consumer, topic, starts={0: first})
    return any([_is_of_task(record) async for record in records])


def _is_of_task(record: Record) -> bool:
    try:
        return is_of_bundle(record.key) and not decode_progress(record.value).is_last
    except SchemaError:
        return False


def all_tasks_ended(snapshot: FlowSnapshot) -> bool:
    """
    Whether every task of the flow's last leader has said that it has ended, and none will start.

    A flow that is wanted to run may be led by the next node at once.
    """
    lease, reports = snapshot.lease, snapshot.reported()
    is_wanted = snapshot.desired_state_of(SOURCE_CONNECTOR) is RunState.RUNNING
    if lease is None or (is_wanted and (snapshot.members.members or not lease.is_released)):
        return False
    bundles = [each.index for each in snapshot.assigned()]
    return bool(bundles) and all(n in reports and reports[n].is_last for n in bundles)


def active_tasks(snapshot: FlowSnapshot, now_ms: int) -> list[int]:
    """
    Numbers of tasks that have reported not long ago, but no last word.

    Those of a former leader count, too: they may commit until they know that another one leads. A
    task that has been silent for longer than its leader's lease counts commits nothing any more.
    """
    now_ms = snapshot.clock_ms(now_ms)
    return sorted(
        number
        for number, report in snapshot.reports.items()
        if not report.is_last and now_ms - report.time_ms < LOST_MS
    )
