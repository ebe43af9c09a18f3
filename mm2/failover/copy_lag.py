"""
How far the copy of a whole cluster is behind.
"""

from __future__ import annotations

import time

from mm2.core.mirror_records import Heartbeat
from mm2.core.model import TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.runs import Logs
from mm2.errors import SchemaError
from mm2.failover.copy_progress import CopyProgress
from mm2.failover.directions import WithFlow
from mm2.failover.empty_ranges import FirstRecordQuery, OffsetRange, look_at, without_records
from mm2.failover.move_route import MoveRoute
from mm2.failover.move_survey import ranges
from mm2.kafka.logs.first_records import Range
from mm2.kafka.logs.read_log import read_to_end


async def mirrored_topics(route: MoveRoute) -> list[TopicName]:
    """
    Topics of the origin that are copied to the destination.

    Heartbeats, which never end, do not count.

    Raises:
        ClusterError: the origin does not answer, or refuses.
    """
    if (passage := _carrier(route)) is None:
        return []
    policy = build_policy(passage.config.source.properties)
    return sorted(
        topic
        for topic in await route.origin.admin.list_topics()
        if not policy.is_heartbeats_topic(topic)
        and passage.destination(TopicPartition(topic, 0)) is not None
    )


async def lag_of(
    route: MoveRoute, look_at: FirstRecordQuery = look_at
) -> dict[TopicPartition, int]:
    """
    Offsets of each partition of the origin that hold records and are not copied.

    Args:
        route: from where to where.
        look_at: finds out which records a cluster has.

    Raises:
        ClusterError: a cluster does not answer, or refuses.
    """
    if (passage := _carrier(route)) is None:
        return {}
    described = await route.origin.admin.describe_topics(await mirrored_topics(route))
    partitions = [
        TopicPartition(name, number)
        for name, each in described.items()
        for number in range(each.partitions)
    ]
    copied = await passage.copied()
    # Read later, so that no position is beyond the end of its log unless it is of another one.
    logs = await ranges(route.origin, partitions)
    ids = await route.origin.admin.topic_ids(described)
    behind = {
        where: (first_to_copy(copied, where, log_range, Logs(ids.get(where.topic))), log_range[1])
        for where, log_range in logs.items()
    }
    # The last offset of a log may be the marker of a transaction, which is no record.
    look = look_at(route.origin, read_committed=passage.config.data.read_committed)
    empty = await without_records(
        {OffsetRange(where, *each) for where, each in behind.items()}, look
    )
    return {
        where: 0 if OffsetRange(where, first, end) in empty else end - first
        for where, (first, end) in behind.items()
    }


async def heartbeat_age_ms(route: MoveRoute) -> int | None:
    """
    Age of the last heartbeat of the flow along a route; None if there is none.

    Raises:
        ClusterError: the destination does not answer, or refuses.
    """
    side = route.destination
    topic = build_policy(route.pair.flow.heartbeat.properties).heartbeats_topic()
    if topic not in await side.admin.list_topics():
        return None
    newest: int | None = None
    for record in await read_to_end(side.alias, side.consumer, topic, newest_only=True):
        try:
            beat = Heartbeat.decode(record.key, record.value)
        except SchemaError:
            continue
        if (beat.source, beat.target) == (route.origin.alias, side.alias):
            newest = max(newest or 0, beat.timestamp_ms)
    return None if newest is None else max(0, time.time_ns() // 1_000_000 - newest)


def first_to_copy(copied: CopyProgress, where: TopicPartition, log_range: Range, logs: Logs) -> int:
    """
    The first offset of a source partition that is not copied.

    Of a log that is not the one that was copied, because its topic was made anew or its end cut
    off, this is the very first: nothing says where its copy begins.

    Args:
        copied: what is.
        where: the partition.
        log_range: where its log begins and ends now.
        logs: which topic it is of now.
    """
    start, end = log_range
    if not copied.speaks_of(where, logs, end):
        return start
    return max(start, copied.end(where))


def _carrier(route: MoveRoute) -> WithFlow | None:
    return next((each for each in route.passages if isinstance(each, WithFlow)), None)
