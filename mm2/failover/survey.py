"""
Finds out where groups stand, and where that is on the other side, while both clusters answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from mm2.core.checkpoint import CommittedOffset
from mm2.core.exactly_once import MIRROR_GROUP_PREFIX
from mm2.core.failover import GroupFacts, Place
from mm2.core.filters import build_group_filter
from mm2.core.model import GroupId, TopicPartition
from mm2.core.translation import Translated
from mm2.errors import ClusterError
from mm2.failover.passages import Crossing, Passage, way_of
from mm2.failover.route import Route, Side
from mm2.kafka.offsets import OffsetAt
from mm2.kafka.peek import first_records

T = TypeVar("T")

Committed = Mapping[TopicPartition, CommittedOffset]
Range = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One partition on its way."""

    where: TopicPartition
    passage: Passage
    crossing: Crossing
    destination: TopicPartition
    commit: CommittedOffset
    origin: Range
    there: Range | None

    @property
    def offset(self) -> int:
        """What the group reads next; what the origin has deleted, it will not."""
        return max(self.commit.offset, self.origin[0])


class Survey:
    """
    Looks at groups on a route.

    Args:
        route: from where to where.
    """

    def __init__(self, route: Route) -> None:
        self._route = route

    async def all_groups(self) -> list[str]:
        """
        Groups of the origin that the configuration asks for and that have read something mirrored.

        Raises:
            ClusterError: the origin does not answer, or refuses.
        """
        admin = self._route.origin.admin
        wanted = build_group_filter(self._route.pair.flow.checkpoint.properties)
        listed = [
            each.group_id
            for each in await admin.list_groups()
            if wanted.should_replicate_group(GroupId(each.group_id))
            and not each.group_id.startswith(MIRROR_GROUP_PREFIX)
        ]
        committed = _all(await admin.list_offsets_of_groups(listed))
        return sorted(
            group
            for group, offsets in committed.items()
            if any(way_of(self._route.passages, where) for where in offsets)
        )

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
            if (way := way_of(self._route.passages, where)) is not None
        }
        facts = await states_of(groups, origin, destination)
        current = _all(await destination.admin.list_offsets_of_groups(groups))
        here = await ranges(origin, ways)
        used = dict.fromkeys(passage for passage, _ in ways.values())
        crossings = {passage: await passage.look() for passage in used}
        # Now what is known to be copied is there.
        there = await ranges(destination, {to for _, to in ways.values()})
        steps = {
            group: [
                _Step(
                    where=where,
                    passage=ways[where][0],
                    crossing=crossings[ways[where][0]],
                    destination=ways[where][1],
                    commit=commit,
                    origin=here.get(where, (0, commit.offset)),
                    there=there.get(ways[where][1]),
                )
                for where, commit in sorted(offsets.items())
                if where in ways
            ]
            for group, offsets in committed.items()
        }
        places = await self._places(steps)
        return [
            replace(
                facts[group],
                places=tuple(
                    replace(place, current=_offset(current[group], place.destination))
                    for place in places[group]
                ),
                left_behind=tuple(sorted(committed[group].keys() - ways.keys())),
            )
            for group in sorted(groups)
        ]

    async def _places(self, steps: Mapping[str, list[_Step]]) -> dict[str, list[Place]]:
        direct = {
            group: [(step, step.crossing.translate(step.where, step.offset)) for step in those]
            for group, those in steps.items()
        }
        doubtful = [
            step
            for those in direct.values()
            for step, found in those
            if found is None or not found.exact
        ]
        nearest = await self._nearest(doubtful)
        return {
            group: [_place(step, found, nearest.get(step)) for step, found in those]
            for group, those in direct.items()
        }

    async def _nearest(self, steps: Iterable[_Step]) -> dict[_Step, tuple[int, bool]]:
        """For each step an earlier offset, and whether records lie between; not if unknown."""
        found: dict[_Step, tuple[int, bool]] = {}
        for step in steps:
            if (earlier := step.crossing.nearest(step.where, step.offset)) is None:
                continue
            first = max(earlier, step.origin[0])
            records = await first_records(
                self._route.origin.alias,
                self._route.origin.consumer,
                {step.where: (first, min(step.offset, step.origin[1]))},
                read_committed=step.passage.config.data.read_committed,
            )
            found[step] = earlier, records.get(step.where, ...) is not None
        return found


def _place(step: _Step, direct: Translated | None, nearest: tuple[int, bool] | None) -> Place:
    translated, to_copy = direct, 0
    if step.commit.offset > step.origin[1]:
        translated = None
    elif nearest is not None:
        earlier, has_records = nearest
        if has_records:
            to_copy = step.offset - max(earlier, step.origin[0])
        else:
            translated = step.crossing.translate(step.where, earlier) or _untouched(step, earlier)
    return Place(
        origin=step.where,
        destination=step.destination,
        committed=step.commit.offset,
        translated=translated,
        to_copy=to_copy,
        start=0 if step.there is None else step.there[0],
        end=0 if step.there is None else step.there[1],
        metadata=step.commit.metadata,
        is_there=step.there is not None,
    )


def _untouched(step: _Step, copied: int) -> Translated | None:
    """Where nothing was copied yet, everything that ever will be is still to come."""
    if copied > step.origin[0] or step.there is None:
        return None
    start, end = step.there
    return Translated(start, start == end)


async def states_of(
    groups: Collection[str], origin: Side | None, destination: Side
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


async def ranges(side: Side, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Range]:
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
