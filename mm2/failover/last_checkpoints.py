"""
Where groups stood when a cluster was lost: the last checkpoints on the other one.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Collection, Mapping
from dataclasses import replace
from typing import TypeAlias

import structlog

from mm2.client.remote_checkpoints import GroupCheckpoints, RemoteCheckpoint, of_live_topics
from mm2.config.offset_topics import accepted_topics
from mm2.core.failover.group_facts import GroupFacts, TargetOffset, WithoutCheckpoint
from mm2.core.model import NO_OFFSET, GroupId, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import CommittedOffset, offset_of
from mm2.core.translation.group_sync_rules import order_of
from mm2.core.translation.offset_translation import MappedOffset
from mm2.core.translation.reverse_translation import Copies
from mm2.errors import ClusterError, SchemaError
from mm2.failover.known_commits import checkpoints_on, records_of
from mm2.failover.move_route import MoveRoute
from mm2.failover.move_survey import ranges, states_of
from mm2.kafka.logs.read_log import Record
from mm2.protocol.progress_records import decode_progress

log = structlog.get_logger()

_Last: TypeAlias = Mapping[TopicPartition, RemoteCheckpoint]


class Checkpoints:
    """
    The checkpoints of the flow along a route, on its destination.

    Args:
        route: from the cluster that is lost to the one that is left.
    """

    def __init__(self, route: MoveRoute) -> None:
        self._route = route

    async def last(self) -> GroupCheckpoints:
        """
        The last checkpoints of each group; none if there is no topic of them.

        Raises:
            ClusterError: the destination does not answer, or refuses.
        """
        flow = self._route.pair.flow
        return await checkpoints_on(flow, self._route.origin.alias, self._route.destination)

    async def look(
        self,
        groups: Collection[str],
        last: GroupCheckpoints,
        now_ms: int,
        without: WithoutCheckpoint = WithoutCheckpoint.LEAVE,
    ) -> list[GroupFacts]:
        """
        All about these groups, as far as it is known without their cluster.

        Args:
            groups: which.
            last: their last checkpoints.
            now_ms: the time.
            without: where they go on in partitions that they have no checkpoints of.

        Raises:
            ClusterError: the destination does not answer, or refuses.
        """
        destination = self._route.destination
        facts = await states_of(groups, None, destination)
        current = await destination.admin.list_offsets_of_groups(groups)
        wanted = await self._about_these({each: last.get(GroupId(each), {}) for each in groups})
        copies = await self._copies()
        places_all = without in (WithoutCheckpoint.EARLIEST, WithoutCheckpoint.LATEST)
        read = {where.topic for each in wanted.values() for where in each}
        there = await self._logs(read | copies if places_all else read)
        found: list[GroupFacts] = []
        for group, checkpoints in sorted(wanted.items()):
            committed = current[group]
            if isinstance(committed, ClusterError):
                raise committed
            topics = {where.topic for where in checkpoints} | (copies if places_all else set())
            places = tuple(
                _place(where, checkpoints[where], logs, committed.get(where), now_ms)
                if where in checkpoints
                else _guess(where, logs, without)
                for where, logs in sorted(there.items())
                if where.topic in topics and (where in checkpoints or where not in committed)
            )
            unplaced = copies - topics - {where.topic for where in committed}
            gone = tuple(sorted(where for where in checkpoints if where not in there))
            found.append(
                replace(
                    facts[group],
                    places=places,
                    left_behind=gone,
                    unplaced=tuple(sorted(unplaced)),
                    without=without,
                )
            )
        return found

    async def _about_these(self, wanted: Mapping[str, _Last]) -> Mapping[str, _Last]:
        """Nothing of a topic that was made anew has been read, as far as checkpoints tell."""
        topics = {where.topic for each in wanted.values() for where in each}
        live = await self._route.destination.admin.topic_ids(topics)
        return of_live_topics(wanted, live)

    async def _copies(self) -> set[TopicName]:
        """Topics of the destination that the flow has made, as their names tell."""
        flow = self._route.pair.flow
        policy = build_policy(flow.source.properties)
        copies = Copies(self._route.origin.alias, policy, accepted_topics(flow))
        return {
            name
            for name in await self._route.destination.admin.list_topics()
            if copies.original(name) is not None and not policy.is_heartbeats_topic(name)
        }

    async def _logs(self, topics: Collection[TopicName]) -> dict[TopicPartition, tuple[int, int]]:
        """Where the logs of all partitions of some topics begin and end."""
        destination = self._route.destination
        described = await destination.admin.describe_topics(topics)
        return await ranges(
            destination,
            (
                TopicPartition(name, number)
                for name, each in described.items()
                for number in range(each.partitions)
            ),
        )

    async def lag(self) -> dict[TopicPartition, int] | None:
        """
        How far the copy was behind when its tasks last reported; None if that is not known.

        Raises:
            ClusterError: the destination does not answer, or refuses.
        """
        if (carrier := self._route.forward_flow) is None:
            return None
        return await last_lag(self._records(carrier.herder.names.progress_topic)) or None

    async def _records(self, topic: str) -> AsyncIterator[Record]:
        """All of a topic, as they come; none if it is not there."""
        async for record in records_of(self._route.destination, topic):
            yield record


async def last_lag(reports: AsyncIterable[Record]) -> dict[TopicPartition, int]:
    """
    The lag of each partition as its task last reported it.

    An hour of reports of many partitions is large: none of them is kept.

    Args:
        reports: the records of a progress topic.
    """
    lag: dict[TopicPartition, int] = {}
    async for record in reports:
        try:
            lag |= _lag_in(record)
        except SchemaError as error:
            log.warning("progress.unreadable", offset=record.offset, error=str(error))
    return lag


def _lag_in(record: Record) -> dict[TopicPartition, int]:
    if not (record.key or b"").startswith(b"bundle-"):
        return {}
    return {each.source: each.lag for each in decode_progress(record.value).partitions}


def _place(
    where: TopicPartition,
    last: RemoteCheckpoint,
    log_range: tuple[int, int],
    current: CommittedOffset | None,
    now_ms: int,
) -> TargetOffset:
    start, end = log_range
    checkpoint = last.checkpoint
    return TargetOffset(
        origin=None,
        destination=where,
        committed=checkpoint.upstream_offset,
        translated=MappedOffset(checkpoint.downstream_offset, last.exact),
        current=offset_of(current),
        start=start,
        end=end,
        metadata=checkpoint.metadata,
        order=order_of(checkpoint, offset_of(current)),
        age_ms=max(0, now_ms - last.timestamp_ms),
    )


def _guess(
    where: TopicPartition, log_range: tuple[int, int], without: WithoutCheckpoint
) -> TargetOffset:
    """The group has committed nothing before the last checkpoints were made."""
    start, end = log_range
    first = end if without is WithoutCheckpoint.LATEST else start
    return TargetOffset(
        origin=None,
        destination=where,
        committed=NO_OFFSET,
        translated=MappedOffset(first, exact=False),
        start=start,
        end=end,
    )
