"""
Finds out where groups stand, and where that is on the other side, while both clusters answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from mm2.checkpoints.synced_offsets import read_synced_offsets
from mm2.config.offset_topics import accepted
from mm2.core.failover.group_facts import GroupFacts, TargetOffset
from mm2.core.filters import build_group_filter
from mm2.core.model import GroupId, TopicPartition
from mm2.core.positions.exactly_once import MIRROR_GROUP_PREFIX
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.errors import ClusterError
from mm2.failover.directions import FlowDirection, direction_of
from mm2.failover.empty_ranges import FirstRecordQuery, OffsetRange, look_at, without_records
from mm2.failover.failback_selection import belongs_to_failback
from mm2.failover.group_partitions import (
    GroupPartition,
    Nearest,
    is_contested,
    keep_current,
    overshoot,
    place_of,
)
from mm2.failover.known_commits import known_commits_of
from mm2.failover.move_route import ClusterClients, MoveRoute
from mm2.kafka.group_admin import OffsetAt
from mm2.kafka.logs.first_records import Range

T = TypeVar("T")

Committed = Mapping[TopicPartition, CommittedOffset]
_Ways = Mapping[TopicPartition, tuple[FlowDirection, TopicPartition]]


class MoveSurvey:
    """
    Looks at groups on a route.

    Args:
        route: from where to where.
        look_at: finds out which records a cluster has.
    """

    def __init__(self, route: MoveRoute, look_at: FirstRecordQuery = look_at) -> None:
        self._route = route
        self._look_at = look_at

    async def all_groups(self) -> list[str]:
        """
        Groups of the origin that the configuration asks for and that have read something mirrored.

        Back home, only those that may have left it.

        Raises:
            ClusterError: the origin does not answer, or refuses.
        """
        admin = self._route.origin.admin
        wanted = build_group_filter(self._route.pair.flow.checkpoint.properties)
        names = [
            GroupId(each.group_id)
            for each in await admin.list_groups()
            if not each.group_id.startswith(MIRROR_GROUP_PREFIX)
        ]
        listed = await accepted(wanted.should_replicate_group, names)
        committed = {
            group: {where: at for where, at in offsets.items() if self._has_way(where)}
            for group, offsets in _all(await admin.list_offsets_of_groups(listed)).items()
        }
        reading = {group: offsets for group, offsets in committed.items() if offsets}
        return sorted(await self._coming_home(reading) if self._route.is_back else reading)

    def _has_way(self, where: TopicPartition) -> bool:
        return direction_of(self._route.passages, where) is not None

    async def _coming_home(self, committed: Mapping[str, Committed]) -> list[str]:
        origin, destination = self._route.origin, self._route.destination
        carried = await read_synced_offsets(self._route.pair.flow, origin.admin)
        facts = await states_of(committed, origin, destination)
        return [
            group
            for group, offsets in committed.items()
            if belongs_to_failback(facts[group], offsets, carried)
        ]

    async def look(self, groups: Collection[str]) -> list[GroupFacts]:
        """
        All about these groups, as it is now.

        Raises:
            ClusterError: a cluster does not answer, or refuses.
        """
        origin, destination = self._route.origin, self._route.destination
        committed = _all(await origin.admin.list_offsets_of_groups(groups))
        ways = {
            where: way
            for offsets in committed.values()
            for where in offsets
            if (way := direction_of(self._route.passages, where)) is not None
        }
        facts = await states_of(groups, origin, destination)
        current = _all(await destination.admin.list_offsets_of_groups(groups))
        steps = await self._steps(committed, current, ways)
        found = await self._places({step for those in steps.values() for step in those})
        places = await self._compared(
            {group: [found[step] for step in steps[group]] for group in steps}
        )
        return [
            replace(
                facts[group],
                places=tuple(places[group]),
                left_behind=tuple(sorted(committed[group].keys() - ways.keys())),
            )
            for group in sorted(groups)
        ]

    async def _compared(
        self, places: Mapping[str, list[TargetOffset]]
    ) -> Mapping[str, list[TargetOffset]]:
        """Where a group stands elsewhere on the destination: which of its commits is the later."""
        contested = [group for group, those in places.items() if any(map(is_contested, those))]
        if not contested:
            return places
        told = await known_commits_of(self._route, contested)
        return {
            group: [told.compared(group, each) if is_contested(each) else each for each in those]
            for group, those in places.items()
        }

    async def _steps(
        self, committed: Mapping[str, Committed], current: Mapping[str, Committed], ways: _Ways
    ) -> dict[str, list[GroupPartition]]:
        origin, destination = self._route.origin, self._route.destination
        used = dict.fromkeys(passage for passage, _ in ways.values())
        crossings = {passage: await passage.look() for passage in used}
        # Now what is known to be copied is there, and positions are not beyond the ends.
        here = await ranges(origin, ways)
        there = await ranges(destination, {to for _, to in ways.values()})
        ids = await self._route.ids({where: to for where, (_, to) in ways.items()})

        def step(where: TopicPartition, commit: CommittedOffset, now: int | None) -> GroupPartition:
            passage, to = ways[where]
            crossing, log = crossings[passage], here.get(where, (0, commit.offset))
            return GroupPartition(
                where=where,
                passage=passage,
                crossing=crossing,
                destination=to,
                commit=commit,
                origin=log,
                there=there.get(to),
                current=now,
                is_same=where not in here or crossing.speaks_of(where, ids[where], log[1]),
            )

        return {
            group: [
                step(where, commit, _offset(current[group], ways[where][1]))
                for where, commit in sorted(offsets.items())
                if where in ways
            ]
            for group, offsets in committed.items()
        }

    async def _places(
        self, steps: Collection[GroupPartition]
    ) -> dict[GroupPartition, TargetOffset]:
        earlier = {step: at for step in steps if (at := step.nearest) is not None}
        same = await self._without_records(
            self._route.origin, {step: step.since(at) for step, at in earlier.items()}
        )
        nearest = {step: Nearest(at, step not in same) for step, at in earlier.items()}
        places = {step: place_of(step, nearest.get(step)) for step in steps}
        further = {step: there for step, place in places.items() if (there := overshoot(place))}
        same = await self._without_records(self._route.destination, further)
        return places | {step: keep_current(places[step]) for step in same}

    async def _without_records(
        self, side: ClusterClients, stretches: Mapping[GroupPartition, OffsetRange]
    ) -> set[GroupPartition]:
        found: set[GroupPartition] = set()
        for read_committed in (False, True):
            those = {
                step: stretch
                for step, stretch in stretches.items()
                if step.passage.config.data.read_committed is read_committed
            }
            look = self._look_at(side, read_committed=read_committed)
            empty = await without_records(those.values(), look)
            found |= {step for step, stretch in those.items() if stretch in empty}
        return found


async def states_of(
    groups: Collection[str], origin: ClusterClients | None, destination: ClusterClients
) -> dict[str, GroupFacts]:
    """
    The states of groups on both sides, and nothing else yet.

    Raises:
        ClusterError: a cluster does not answer, or refuses.
    """
    here = _all(await origin.admin.describe_groups(groups)) if origin is not None else {}
    there = _all(await destination.admin.describe_groups(groups))
    sides = (destination,) if origin is None else (origin, destination)
    others = {each.group_id for side in sides for each in await side.admin.groups_of_other_types()}
    return {
        group: GroupFacts(
            group=group,
            origin_state=here[group].state if group in here else None,
            destination_state=there[group].state if group in there else None,
            places=(),
            is_of_other_type=group in others,
        )
        for group in groups
    }


async def ranges(
    side: ClusterClients, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, Range]:
    """
    Where logs begin and end; partitions that do not exist are left out.

    Raises:
        ClusterError: the cluster does not answer, or refuses.
    """
    wanted = set(partitions)
    known = await side.admin.describe_topics({where.topic for where in wanted})
    there = [
        where
        for where in wanted
        if where.topic in known and where.partition < known[where.topic].partitions
    ]
    starts = await side.admin.list_offsets(there, OffsetAt.EARLIEST)
    ends = await side.admin.list_offsets(there, OffsetAt.LATEST)
    return {where: (starts[where], ends[where]) for where in starts if where in ends}


def _all(answers: Mapping[str, T | ClusterError]) -> dict[str, T]:
    """The answers, if there is no failure among them: half a group is not moved."""
    found: dict[str, T] = {}
    for group, answer in answers.items():
        if isinstance(answer, ClusterError):
            raise answer
        found[group] = answer
    return found


def _offset(committed: Committed, where: TopicPartition) -> int | None:
    return committed[where].offset if where in committed else None
