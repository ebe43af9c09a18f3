"""Heartbeats that arrive on a cluster: which clusters are upstream, and whether they live."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from mm2.client.client_config import ClientConfig
from mm2.core.internal_records import Heartbeat
from mm2.core.model import NO_OFFSET, ClusterAlias, TopicName, TopicPartition
from mm2.core.policy import ReplicationPolicy
from mm2.core.topics.cycle_detection import sources_of
from mm2.errors import SchemaError, root_cause
from mm2.kafka.admin import Admin
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.kafka.logs.read_log import records_to_end
from mm2.kafka.logs.records import Record

_AT_ONCE: Final = 8
"""Topics that are read at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenHeartbeat:
    """
    The last heartbeat of one flow that came by one path.

    Attributes:
        path: the clusters that it came through, the nearest first; empty if it was emitted into
            this cluster. A heartbeat that came through a cluster proves that data of it arrive.
        heartbeat: names the flow whose herder emitted it, and when.
    """

    topic: TopicName
    path: tuple[ClusterAlias, ...]
    heartbeat: Heartbeat

    def age_ms(self, now_ms: int) -> int:
        """How old it is; negative if its clock is ahead of ours."""
        return now_ms - self.heartbeat.timestamp_ms


def last_heartbeats(
    policy: ReplicationPolicy, topic: TopicName, records: Iterable[Record]
) -> list[SeenHeartbeat]:
    """The newest heartbeat of each flow in one topic, by flow; undecodable records are skipped."""
    last: dict[tuple[ClusterAlias, ClusterAlias], Heartbeat] = {}
    for record in records:
        try:
            beat = Heartbeat.decode(record.key, record.value)
        except SchemaError:
            continue
        flow = beat.source, beat.target
        if flow not in last or last[flow].timestamp_ms <= beat.timestamp_ms:
            last[flow] = beat
    path = tuple(sources_of(policy, topic))
    return [
        SeenHeartbeat(topic=topic, path=path, heartbeat=beat) for _, beat in sorted(last.items())
    ]


async def read_heartbeats(
    config: ClientConfig,
    admin: Admin,
    policy: ReplicationPolicy,
    topics: Iterable[TopicName],
    since_ms: int | None,
) -> list[SeenHeartbeat]:
    """
    Reads the last heartbeat of each flow in each of the topics, in their order.

    Args:
        since_ms: reads what is not older, or the last record if nothing is; None reads everything.

    Raises:
        ClusterError: the cluster does not answer, or refuses.
    """
    slots = asyncio.Semaphore(_AT_ONCE)

    async def read(topic: TopicName) -> list[SeenHeartbeat]:
        async with slots:
            start = 0 if since_ms is None else await _start(admin, topic, since_ms)
            records = [] if start is None else await _read(config, topic, start)
        return last_heartbeats(policy, topic, records)

    try:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(read(topic), name=f"read {topic}") for topic in topics]
    except ExceptionGroup as errors:
        raise root_cause(errors) from errors
    return [seen for task in asked for seen in task.result()]


async def _start(admin: Admin, topic: TopicName, since_ms: int) -> int | None:
    """The first offset since a time, or the last if there is none; None if the topic is empty."""
    where = TopicPartition(topic, 0)
    for at in (max(0, since_ms), OffsetAt.MAX_TIMESTAMP):
        found = await admin.list_offsets([where], at)
        if found.get(where, NO_OFFSET) != NO_OFFSET:
            return found[where]
    return None


async def _read(config: ClientConfig, topic: TopicName, start: int) -> list[Record]:
    """Of the first partition, the only one that heartbeats are written to (C317)."""
    properties = config.client("consumer")
    records = records_to_end(config.alias, properties, topic, partitions=[0], starts={0: start})
    return [record async for record in records]
