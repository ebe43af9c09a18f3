"""Writes the offsets of groups that move, reads them back, and sees whether a group has read on."""

from __future__ import annotations

from collections.abc import Iterable

from mm2.core.checks import Check
from mm2.core.failover.moving_group import MovingGroup, offsets_to_write
from mm2.errors import ClusterError
from mm2.failover.move_plan import Report
from mm2.failover.move_route import MoveRoute
from mm2.kafka.client_errors import GroupInUse


class OffsetWriter:
    """
    Writes the offsets of some groups once; a failure for one does not keep the others.

    Args:
        is_planned: whether the origin can be asked.
    """

    def __init__(self, route: MoveRoute, *, is_planned: bool, report: Report) -> None:
        self._route = route
        self._is_planned = is_planned
        self._report = report
        self.begun = 0
        self.moved = 0

    async def write(self, groups: Iterable[MovingGroup]) -> list[Check]:
        """Writes all; returns what forbids to call it done."""
        moving = list(groups)
        self.begun = len(moving)
        problems: list[Check] = []
        for group in moving:
            found = await self._write_group(group)
            self.moved += not found
            problems += found
        return problems

    async def _write_group(self, group: MovingGroup) -> list[Check]:
        try:
            return await self._write_offsets(group) or await self._read_on(group)
        except GroupInUse as error:
            return [_failure(group.group, f"has members by now, nothing was written: {error}")]
        except ClusterError as error:
            return [_failure(group.group, f"was not moved, or only in part: {error}")]

    async def _write_offsets(self, group: MovingGroup) -> list[Check]:
        admin = self._route.destination.admin
        offsets = offsets_to_write(group)
        await admin.alter_group_offsets(group.group, offsets)
        there = await admin.list_group_offsets(group.group)
        wrong = sorted(str(where) for where, at in offsets.items() if there.get(where) != at)
        if wrong:
            return [_failure(group.group, f"other offsets stand there now: {', '.join(wrong)}")]
        alias = self._route.destination.alias
        self._report(f"{group.group}: {len(offsets)} partitions moved to {alias}")
        return []

    async def _read_on(self, group: MovingGroup) -> list[Check]:
        """Whether the group has committed on the origin since its offsets were read."""
        if not self._is_planned:
            return []
        now = await self._route.origin.admin.list_group_offsets(group.group)
        before = {each.origin: each.committed for each in group.partitions}
        on = sorted(str(w) for w, at in before.items() if w and w in now and now[w].offset != at)
        if not on:
            return []
        return [_failure(group.group, f"has read on meanwhile where it was: {', '.join(on)}")]


def _failure(group: str, sentence: str) -> Check:
    return Check.no_go("written", group, sentence)
