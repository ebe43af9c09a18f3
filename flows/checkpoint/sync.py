"""
Gives groups of the target the offsets that their checkpoints name (behaviours 9.5).

Java looks at the groups in one job and writes in another, and takes a group that it has not seen
idle for a new one; so it can set a group back (KAFKA-19794, C424). Here a group is looked at right
before it is written, only an empty or absent one is written, and only forward. What remains is the
instant between the two, in which a member would have to join, commit and leave.
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
from mm2.kafka.errors import GroupInUse
from mm2.kafka.groups import Group, GroupState

log = structlog.get_logger()

_AT_ONCE: Final = 32
"""Groups that are looked at and then written: few, so that little time passes in between."""


class GroupOffsetSync:
    """
    Sets the offsets of idle groups on the target.

    Args:
        target: the cluster to write to.
        groups: which groups.
        store: has their checkpoints, also those of before the start (C306).
    """

    def __init__(self, target: Admin, groups: FollowedGroups, store: CheckpointStore) -> None:
        self._target = target
        self._groups = groups
        self._store = store

    async def round(self) -> None:
        """
        Looks at all groups that have checkpoints, and writes those that are behind.

        Raises:
            ClusterError: the target does not describe its groups.
        """
        groups = [each for each in sorted(self._groups.current) if self._store.of_group(each)]
        for first in range(0, len(groups), _AT_ONCE):
            await self._sync(groups[first : first + _AT_ONCE])

    async def _sync(self, groups: list[GroupId]) -> None:
        described = await self._target.describe_groups(groups)
        idle = [group for group in groups if is_idle(group, described.get(group))]
        committed = await self._target.list_offsets_of_groups(idle)
        async with asyncio.TaskGroup() as tasks:
            for group in idle:
                offsets = committed[group]
                if isinstance(offsets, ClusterError):
                    log.warning("group_offsets.not_listed", group=group, error=str(offsets))
                elif behind := self._behind(group, offsets):
                    tasks.create_task(self._write(group, behind), name=f"offsets of {group}")

    def _behind(
        self, group: GroupId, committed: Mapping[TopicPartition, CommittedOffset]
    ) -> dict[TopicPartition, CommittedOffset]:
        return group_offsets_to_sync(self._store.of_group(group).values(), committed)

    async def _write(
        self, group: GroupId, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        try:
            await self._target.alter_group_offsets(group, offsets)
        except GroupInUse as error:
            log.info("group_offsets.refused", group=group, reason=str(error))
        except ClusterError as error:
            log.warning("group_offsets.not_synced", group=group, error=str(error))
        else:
            log.info("group_offsets.synced", group=group, partitions=len(offsets))


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
