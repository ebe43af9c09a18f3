"""
What the tasks of a flow said when they ended.

A task that has drained and committed says so in its last report. Who changes something that tasks
would undo need not watch, then, whether they still report; only a task that was killed, or that
could not drain, leaves without a word.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from mm2.config.flow import FlowConfig
from mm2.core.model import SOURCE_CONNECTOR, TopicName, TopicPartition
from mm2.errors import SchemaError
from mm2.herder.control import Assignment, Entry, Lease
from mm2.herder.control_steering import ConnectorState
from mm2.herder.progress import BundleProgress, decode_progress, is_of_bundle
from mm2.herder.wanted import read_control
from mm2.kafka.admin import Admin
from mm2.kafka.errors import UnknownTopic
from mm2.kafka.log import Record, records_to_end
from mm2.kafka.offsets import OffsetAt

_LOOKED_AT: Final = 300
"""So many of the last reports are read; earlier ones may fill many megabytes."""


async def all_have_ended(config: FlowConfig, target: Admin) -> bool:
    """
    Whether every task of the flow's last leader has said that it has ended, and none will start.

    That is known only of flows that operators have stopped or paused: else the leader may be about
    to start its tasks again.

    Args:
        config: the flow, which has a control topic.
        target: admin client of its target.

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    consumer = config.herder.client("consumer", "control")
    backlog = await read_control(config.flow.target, consumer, config.herder.names.control_topic)
    if backlog.steering.state_of(SOURCE_CONNECTOR) is ConnectorState.RUNNING:
        return False
    try:
        return is_over(backlog.entries, await reports(config, await _recent(config, target)))
    except UnknownTopic:
        return False


def is_over(control: Collection[Entry], reports: Iterable[BundleProgress]) -> bool:
    """
    Whether nobody copies any more: each bundle of the last leader has spoken its last word.

    Args:
        control: the records of the control topic.
        reports: of tasks, in their order.
    """
    epoch = max((e.epoch for e in control if isinstance(e, Lease | Assignment)), default=0)
    bundles = {e.index for e in control if isinstance(e, Assignment) and e.epoch == epoch}
    last = {each.bundle: each for each in reports if each.epoch == epoch}
    return bool(bundles) and all(index in last and last[index].is_last for index in bundles)


async def reports(config: FlowConfig, first: int) -> list[BundleProgress]:
    """
    What tasks have reported, from an offset of the progress topic on.

    Raises:
        ClusterError: the target does not answer, or refuses.
    """
    records = records_to_end(
        config.flow.target,
        config.herder.client("consumer", "progress"),
        config.herder.names.progress_topic,
        partitions=[0],
        starts={0: first},
    )
    return [report async for record in records if (report := _report(record)) is not None]


async def _recent(config: FlowConfig, target: Admin) -> int:
    where = TopicPartition(TopicName(config.herder.names.progress_topic), 0)
    end = (await target.list_offsets([where], OffsetAt.LATEST)).get(where, 0)
    return max(0, end - _LOOKED_AT)


def _report(record: Record) -> BundleProgress | None:
    try:
        return decode_progress(record.value) if is_of_bundle(record.key) else None
    except SchemaError:
        return None
