"""How a topic is cleaned up, which decides how long its records stay."""

from __future__ import annotations

from typing import Final

from mm2.core.model import TopicName
from mm2.errors import NotAuthorized
from mm2.kafka.admin import Admin

CLEANUP_POLICY: Final = "cleanup.policy"
COMPACT: Final = "compact"


async def cleanup_policy(admin: Admin, topic: TopicName) -> str | None:
    """
    The topic's policy; None if we may not ask, or it is not there.

    Raises:
        ClusterError: the cluster does not answer, or refuses us.
    """
    try:
        described = await admin.describe_configs([topic])
    except NotAuthorized:
        return None
    values = {entry.name: entry.value for entry in described.get(topic, ())}
    return values.get(CLEANUP_POLICY)
