"""
What becomes of the checkpoints of groups that are gone from the source.
"""

from __future__ import annotations

import time

import structlog

from flows.checkpoint.checkpoint_store import CheckpointStore
from mm2.core.model import GroupId

log = structlog.get_logger()


class DeletedGroups:
    """
    Takes back the checkpoints of groups that do not exist in two looks in a row.

    Two, because checkpoints that are taken back are lost to a failover, and a cluster that has just
    come back may not know everything yet.

    Args:
        store: has the checkpoints.
    """

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._absent: frozenset[GroupId] = frozenset()

    def tombstone_missing(self, absent: frozenset[GroupId]) -> None:
        """Takes in which groups do not exist now."""
        for group in sorted(absent & self._absent & self._store.groups()):
            records = self._store.delete(group, time.time_ns() // 1_000_000)
            log.info("checkpoint.taken_back", group=group, records=records)
        self._absent = absent
