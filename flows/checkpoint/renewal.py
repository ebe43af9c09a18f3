"""
Gives up admin clients that will not find a group's coordinator again.
"""

from __future__ import annotations

from collections.abc import Iterable

import structlog

from mm2.errors import ClusterError
from mm2.kafka.admin import Admin

log = structlog.get_logger()


async def renew_after(admin: Admin, failures: Iterable[ClusterError]) -> None:
    """
    Closes the connections of ``admin`` if failures may be theirs; its next call opens new ones.

    Seen with librdkafka 2.16: when the broker that coordinates a group was restarted, a client that
    had spoken to it times out in each call about that group from then on; a new one does not. But
    a client with such a call must not be destroyed while the broker is away: that aborts the whole
    process (an assertion on ``eonce->refcnt``). So the cluster must answer first.
    """
    if not any(failure.retriable for failure in failures):
        return
    try:
        await admin.cluster_id()
    except ClusterError:
        return
    log.info("admin.renewed", cluster=admin.alias)
    await admin.close()
