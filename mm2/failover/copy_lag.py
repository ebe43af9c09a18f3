"""How far the copy of a whole cluster is behind."""

from __future__ import annotations

from mm2.client.group_survey import log_ranges, newest_heartbeat_ms
from mm2.clock import now_ms
from mm2.core.model import SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.runs import Logs
from mm2.failover.directions import WithFlow
from mm2.failover.empty_ranges import FirstRecordQuery, OffsetRange, query_records, without_records
from mm2.failover.move_route import MoveRoute


async def mirrored_topics(route: MoveRoute) -> list[TopicName]:
    """
    Topics of the origin that are copied to the destination.

    Heartbeats, which never end, do not count.

    Raises:
        ClusterError: the origin does not answer, or refuses.
    """
    if (direction := _with_flow(route)) is None:
        return []
    policy = build_policy(direction.config.source.properties)
    return sorted(
        topic
        for topic in await route.origin.admin.list_topics()
        if not policy.is_heartbeats_topic(topic)
        and direction.destination(TopicPartition(topic, 0)) is not None
    )


async def lag_of(
    route: MoveRoute, query: FirstRecordQuery = query_records
) -> dict[TopicPartition, int]:
    """
    Offsets of each partition of the origin that hold records and are not copied.

    Raises:
        ClusterError: a cluster does not answer, or refuses.
    """
    if (direction := _with_flow(route)) is None:
        return {}
    described = await route.origin.admin.describe_topics(await mirrored_topics(route))
    partitions = [
        TopicPartition(name, number)
        for name, each in described.items()
        for number in range(each.partitions)
    ]
    copied = await direction.copied()
    # Read later, so that no position is beyond the end of its log unless it is of another one.
    logs = await log_ranges(route.origin, partitions)
    ids = await route.origin.admin.topic_ids(described)
    behind = [
        OffsetRange(
            where,
            copied.first_to_copy(where, log_range, Logs(ids.get(where.topic))),
            log_range[1],
        )
        for where, log_range in logs.items()
    ]
    # The last offset of a log may be the marker of a transaction, which is no record.
    read_committed = direction.config.data.read_committed
    empty = await without_records(behind, query(route.origin, read_committed=read_committed))
    return {each.where: 0 if each in empty else each.end - each.first for each in behind}


async def heartbeat_age_ms(route: MoveRoute) -> int | None:
    """
    Age of the last heartbeat of the flow along a route; None if there is none.

    Raises:
        ClusterError: the destination does not answer, or refuses.
    """
    topic = build_policy(route.pair.flow.heartbeat.properties).heartbeats_topic()
    flow = SourceAndTarget(route.origin.alias, route.destination.alias)
    newest_ms = await newest_heartbeat_ms(route.destination, topic, flow)
    return None if newest_ms is None else max(0, now_ms() - newest_ms)


def _with_flow(route: MoveRoute) -> WithFlow | None:
    return next((each for each in route.directions if isinstance(each, WithFlow)), None)
