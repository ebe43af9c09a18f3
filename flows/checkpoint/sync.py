"""
Gives groups of the target the offsets that their checkpoints name (behaviours 9.5).
"""

from __future__ import annotations

from flows.checkpoint.groups import FollowedGroups
from flows.checkpoint.store import CheckpointStore
from mm2.client.group_offsets import GroupOffsets
from mm2.core.codec import Checkpoint
from mm2.core.model import GroupId
from mm2.core.reverse import Returning
from mm2.kafka.group_ports import TargetGroups


class GroupOffsetSync:
    """
    Sets the offsets of idle groups on the target, under the rules of ``GroupOffsets``.

    Args:
        target: the cluster to write to.
        groups: which groups.
        store: has their checkpoints, also those of before the start (C306).
        returning: tells which of them are on their way back; None if none can be.
    """

    def __init__(
        self,
        target: TargetGroups,
        groups: FollowedGroups,
        store: CheckpointStore,
        returning: Returning | None = None,
    ) -> None:
        self._offsets = GroupOffsets(target)
        self._groups = groups
        self._store = store
        self._returning = returning

    @property
    def active(self) -> frozenset[GroupId]:
        """Groups that had members on the target when they were last looked at."""
        return self._offsets.active

    async def round(self) -> None:
        """
        Looks at all groups that have checkpoints, and writes those that are behind.

        Raises:
            ClusterError: the target does not tell which groups it has.
        """
        checkpoints = {group: self._to_give(group) for group in self._groups.current}
        await self._offsets.sync({g: each for g, each in checkpoints.items() if each})

    def _to_give(self, group: GroupId) -> list[Checkpoint]:
        checkpoints = self._store.of_group(group).values()
        if self._returning is None:
            return list(checkpoints)
        return [each for each in checkpoints if self._returning.may_be_given(each)]
