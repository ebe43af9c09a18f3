"""Reads the offsets of groups whose cluster is lost: its last checkpoints on the other one."""

from __future__ import annotations

from collections.abc import AsyncIterable, Collection, Mapping
from dataclasses import replace
from typing import TypeAlias

import structlog

from mm2.client.group_survey import (
    all_answers,
    log_ranges,
    newest_heartbeat_ms,
    read_checkpoints,
    records_of,
)
from mm2.client.remote_checkpoints import GroupCheckpoints, RemoteCheckpoint, of_live_topics
from mm2.config.offset_topics import accepted_topics
from mm2.core.failover.moving_group import MovingGroup, MovingPartition, WithoutCheckpoint
from mm2.core.model import NO_OFFSET, GroupId, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import CommittedOffset, offset_of
from mm2.core.translation.group_sync_rules import order_of
from mm2.core.translation.offset_translation import MappedOffset
from mm2.core.translation.reverse_translation import Copies
from mm2.errors import SchemaError
from mm2.failover.move_route import MoveRoute
from mm2.failover.move_survey import group_states
from mm2.kafka.logs.first_records import Range
from mm2.kafka.logs.records import Record
from mm2.protocol.progress_records import decode_progress

log = structlog.get_logger()

_Last: TypeAlias = Mapping[TopicPartition, RemoteCheckpoint]


class UnplannedSurvey:
    """Reads what a move depends on whose origin is lost: from its destination alone."""

    def __init__(self, route: MoveRoute) -> None:
        self._route = route

    async def checkpoints(self) -> GroupCheckpoints:
        """
        The last checkpoints of each group; none if there is no topic of them.

        Raises:
            ClusterError: the destination does not answer, or refuses.
        """
        flow = self._route.pair.flow
        return await read_checkpoints(flow, self._route.origin.alias, self._route.destination)

    async def read(
        self,
        groups: Collection[str],
        last: GroupCheckpoints,
        now_ms: int,
        without_checkpoint: WithoutCheckpoint = WithoutCheckpoint.LEAVE,
    ) -> list[MovingGroup]:
        """
        All about these groups, as far as it is known without their cluster.

        Raises:
            ClusterError: the destination does not answer, or refuses.
        """
        destination = self._route.destination
        states = await group_states(groups, None, destination)
        current = all_answers(await destination.admin.list_offsets_of_groups(groups))
        checkpoints = await self._live({each: last.get(GroupId(each), {}) for each in groups})
        copies = await self._copies()
        is_for_all = without_checkpoint in (WithoutCheckpoint.EARLIEST, WithoutCheckpoint.LATEST)
        read = {where.topic for known in checkpoints.values() for where in known}
        logs = await self._logs(read | copies if is_for_all else read)
        found: list[MovingGroup] = []
        for group, known in sorted(checkpoints.items()):
            committed = current[group]
            topics = {where.topic for where in known} | (copies if is_for_all else set())
            partitions = tuple(
                _at_checkpoint(GroupId(group), known[where], log_range, committed, now_ms)
                if where in known
                else _without_checkpoint(GroupId(group), where, log_range, without_checkpoint)
                for where, log_range in sorted(logs.items())
                if where.topic in topics and (where in known or where not in committed)
            )
            unplaced = copies - topics - {where.topic for where in committed}
            found.append(
                replace(
                    states[group],
                    partitions=tuple(map(self._with_other_flows, partitions)),
                    not_mirrored=tuple(sorted(where for where in known if where not in logs)),
                    unplaced=tuple(sorted(unplaced)),
                    without_checkpoint=without_checkpoint,
                )
            )
        return found

    def _with_other_flows(self, partition: MovingPartition) -> MovingPartition:
        pair, topic = self._route.pair, partition.destination.topic
        keeps_name = build_policy(pair.flow.source.properties).upstream_topic(topic) == topic
        return replace(partition, has_other_flows=keeps_name and pair.has_other_flows)

    async def last_contact_ms(self, last: GroupCheckpoints) -> int | None:
        """
        When something came from the origin for the last time, ms since the epoch; None if unknown.

        Heartbeats of the flow itself do not count: whoever runs the flow writes them to the
        destination, whatever the origin does. Those that were written to the origin, and came from
        there as records do, count; and checkpoints, for which the origin was asked.

        Raises:
            ClusterError: the destination does not answer, or refuses.
        """
        times = [each.timestamp_ms for group in last.values() for each in group.values()]
        policy = build_policy(self._route.pair.flow.source.properties)
        topic = policy.format_remote_topic(self._route.origin.alias, policy.heartbeats_topic())
        heartbeat_ms = await newest_heartbeat_ms(self._route.destination, topic)
        return max([*times, *([] if heartbeat_ms is None else [heartbeat_ms])], default=None)

    async def lag(self) -> dict[TopicPartition, int] | None:
        """
        How far the copy was behind when its tasks last reported; None if that is not known.

        Raises:
            ClusterError: the destination does not answer, or refuses.
        """
        if (flow := self._route.forward_flow) is None:
            return None
        topic = flow.herder.names.progress_topic
        return await last_lag(records_of(self._route.destination, topic)) or None

    async def _live(self, checkpoints: Mapping[str, _Last]) -> Mapping[str, _Last]:
        """Checkpoints of a topic that was created again mean that nothing of it has been read."""
        topics = {where.topic for known in checkpoints.values() for where in known}
        live = await self._route.destination.admin.topic_ids(topics)
        return of_live_topics(checkpoints, live)

    async def _copies(self) -> set[TopicName]:
        """Topics of the destination that the flow has made, judged by their names."""
        flow = self._route.pair.flow
        policy = build_policy(flow.source.properties)
        copies = Copies(self._route.origin.alias, policy, accepted_topics(flow))
        return {
            name
            for name in await self._route.destination.admin.list_topics()
            if copies.original(name) is not None and not policy.is_heartbeats_topic(name)
        }

    async def _logs(self, topics: Collection[TopicName]) -> dict[TopicPartition, Range]:
        """Where the logs of all partitions of some topics begin and end."""
        destination = self._route.destination
        described = await destination.admin.describe_topics(topics)
        return await log_ranges(
            destination,
            (
                TopicPartition(name, number)
                for name, each in described.items()
                for number in range(each.partitions)
            ),
        )


async def last_lag(reports: AsyncIterable[Record]) -> dict[TopicPartition, int]:
    """
    The lag of each partition as its task last reported it to a progress topic.

    An hour of reports of many partitions is large: none of them is kept.
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


def _at_checkpoint(
    group: GroupId,
    last: RemoteCheckpoint,
    log_range: Range,
    committed: Mapping[TopicPartition, CommittedOffset],
    now_ms: int,
) -> MovingPartition:
    checkpoint = last.checkpoint
    target_offset = offset_of(committed.get(checkpoint.partition))
    return MovingPartition(
        group=group,
        origin=None,
        destination=checkpoint.partition,
        committed=checkpoint.upstream_offset,
        translated=MappedOffset(checkpoint.downstream_offset, last.exact),
        target_offset=target_offset,
        start=log_range[0],
        end=log_range[1],
        metadata=checkpoint.metadata,
        order=order_of(checkpoint, target_offset),
        checkpoint_age_ms=max(0, now_ms - last.timestamp_ms),
    )


def _without_checkpoint(
    group: GroupId,
    where: TopicPartition,
    log_range: Range,
    without_checkpoint: WithoutCheckpoint,
) -> MovingPartition:
    """The group has committed nothing before the last checkpoints were made."""
    start, end = log_range
    first = end if without_checkpoint is WithoutCheckpoint.LATEST else start
    return MovingPartition(
        group=group,
        origin=None,
        destination=where,
        committed=NO_OFFSET,
        translated=MappedOffset(first, exact=False),
        start=start,
        end=end,
    )
