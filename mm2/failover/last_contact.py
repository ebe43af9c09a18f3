"""
When a cluster was last heard, by what has come from it to the other one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from mm2.client.remote_checkpoints import GroupCheckpoints
from mm2.core.mirror_records import Heartbeat
from mm2.core.policy import build_policy
from mm2.errors import SchemaError
from mm2.failover.move_route import MoveRoute
from mm2.kafka.logs.read_log import read_to_end


async def last_contact_ms(route: MoveRoute, last: GroupCheckpoints) -> int | None:
    """
    When the origin was heard for the last time, ms since the epoch; None if nothing tells.

    Heartbeats of the flow itself tell nothing: they are written to the destination by whoever
    runs the flow, whatever the origin does. Those that were written to the origin, and came from
    there as records do, tell; and checkpoints, for which the origin was asked.

    Args:
        route: from the cluster that is asked about to the one that is left.
        last: the last checkpoints of its groups.

    Raises:
        ClusterError: the destination does not answer, or refuses.
    """
    checkpoints = [each.timestamp_ms for group in last.values() for each in group.values()]
    beats = [time_ms async for time_ms in _heartbeats(route)]
    return max([*checkpoints, *beats], default=None)


async def _heartbeats(route: MoveRoute) -> AsyncIterator[int]:
    side = route.destination
    policy = build_policy(route.pair.flow.source.properties)
    topic = policy.format_remote_topic(route.origin.alias, policy.heartbeats_topic())
    if topic not in await side.admin.list_topics():
        return
    for record in await read_to_end(side.alias, side.consumer, topic, newest_only=True):
        try:
            yield Heartbeat.decode(record.key, record.value).timestamp_ms
        except SchemaError:
            continue
