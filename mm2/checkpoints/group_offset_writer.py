"""
Gives groups of a cluster the offsets that checkpoints name, under rules that lose nothing.

Java looks at the groups in one job and writes in another, and takes a group that it has not seen
idle for a new one; so it can set a group back (KAFKA-19794, C424). Here a group is looked at right
before it is written, only an empty or absent one is written, and nobody's later commit is overruled
(``mm2.core.translation.group_sync_rules``). What remains is the instant between the two, in which a
member would have to join, commit and leave; so a group is looked at again right after, and what
does not fit is reported.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeAlias

import structlog

from mm2.checkpoints.target_logs import LastCheckpoints, Offsets, TargetLogs
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId
from mm2.core.translation.checkpoint_rules import group_offsets_to_sync, offset_of
from mm2.core.translation.group_sync_rules import Order, TargetCommit
from mm2.errors import ClusterError
from mm2.kafka.chunks import chunks
from mm2.kafka.client_errors import GroupInUse
from mm2.kafka.groups.group_model import Group, GroupState
from mm2.kafka.groups.protocols import TargetGroups

log = structlog.get_logger()

_AT_ONCE: Final = 50
"""Groups that are looked at and then written: few, so that little time passes in between."""

_Described: TypeAlias = Mapping[str, Group | ClusterError]


@dataclass(slots=True)
class WriteOutcome:
    """
    What became of groups.

    Attributes:
        before: what each group that was behind had committed for the partitions to be written.
        written: the offsets that were written; without permission to write, those that would be.
        active: groups that have members.
        refused: why groups were not written: of another type, not described, not taken.
    """

    before: dict[GroupId, Offsets] = field(default_factory=dict)
    written: dict[GroupId, Offsets] = field(default_factory=dict)
    active: set[GroupId] = field(default_factory=set)
    refused: dict[GroupId, str] = field(default_factory=dict)


class Notes(Protocol):
    """
    Keeps what is known of the offsets that groups have on the target.

    Attributes:
        turn: held while some groups are looked at and written; nobody else makes checkpoints then.
    """

    turn: asyncio.Lock

    def current(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """The last one of the same group and partition; None: it is not to be given now."""

    def observed(self, checkpoint: Checkpoint, offset: int | None) -> Checkpoint:
        """Notes what the group has on the target, and returns the checkpoint as it is then."""

    def given(self, checkpoint: Checkpoint) -> None:
        """Notes that the group has its offset."""

    async def write(self) -> None:
        """
        Has others know it, too.

        Raises:
            ClusterError: it could not be written.
        """


class NoNotes:
    """For those who make no checkpoints: what stands in these already has to do."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()

    def current(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """The same."""
        return checkpoint

    def observed(self, checkpoint: Checkpoint, offset: int | None) -> Checkpoint:
        """The same, but not one that would set the group back: that is for its flow to do."""
        is_behind = offset is not None and offset > checkpoint.downstream_offset
        return replace(checkpoint, target_commit=_LEFT_ALONE) if is_behind else checkpoint

    def given(self, checkpoint: Checkpoint) -> None:
        """Nothing."""

    async def write(self) -> None:
        """Nothing."""


_LEFT_ALONE: Final = TargetCommit(Order.LATER, ())


class GroupOffsets:
    """
    Moves idle groups of a cluster to where their checkpoints say.

    Args:
        execute: whether to write, or only to say what would be written.
        notes: what is known of their offsets there; None: what checkpoints say.

    Attributes:
        active: groups that had members when they were last looked at.
    """

    def __init__(
        self, target: TargetGroups, *, execute: bool = True, notes: Notes | None = None
    ) -> None:
        self.active: frozenset[GroupId] = frozenset()
        self._notes = notes or NoNotes()
        self._target = target
        self._execute = execute
        self._of_other_types: frozenset[str] = frozenset()

    async def sync(self, last: LastCheckpoints) -> WriteOutcome:
        """
        Looks at groups, and gives those that are behind the offsets of their checkpoints.

        Raises:
            ClusterError: the cluster does not tell which groups it has.
        """
        outcome, logs = WriteOutcome(), TargetLogs(self._target)
        groups = await self._without_other_types(sorted(last), outcome)
        current = await logs.about_these({group: last[group] for group in groups})
        for some in chunks(groups, _AT_ONCE):
            async with self._notes.turn:
                await self._sync(self._current(current, some), logs, outcome)
                await self._notes.write()
        for group in sorted(outcome.active - self.active):
            log.info("group_offsets.active", group=group)
        self.active = frozenset(outcome.active)
        return outcome

    async def _without_other_types(
        self, groups: list[GroupId], outcome: WriteOutcome
    ) -> list[GroupId]:
        """Share and streams groups are not ours to write, whatever their names."""
        listed = {each.group_id for each in await self._target.groups_of_other_types()}
        others = listed.intersection(groups)
        for group in sorted(others - self._of_other_types):
            log.warning("group_offsets.other_type", group=group)
        self._of_other_types = frozenset(others)
        outcome.refused |= {GroupId(group): "a share or streams group" for group in others}
        return [group for group in groups if group not in others]

    def _current(self, last: LastCheckpoints, groups: list[GroupId]) -> LastCheckpoints:
        """Checkpoints may have been made since the round began."""
        found = {
            group: [now for each in last[group] if (now := self._notes.current(each)) is not None]
            for group in groups
        }
        return {group: checkpoints for group, checkpoints in found.items() if checkpoints}

    async def _sync(self, last: LastCheckpoints, logs: TargetLogs, outcome: WriteOutcome) -> None:
        described = await self._target.describe_groups(last)
        idle = [group for group in last if is_idle(group, described.get(group))]
        outcome.active |= {group for group in last if is_active(described.get(group))}
        outcome.refused |= {
            group: str(error)
            for group in last
            if isinstance(error := described.get(group), ClusterError)
        }
        behind = await self._behind({group: last[group] for group in idle}, outcome)
        behind = await logs.reached(behind)
        if self._execute:
            behind = await self._write_all(behind, outcome)
            for group, offsets in behind.items():
                self._note_given(last[group], offsets)
            await self._check(described, behind)
        outcome.written |= behind

    async def _behind(self, idle: LastCheckpoints, outcome: WriteOutcome) -> dict[GroupId, Offsets]:
        """What is to be written: offsets that groups do not have, and nobody has overruled."""
        committed = await self._target.list_offsets_of_groups(idle)
        behind: dict[GroupId, Offsets] = {}
        for group, checkpoints in idle.items():
            on_target = committed[group]
            if isinstance(on_target, ClusterError):
                log.warning("group_offsets.not_listed", group=group, error=str(on_target))
                outcome.refused[group] = str(on_target)
            elif offsets := group_offsets_to_sync(
                self._observed(checkpoints, on_target), on_target
            ):
                behind[group] = offsets
                outcome.before[group] = {at: on_target[at] for at in offsets if at in on_target}
        return behind

    def _observed(
        self, checkpoints: Collection[Checkpoint], on_target: Offsets
    ) -> list[Checkpoint]:
        return [
            self._notes.observed(each, offset_of(on_target.get(each.partition)))
            for each in checkpoints
        ]

    def _note_given(self, checkpoints: Collection[Checkpoint], offsets: Offsets) -> None:
        for each in checkpoints:
            if each.partition in offsets and (now := self._notes.current(each)) is not None:
                self._notes.given(now)

    async def _write_all(
        self, behind: Mapping[GroupId, Offsets], outcome: WriteOutcome
    ) -> dict[GroupId, Offsets]:
        """Writes groups at the same time; returns those that were written."""
        async with asyncio.TaskGroup() as tasks:
            writing = {
                group: tasks.create_task(self._write(group, offsets), name=f"offsets of {group}")
                for group, offsets in behind.items()
            }
        failed = {group: reason for group, task in writing.items() if (reason := task.result())}
        outcome.refused |= failed
        return {group: offsets for group, offsets in behind.items() if group not in failed}

    async def _write(self, group: GroupId, offsets: Offsets) -> str | None:
        """Returns why the group was not written."""
        try:
            await self._target.alter_group_offsets(group, offsets)
        except GroupInUse as error:
            log.info("group_offsets.refused", group=group, reason=str(error))
            return str(error)
        except ClusterError as error:
            log.warning("group_offsets.not_synced", group=group, error=str(error))
            return str(error)
        log.info("group_offsets.synced", group=group, partitions=len(offsets))
        return None

    async def _check(self, before: _Described, written: Mapping[GroupId, Offsets]) -> None:
        """Reports groups that somebody else has used while we wrote (KAFKA-19794)."""
        if not written:
            return
        after = await self._target.describe_groups(written)
        committed = await self._target.list_offsets_of_groups(written)
        for group, offsets in written.items():
            on_target = committed[group]
            if isinstance(on_target, ClusterError) or isinstance(after.get(group), ClusterError):
                continue
            reason = interference(before.get(group), after.get(group), offsets, on_target)
            if reason is not None:
                log.warning("group_offsets.raced", group=group, reason=reason)


def is_idle(group: GroupId, described: Group | ClusterError | None) -> bool:
    """
    Tells whether a group may be written: it does not exist, or exists and is empty (C309).

    Args:
        described: what the target says of it; None if there is no such group.
    """
    if isinstance(described, ClusterError):
        log.warning("group_offsets.not_described", group=group, error=str(described))
        return False
    return described is None or described.state is GroupState.EMPTY


def is_active(described: Group | ClusterError | None) -> bool:
    """Tells whether a group has members, as far as the target says anything of it."""
    return isinstance(described, Group) and described.state is not GroupState.EMPTY


def interference(
    before: Group | ClusterError | None,
    after: Group | ClusterError | None,
    written: Offsets,
    on_target: Offsets,
) -> str | None:
    """
    Tells what somebody else did to a group while it was written; None if nothing can be seen.

    Args:
        before: what the target said of it right before.
        after: what it says right after; None if there is no such group.
    """
    if is_active(after):
        return "members have joined"
    epoch = before.epoch if isinstance(before, Group) else None
    if isinstance(after, Group) and epoch is not None and after.epoch != epoch:
        return "members have come and gone"
    if any(on_target.get(where) != offset for where, offset in written.items()):
        return "other offsets were committed"
    return None
