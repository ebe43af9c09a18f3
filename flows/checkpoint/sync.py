"""
Gives groups of the target the offsets that their checkpoints name (behaviours 9.5).

Java looks at the groups in one job and writes in another, and takes a group that it has not seen
idle for a new one; so it can set a group back (KAFKA-19794, C424). Here a group is looked at right
before it is written, only an empty or absent one is written, and only forward. What remains is the
instant between the two, in which a member would have to join, commit and leave; so a group is
looked at again right after, and what does not fit is reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from flows.checkpoint.groups import FollowedGroups
from flows.checkpoint.store import CheckpointStore
from mm2.core.checkpoint import CommittedOffset, group_offsets_to_sync
from mm2.core.model import GroupId, TopicPartition
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.conversions import chunks
from mm2.kafka.errors import GroupInUse
from mm2.kafka.groups import Group, GroupState

log = structlog.get_logger()

_AT_ONCE: Final = 50
"""Groups that are looked at and then written: few, so that little time passes in between."""

_Offsets = Mapping[TopicPartition, CommittedOffset]
_Described = Mapping[str, Group | ClusterError]


class GroupOffsetSync:
    """
    Sets the offsets of idle groups on the target.

    Args:
        target: the cluster to write to.
        groups: which groups.
        store: has their checkpoints, also those of before the start (C306).

    Attributes:
        active: groups that had members on the target when they were last looked at.
    """

    def __init__(self, target: Admin, groups: FollowedGroups, store: CheckpointStore) -> None:
        self.active: frozenset[GroupId] = frozenset()
        self._target = target
        self._groups = groups
        self._store = store
        self._of_other_types: frozenset[str] = frozenset()

    async def round(self) -> None:
        """
        Looks at all groups that have checkpoints, and writes those that are behind.

        Raises:
            ClusterError: the target does not tell which groups it has.
        """
        groups = [each for each in sorted(self._groups.current) if self._store.of_group(each)]
        groups = await self._without_other_types(groups)
        active: set[GroupId] = set()
        for some in chunks(groups, _AT_ONCE):
            active |= await self._sync(some)
        for group in sorted(active - self.active):
            log.info("group_offsets.active", group=group)
        self.active = frozenset(active)

    async def _without_other_types(self, groups: list[GroupId]) -> list[GroupId]:
        """Share and streams groups of the target are not ours to write, whatever their names."""
        listed = {each.group_id for each in await self._target.groups_of_other_types()}
        others = listed.intersection(groups)
        for group in sorted(others - self._of_other_types):
            log.warning("group_offsets.other_type", group=group)
        self._of_other_types = frozenset(others)
        return [group for group in groups if group not in others]

    async def _sync(self, groups: list[GroupId]) -> set[GroupId]:
        """Writes those that are idle and behind; returns those that are active."""
        described = await self._target.describe_groups(groups)
        idle = [group for group in groups if is_idle(group, described.get(group))]
        committed = await self._target.list_offsets_of_groups(idle)
        behind = {group: self._behind(group, committed[group]) for group in idle}
        async with asyncio.TaskGroup() as tasks:
            writing = {
                group: tasks.create_task(self._write(group, offsets), name=f"offsets of {group}")
                for group, offsets in behind.items()
                if offsets
            }
        written = {group: behind[group] for group, task in writing.items() if task.result()}
        await self._check(described, written)
        return {group for group in groups if is_active(described.get(group))}

    def _behind(self, group: GroupId, committed: _Offsets | ClusterError) -> _Offsets:
        if isinstance(committed, ClusterError):
            log.warning("group_offsets.not_listed", group=group, error=str(committed))
            return {}
        return group_offsets_to_sync(self._store.of_group(group).values(), committed)

    async def _write(self, group: GroupId, offsets: _Offsets) -> bool:
        try:
            await self._target.alter_group_offsets(group, offsets)
        except GroupInUse as error:
            log.info("group_offsets.refused", group=group, reason=str(error))
        except ClusterError as error:
            log.warning("group_offsets.not_synced", group=group, error=str(error))
        else:
            log.info("group_offsets.synced", group=group, partitions=len(offsets))
            return True
        return False

    async def _check(self, before: _Described, written: Mapping[GroupId, _Offsets]) -> None:
        """Reports groups that somebody else has used while we wrote (KAFKA-19794)."""
        if not written:
            return
        after = await self._target.describe_groups(written)
        committed = await self._target.list_offsets_of_groups(written)
        for group, offsets in written.items():
            stands = committed[group]
            if isinstance(stands, ClusterError) or isinstance(after.get(group), ClusterError):
                continue
            reason = interference(before.get(group), after.get(group), offsets, stands)
            if reason is not None:
                log.warning("group_offsets.raced", group=group, reason=reason)


def is_idle(group: GroupId, described: Group | ClusterError | None) -> bool:
    """
    Tells whether a group may be written: it does not exist, or exists and is empty (C309).

    Args:
        group: its name.
        described: what the target says of it; None if there is no such group.
    """
    if isinstance(described, ClusterError):
        log.warning("group_offsets.not_described", group=group, error=str(described))
        return False
    return described is None or described.state is GroupState.EMPTY


def is_active(described: Group | ClusterError | None) -> bool:
    """Tells whether a group has members, as far as the target says anything of it."""
    return isinstance(described, Group) and described.state is not GroupState.EMPTY


def interference(
    before: Group | ClusterError | None,
    after: Group | ClusterError | None,
    written: _Offsets,
    stands: _Offsets,
) -> str | None:
    """
    Tells what somebody else did to a group while it was written; None if nothing can be seen.

    Args:
        before: what the target said of it right before.
        after: what it says right after; None if there is no such group.
        written: the offsets that were written.
        stands: the offsets that the group has now.
    """
    if is_active(after):
        return "members have joined"
    epoch = before.epoch if isinstance(before, Group) else None
    if isinstance(after, Group) and epoch is not None and after.epoch != epoch:
        return "members have come and gone"
    if any(stands.get(where) != offset for where, offset in written.items()):
        return "other offsets were committed"
    return None
