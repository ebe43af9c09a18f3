"""Which consumer groups of the source are followed (Java: ``findConsumerGroups``; C272-C275)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from typing import Final

import structlog

from mm2.config.offset_topics import accepted
from mm2.core.filters import GroupFilter, TopicFilter
from mm2.core.model import GroupId, TopicPartition
from mm2.core.positions.exactly_once import MIRROR_GROUP_PREFIX
from mm2.errors import ClusterError
from mm2.kafka.groups.protocols import SourceGroups
from mm2.supervision import run_periodically

log = structlog.get_logger()

_RETRY_S: Final = 5.0
_NAMED: Final = 10
"""A log line names so many groups."""


class FollowedGroups:
    """
    The groups whose offsets are translated.

    Args:
        topic_filter: a group counts if it has an offset for a topic that this accepts.
        interval: between listings; None lists once.

    Attributes:
        current: their ids; empty until the first listing.
        of_other_types: share and streams groups that the filter accepts; they are not translated.
    """

    def __init__(
        self,
        source: SourceGroups,
        *,
        group_filter: GroupFilter,
        topic_filter: TopicFilter,
        interval: timedelta | None,
    ) -> None:
        self.current: frozenset[GroupId] = frozenset()
        self._trouble = ""
        self.of_other_types: frozenset[GroupId] = frozenset()
        self._source = source
        self._group_filter = group_filter
        self._topic_filter = topic_filter
        self._interval = interval
        self._known: Callable[[], Collection[GroupId]] = frozenset
        self._on_absent: Callable[[frozenset[GroupId]], None] = lambda _: None

    def watch_for_absent(
        self,
        known: Callable[[], Collection[GroupId]],
        on_absent: Callable[[frozenset[GroupId]], None],
    ) -> None:
        """
        Checks at each listing also whether some groups are gone.

        ``known`` returns their ids; ``on_absent`` gets those that do not exist, after each listing.
        """
        self._known = known
        self._on_absent = on_absent

    def wants(self, group: GroupId) -> bool:
        """Whether a group is to be followed if it has offsets that count."""
        # Positions of flows are no consumer's, even if the filter accepts them.
        return not group.startswith(
            MIRROR_GROUP_PREFIX
        ) and self._group_filter.should_replicate_group(group)

    def add(self, group: GroupId) -> None:
        """Follows a group that has just committed."""
        if group not in self.current:
            self._adopt(self.current | {group})

    async def keep_current(self) -> None:
        """Looks until it succeeds, and then at each interval; ends if there is none."""
        while True:
            if await self._first_refresh():
                break
            await asyncio.sleep(_RETRY_S)
        if self._interval is not None:
            seconds = self._interval.total_seconds()
            await run_periodically(seconds, self.refresh, name="refresh-groups", at_once=False)

    async def refresh(self) -> None:
        """
        Looks for groups once.

        Raises:
            ClusterError: the source cannot list its groups.
        """
        listed = {GroupId(group.group_id) for group in await self._source.list_groups()}
        # A broker that has just started lists no groups before it has loaded them. Those we follow
        # are given up only when they have no offsets any more.
        chosen = await accepted(self.wants, listed)
        before = self.current
        asked = sorted(before.union(chosen, self._known()))
        answers = await self._source.list_offsets_of_groups(asked)
        committed = {GroupId(group): offsets for group, offsets in answers.items()}
        failures = [each for each in committed.values() if isinstance(each, ClusterError)]
        if failures:
            log.warning("groups.skipped", groups=len(failures), error=str(failures[0]))
        found = await asyncio.to_thread(
            followed, committed, topic_filter=self._topic_filter, before=before
        )
        # Those that have committed meanwhile were not asked about.
        self._adopt(found | (self.current - before))
        self._on_absent(absent(committed, listed))
        await self._warn_of_other_types()

    async def _first_refresh(self) -> bool:
        try:
            await self.refresh()
        except ClusterError as error:
            if str(error) != self._trouble:
                log.warning("groups.not_listed", error=str(error), retry_in_s=_RETRY_S)
            self._trouble = str(error)
            return False
        return True

    def _adopt(self, found: frozenset[GroupId]) -> None:
        if found != self.current:
            log.info(
                "groups.changed",
                groups=len(found),
                added=_some(found - self.current),
                removed=_some(self.current - found),
            )
        self.current = found

    async def _warn_of_other_types(self) -> None:
        """Says once of each share or streams group that its offsets are not carried over."""
        others = await self._source.groups_of_other_types()
        found = {GroupId(group.group_id): group.type for group in others}
        found = {group: found[group] for group in await accepted(self.wants, found)}
        for group_id in sorted(found.keys() - self.of_other_types):
            log.warning("group.not_followed", group=group_id, type=found[group_id])
        self.of_other_types = frozenset(found)


def followed(
    committed: Mapping[GroupId, Collection[TopicPartition] | ClusterError],
    *,
    topic_filter: TopicFilter,
    before: frozenset[GroupId],
) -> frozenset[GroupId]:
    """
    Returns the groups with at least one offset that counts (C274).

    ``committed`` has the partitions that each group has offsets for, or why they are not known. A
    group whose offsets cannot be listed stays as it was ``before``.
    """
    return frozenset(
        group
        for group, partitions in committed.items()
        if (
            group in before
            if isinstance(partitions, ClusterError)
            else any(topic_filter.should_replicate_topic(each.topic) for each in partitions)
        )
    )


def absent(
    committed: Mapping[GroupId, Collection[TopicPartition] | ClusterError],
    listed: Collection[GroupId],
) -> frozenset[GroupId]:
    """
    Returns the groups that do not exist: neither listed nor with any offset.

    ``committed`` has the partitions that each group has offsets for, or why they are not known.
    """
    return frozenset(
        group
        for group, partitions in committed.items()
        if not isinstance(partitions, ClusterError) and not partitions and group not in listed
    )


def _some(groups: Iterable[GroupId]) -> list[GroupId]:
    return sorted(groups)[:_NAMED]
