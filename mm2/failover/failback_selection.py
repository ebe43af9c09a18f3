"""
Which groups come home when all do.

Where a flow syncs group offsets, groups stand on its target that have never been there, and others
have always been there and read copies. Neither has anything to do with coming home.
"""

from __future__ import annotations

from collections.abc import Mapping

from mm2.core.failover.group_facts import IDLE_STATES, GroupFacts
from mm2.core.model import GroupId, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.group_sync_rules import is_echo
from mm2.core.translation.returned_groups import SyncedOffsets


def belongs_to_failback(
    facts: GroupFacts, committed: Mapping[TopicPartition, CommittedOffset], carried: SyncedOffsets
) -> bool:
    """
    Whether a group is one of those that left.

    One whose members read at home, and which has committed nothing by itself where it is said to
    come from, was only carried along. One that home knows nothing of, and the flow neither, was
    never there. If in doubt, it comes.

    Args:
        facts: of the group; its destination is home.
        committed: its offsets where it comes from, of partitions that have a counterpart at home.
        carried: how far the flow from home has carried groups.
    """
    group = GroupId(facts.group)
    if facts.destination_state is None:
        return carried.is_empty or carried.knows(group)
    return facts.destination_state in IDLE_STATES or any(
        _has_read(group, where, commit.offset, carried) for where, commit in committed.items()
    )


def _has_read(group: GroupId, where: TopicPartition, offset: int, carried: SyncedOffsets) -> bool:
    last = carried.last(group, where)
    if last is not None and last.target_commit is not None:
        return not is_echo(offset, last, None)
    return carried.is_passed(group, where, offset)
