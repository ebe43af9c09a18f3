"""
Which checkpoints lead groups back that have not come back yet.

A checkpoint that led a group back stands for ever, also when the group has returned long since and
a user has set it back there on purpose. The checkpoints of the opposite flow distinguish them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import structlog

from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, SourceAndTarget
from mm2.core.translation.returned_groups import ReturningGroups, SyncedOffsets
from mm2.core.translation.reverse_translation import Copies
from mm2.errors import ClusterError

log = structlog.get_logger()


class Origin(Protocol):
    """Where checkpoints for groups of one cluster come from."""

    @property
    def flow(self) -> SourceAndTarget:
        """From the cluster where groups have read to the one where their offsets are set."""

    async def checkpoints(self) -> Mapping[GroupId, Collection[Checkpoint]]:
        """
        The last checkpoints of groups; empty if there are none.

        Raises:
            ClusterError: a cluster does not answer, or refuses.
        """


class SyncedOffsetsReader(Protocol):
    """Reads how far the opposite flow has synced groups."""

    async def __call__(self) -> SyncedOffsets:
        """
        All that the flow's topic still has about it.

        Raises:
            ClusterError: its target does not answer, or refuses.
        """


class PendingReturns:
    """
    Leaves out what would lead groups back that have come back already.

    Only checkpoints for originals of copies that the opposite flow makes are concerned. Those are
    left out, too, while that flow's synced offsets cannot be read.

    Args:
        copies: which topics of its source are copies made by the opposite flow.
    """

    def __init__(self, written: Origin, copies: Copies, synced: SyncedOffsetsReader) -> None:
        self._written = written
        self._copies = copies
        self._synced = synced

    @property
    def flow(self) -> SourceAndTarget:
        """The flow that has written the checkpoints."""
        return self._written.flow

    async def checkpoints(self) -> Mapping[GroupId, Collection[Checkpoint]]:
        """The last checkpoints of groups; empty if there are none."""
        found = await self._written.checkpoints()
        if not any(self._leads_back(each) for known in found.values() for each in known):
            return found
        back = ReturningGroups(self._copies, await self._known())
        return {
            group: [each for each in known if back.may_be_given(each)]
            for group, known in found.items()
        }

    def _leads_back(self, checkpoint: Checkpoint) -> bool:
        return self._copies.copied_partition(checkpoint.partition) is not None

    async def _known(self) -> SyncedOffsets:
        try:
            return await self._synced()
        except ClusterError as error:
            log.warning("groups.not_synced", about=f"groups back by {self.flow}", error=str(error))
            return SyncedOffsets()
