"""
What the checkpoints of both flows say of groups that move: which of their commits is the later one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, replace

import structlog

from mm2.client.remote_checkpoints import GroupCheckpoints, last_checkpoints
from mm2.config.flow_config import FlowConfig
from mm2.core.failover.group_facts import TargetOffset
from mm2.core.mirror_records import Checkpoint
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.group_sync_rules import compared
from mm2.errors import NotAuthorized
from mm2.failover.move_route import ClusterClients, MoveRoute
from mm2.kafka.logs.read_log import records_to_end
from mm2.kafka.logs.records import Record

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCommits:
    """
    The last checkpoints of some groups.

    Attributes:
        along: those of the flow along the route, on the destination.
        against: those of the flow against it, on the origin.
    """

    along: GroupCheckpoints
    against: GroupCheckpoints

    def compared(self, group: str, place: TargetOffset) -> TargetOffset:
        """A place of a group, with what is known of its commits on both sides."""
        assert place.origin is not None  # noqa: S101 - nothing can be compared without it
        order, is_carried = compared(
            _last(self.along, group, place.destination),
            _last(self.against, group, place.origin),
            place.committed,
            place.current,
        )
        return replace(place, order=order, is_carried=is_carried)


async def known_commits_of(route: MoveRoute, groups: Collection[str]) -> KnownCommits:
    """
    Reads what both flows have told of groups; one whose topic may not be read tells nothing.

    Raises:
        ClusterError: a cluster does not answer, or refuses.
    """
    flow, here, there = route.pair.flow, route.origin, route.destination
    return KnownCommits(
        along=await _readable(flow, here.alias, there, groups),
        against=await _readable(flow, there.alias, here, groups),
    )


async def _readable(
    flow: FlowConfig, upstream: ClusterAlias, side: ClusterClients, groups: Collection[str]
) -> GroupCheckpoints:
    try:
        return await checkpoints_on(flow, upstream, side, lambda group: group in groups)
    except NotAuthorized as error:
        log.warning("checkpoints.not_read", upstream=upstream, error=str(error))
        return {}


async def checkpoints_on(
    flow: FlowConfig,
    upstream: ClusterAlias,
    side: ClusterClients,
    wanted: Callable[[GroupId], bool] = lambda _: True,
) -> GroupCheckpoints:
    """
    The last checkpoints of groups on a cluster; none if there is no topic of them.

    Args:
        flow: names the topic.
        upstream: whose checkpoints they are.
        side: the cluster.
        wanted: which groups.

    Raises:
        ClusterError: the cluster does not answer, or refuses.
    """
    topic = build_policy(flow.checkpoint.properties).checkpoints_topic(upstream)
    return await last_checkpoints(records_of(side, topic), wanted)


async def records_of(side: ClusterClients, topic: str) -> AsyncIterator[Record]:
    """
    All of a topic of one partition, as they come; none if it is not there.

    Raises:
        ClusterError: the cluster does not answer, or refuses.
    """
    if TopicName(topic) in await side.admin.list_topics():
        async for record in records_to_end(side.alias, side.consumer, topic, partitions=[0]):
            yield record


def _last(known: GroupCheckpoints, group: str, where: TopicPartition) -> Checkpoint | None:
    found = known.get(GroupId(group), {}).get(where)
    return None if found is None else found.checkpoint
