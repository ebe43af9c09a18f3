"""
Which groups go back when all do.

Where a flow syncs group offsets, groups have offsets on its target that have never been there, and
others have always been there and read copies. Neither takes part in a failback.
"""

from __future__ import annotations

from collections.abc import Mapping

from mm2.core.failover.moving_group import IDLE_STATES, MovingGroup
from mm2.core.model import GroupId, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.group_sync_rules import is_echo
from mm2.core.translation.returned_groups import SyncedOffsets


def belongs_to_failback(
    moving: MovingGroup, committed: Mapping[TopicPartition, CommittedOffset], synced: SyncedOffsets
) -> bool:
    """
    Whether a group is one of those that left its destination, the flow's source.

    One whose members read on the destination, and which has committed nothing by itself on the
    origin, was only synced. One that neither the destination nor the flow has was never there. If
    it is not certain, the group takes part.

    Args:
        committed: its offsets on the origin, of partitions that have a counterpart.
        synced: how far the flow has synced groups.
    """
    group = GroupId(moving.group)
    if moving.destination_state is None:
        return synced.is_empty or synced.knows(group)
    return moving.destination_state in IDLE_STATES or any(
        _has_read(group, where, commit.offset, synced) for where, commit in committed.items()
    )


def _has_read(group: GroupId, where: TopicPartition, offset: int, synced: SyncedOffsets) -> bool:
    last = synced.last(group, where)
    if last is not None and last.target_commit is not None:
        return not is_echo(offset, last, None)
    return synced.is_passed(group, where, offset)
