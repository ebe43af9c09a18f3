"""Gives groups of the target the offsets that their checkpoints name (behaviours 9.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from flows.checkpoint.checkpoint_store import CheckpointStore
from flows.checkpoint.followed_groups import FollowedGroups
from mm2.checkpoints.group_offset_writer import GroupOffsets
from mm2.clock import now_ms
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId
from mm2.core.translation.group_sync_rules import NOTHING, Order, TargetCommit, seen
from mm2.core.translation.returned_groups import ReturningGroups
from mm2.kafka.groups.protocols import TargetGroups


class GroupOffsetSync:
    """
    Sets the offsets of idle groups on the target, under the rules of ``GroupOffsets``.

    Args:
        store: has their checkpoints, also those of before the start (C306).
        returning: knows which groups are being led back; None if none can be.
        notes: what is known of offsets on the target; None for a flow that emits nothing meanwhile.
    """

    def __init__(
        self,
        target: TargetGroups,
        groups: FollowedGroups,
        store: CheckpointStore,
        returning: ReturningGroups | None = None,
        notes: StoreNotes | None = None,
    ) -> None:
        self._offsets = GroupOffsets(target, notes=notes)
        self._groups = groups
        self._store = store
        self._returning = returning

    @property
    def active(self) -> frozenset[GroupId]:
        """Groups that had members on the target at the last check."""
        return self._offsets.active

    async def round(self) -> None:
        """
        Looks at all groups that have checkpoints, and writes those that stand elsewhere.

        Raises:
            ClusterError: the target cannot list its groups.
        """
        checkpoints = {group: self._to_give(group) for group in self._groups.current}
        await self._offsets.sync({g: each for g, each in checkpoints.items() if each})

    def _to_give(self, group: GroupId) -> list[Checkpoint]:
        checkpoints = self._store.of_group(group).values()
        if self._returning is None:
            return list(checkpoints)
        return [each for each in checkpoints if self._returning.may_be_given(each)]


class StoreNotes:
    """
    Stores in checkpoints which offsets were set, and which groups have committed since.

    Only what the topic has is given: so the opposite flow recognises it as an echo, and so does the
    next leader after a crash.

    Args:
        turn: held while checkpoints are made.
    """

    def __init__(
        self,
        store: CheckpointStore,
        turn: asyncio.Lock,
        write: Callable[[], Awaitable[int]],
    ) -> None:
        self.turn = turn
        self._store = store
        self._write = write

    def current(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """The last checkpoint of the same; None if it is of another topic, or not written."""
        now = self._store.of_group(checkpoint.group).get(checkpoint.partition)
        if now is None or now.logs.remote != checkpoint.logs.remote:
            return None
        return now if self._store.is_written(now) else None

    def observed(self, checkpoint: Checkpoint, offset: int | None) -> Checkpoint:
        """Notes what somebody has committed on the target, for all to know."""
        target_commit = seen(checkpoint, offset)
        return checkpoint if target_commit is None else self._noted(checkpoint, target_commit)

    def given(self, checkpoint: Checkpoint) -> None:
        """
        Notes that the group stands there because it was put there.

        Others know it by the offset. Only where the group was set back, they are told, so that they
        know it when it has read up to where it was.
        """
        target_commit = TargetCommit(Order.GIVEN, (checkpoint.downstream_offset,))
        stood = () if checkpoint.target_commit is None else checkpoint.target_commit.offsets
        if max(stood, default=NOTHING) > checkpoint.downstream_offset:
            self._noted(checkpoint, target_commit)
        else:
            self._store.note(checkpoint, target_commit)

    async def write(self) -> None:
        """
        Writes what was noted.

        Raises:
            ClusterError: not all could be written; the others stay due.
        """
        if self._store.unsent():
            await self._write()

    def _noted(self, checkpoint: Checkpoint, target_commit: TargetCommit) -> Checkpoint:
        noted = self._store.note(checkpoint, target_commit)
        self._store.add(noted, now_ms())
        return noted
