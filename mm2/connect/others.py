"""Keeps our workers and those of Kafka's own Connect from running the same connectors."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.groups import Group, GroupState

log = structlog.get_logger()

_LOOK_EVERY_S: Final = 2.0
_IDLE: Final = (GroupState.EMPTY, GroupState.DEAD)


async def until_alone(admin: Admin, group_id: str) -> None:
    """
    Waits until nobody is in the group that Connect's workers would be in; ours never are.

    Raises:
        ClusterError: the cluster does not say.
    """
    is_said = False
    while await _has_members(admin, group_id):
        if not is_said:
            reason = (
                f"the group {group_id} has members: workers of Kafka's own Connect run its "
                "connectors. Stop them, and this worker takes over; or give it another group.id"
            )
            log.error("connect.refused", group=group_id, reason=reason)
        is_said = True
        await asyncio.sleep(_LOOK_EVERY_S)


async def _has_members(admin: Admin, group_id: str) -> bool:
    found = (await admin.describe_groups([group_id])).get(group_id)
    if isinstance(found, ClusterError):
        raise found
    return isinstance(found, Group) and found.state not in _IDLE
