"""Reads offsets of groups, and what they are on the other cluster, while both clusters answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import structlog

from mm2.checkpoints.synced_offsets import read_synced_offsets
from mm2.client.group_survey import (
    ClusterClients,
    all_answers,
    followed_by,
    log_ranges,
    read_checkpoints,
)
from mm2.client.remote_checkpoints import GroupCheckpoints
from mm2.config.offset_topics import accepted
from mm2.core.failover.failback_selection import belongs_to_failback
from mm2.core.failover.moving_group import MovingGroup, MovingPartition
from mm2.core.internal_records import Checkpoint
from mm2.core.model import ClusterAlias, GroupId, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset, offset_of
from mm2.core.translation.group_sync_rules import compared
from mm2.errors import NotAuthorized
from mm2.failover.directions import OffsetMapping, PartitionDirection, direction_of
from mm2.failover.empty_ranges import FirstRecordQuery, OffsetRange, query_records, without_records
from mm2.failover.move_route import MoveRoute
from mm2.failover.offset_lookup import (
    Nearest,
    OffsetLookup,
    Opposite,
    at_target_offset,
    moving_partition,
    overshoot,
)

log = structlog.get_logger()

_Committed: TypeAlias = Mapping[TopicPartition, CommittedOffset]
_Directions: TypeAlias = Mapping[TopicPartition, PartitionDirection]


class MoveSurvey:
    """Reads what a planned move of groups along a route depends on."""

    def __init__(self, route: MoveRoute, query: FirstRecordQuery = query_records) -> None:
        self._route = route
        self._query = query

    async def all_groups(self) -> list[str]:
        """
        Groups of the origin that the configuration asks for and that have read something mirrored.

        On the way back, only those that may have left it.

        Raises:
            ClusterError: the origin does not answer, or refuses.
        """
        admin = self._route.origin.admin
        names = [GroupId(each.group_id) for each in await admin.list_groups()]
        followed = await accepted(followed_by(self._route.pair.flow), names)
        offsets = all_answers(await admin.list_offsets_of_groups(followed))
        committed = {
            group: {where: at for where, at in known.items() if self._is_mirrored(where)}
            for group, known in offsets.items()
        }
        reading = {group: offsets for group, offsets in committed.items() if offsets}
        return sorted(await self._returning(reading) if self._route.is_back else reading)

    def _is_mirrored(self, where: TopicPartition) -> bool:
        return direction_of(self._route.directions, where) is not None

    async def _returning(self, committed: Mapping[str, _Committed]) -> list[str]:
        origin, destination = self._route.origin, self._route.destination
        synced = await read_synced_offsets(self._route.pair.flow, origin.admin)
        groups = await group_states(committed, origin, destination)
        return [
            group
            for group, offsets in committed.items()
            if belongs_to_failback(groups[group], offsets, synced)
        ]

    async def read(self, groups: Collection[str]) -> list[MovingGroup]:
        """
        All about these groups, as it is now.

        Raises:
            ClusterError: a cluster does not answer, or refuses.
        """
        origin, destination = self._route.origin, self._route.destination
        committed = all_answers(await origin.admin.list_offsets_of_groups(groups))
        directions = {
            where: direction
            for offsets in committed.values()
            for where in offsets
            if (direction := direction_of(self._route.directions, where)) is not None
        }
        states = await group_states(groups, origin, destination)
        current = all_answers(await destination.admin.list_offsets_of_groups(groups))
        partitions = await self._partitions(await self._lookups(committed, current, directions))
        found: dict[str, list[MovingPartition]] = {group: [] for group in groups}
        for each in await self._compared(partitions):
            found[each.group or ""].append(each)
        return [
            replace(
                states[group],
                partitions=tuple(found[group]),
                not_mirrored=tuple(sorted(committed[group].keys() - directions.keys())),
            )
            for group in sorted(groups)
        ]

    async def _compared(self, partitions: list[MovingPartition]) -> list[MovingPartition]:
        """Where a group has another offset on the destination: which commit is the later one."""
        groups = {each.group for each in partitions if each.is_contested and each.group}
        if not groups:
            return partitions
        commits = await _known_commits(self._route, groups)
        return [commits.compared(each) if each.is_contested else each for each in partitions]

    async def _lookups(
        self,
        committed: Mapping[str, _Committed],
        current: Mapping[str, _Committed],
        directions: _Directions,
    ) -> list[OffsetLookup]:
        used = dict.fromkeys(each.direction for each in directions.values())
        mappings = {direction: await direction.read() for direction in used}
        against = dict.fromkeys(each.opposite for each in directions.values() if each.opposite)
        opposites = {direction: await direction.read() for direction in against}
        # Now what is known to be copied is there, and positions are not beyond the ends.
        here = await log_ranges(self._route.origin, directions)
        destinations = {where: each.destination for where, each in directions.items()}
        there = await log_ranges(self._route.destination, set(destinations.values()))
        ids = await self._route.ids(destinations)

        def lookup(group: str, where: TopicPartition, commit: CommittedOffset) -> OffsetLookup:
            known, origin_log = directions[where], here.get(where, (0, commit.offset))
            mapping, to = mappings[known.direction], known.destination

            def is_about(mapped: OffsetMapping) -> bool:
                return where not in here or mapped.is_about(where, ids[where], origin_log[1])

            opposite = None if known.opposite is None else opposites[known.opposite]
            return OffsetLookup(
                group=GroupId(group),
                origin=where,
                direction=known.direction,
                mapping=mapping,
                destination=to,
                commit=commit,
                origin_log=origin_log,
                destination_log=there.get(to),
                target_offset=offset_of(current[group].get(to)),
                is_same_log=is_about(mapping),
                opposite=None if opposite is None else Opposite(opposite, is_about(opposite)),
                has_other_flows=to.topic == where.topic and self._route.pair.has_other_flows,
            )

        return [
            lookup(group, where, commit)
            for group, offsets in committed.items()
            for where, commit in sorted(offsets.items())
            if where in directions
        ]

    async def _partitions(self, lookups: list[OffsetLookup]) -> list[MovingPartition]:
        earlier = {each: at for each in lookups if (at := each.nearest) is not None}
        same = await self._without_records(
            self._route.origin, {each: each.since(at) for each, at in earlier.items()}
        )
        nearest = {each: Nearest(at, each not in same) for each, at in earlier.items()}
        found = {each: moving_partition(each, nearest.get(each)) for each in lookups}
        further = {each: there for each, to in found.items() if (there := overshoot(to))}
        same = await self._without_records(self._route.destination, further)
        return [at_target_offset(to) if each in same else to for each, to in found.items()]

    async def _without_records(
        self, side: ClusterClients, ranges: Mapping[OffsetLookup, OffsetRange]
    ) -> set[OffsetLookup]:
        found: set[OffsetLookup] = set()
        for read_committed in (False, True):
            those = {
                each: range_
                for each, range_ in ranges.items()
                if each.direction.config.data.read_committed is read_committed
            }
            query = self._query(side, read_committed=read_committed)
            empty = await without_records(those.values(), query)
            found |= {each for each, range_ in those.items() if range_ in empty}
        return found


async def group_states(
    groups: Collection[str], origin: ClusterClients | None, destination: ClusterClients
) -> dict[str, MovingGroup]:
    """
    The states of groups on both sides, and nothing else yet; ``origin`` is None if it is lost.

    Raises:
        ClusterError: a cluster does not answer, or refuses.
    """
    here = all_answers(await origin.admin.describe_groups(groups)) if origin is not None else {}
    there = all_answers(await destination.admin.describe_groups(groups))
    sides = (destination,) if origin is None else (origin, destination)
    others = {each.group_id for side in sides for each in await side.admin.groups_of_other_types()}
    return {
        group: MovingGroup(
            group=group,
            origin_state=here[group].state if group in here else None,
            destination_state=there[group].state if group in there else None,
            is_of_other_type=group in others,
        )
        for group in groups
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _KnownCommits:
    """The last checkpoints of both flows: along the route, and of the opposite one."""

    along: GroupCheckpoints
    against: GroupCheckpoints

    def compared(self, partition: MovingPartition) -> MovingPartition:
        """A partition, with what is known of the group's commits on both sides."""
        assert partition.origin is not None  # noqa: S101 - a planned move always has it
        assert partition.group is not None  # noqa: S101 - as above
        order, is_synced = compared(
            _last(self.along, partition.group, partition.destination),
            _last(self.against, partition.group, partition.origin),
            partition.committed,
            partition.target_offset,
        )
        return replace(partition, order=order, is_synced=is_synced)


def _last(known: GroupCheckpoints, group: GroupId, where: TopicPartition) -> Checkpoint | None:
    found = known.get(group, {}).get(where)
    return None if found is None else found.checkpoint


async def _known_commits(route: MoveRoute, groups: Collection[GroupId]) -> _KnownCommits:
    async def read(upstream: ClusterAlias, side: ClusterClients) -> GroupCheckpoints:
        try:
            return await read_checkpoints(route.pair.flow, upstream, side, groups.__contains__)
        except NotAuthorized as error:
            log.warning("checkpoints.not_read", upstream=upstream, error=str(error))
            return {}

    return _KnownCommits(
        along=await read(route.origin.alias, route.destination),
        against=await read(route.destination.alias, route.origin),
    )
