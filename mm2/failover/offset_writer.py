"""
Writes the offsets of groups that move, reads them back, and sees whether anybody has read on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mm2.core.failover.group_facts import GroupFacts, offsets_to_write
from mm2.core.failover.verdicts import Outcome, Verdict
from mm2.errors import ClusterError
from mm2.failover.move_route import MoveRoute
from mm2.kafka.client_errors import GroupInUse


class OffsetWriter:
    """
    One writing of the offsets of some groups; what fails for one does not keep the others.

    Args:
        route: from where to where.
        is_planned: whether the origin can be asked.
        say: tells people how far it is.
    """

    def __init__(self, route: MoveRoute, *, is_planned: bool, say: Callable[[str], None]) -> None:
        self._route = route
        self._is_planned = is_planned
        self._say = say
        self.begun = 0
        self.moved = 0

    async def write(self, groups: Iterable[GroupFacts]) -> list[Verdict]:
        """Writes all; gives back what speaks against calling it done."""
        wanted = list(groups)
        self.begun = len(wanted)
        problems: list[Verdict] = []
        for facts in wanted:
            found = await self._one(facts)
            self.moved += not found
            problems += found
        return problems

    async def _one(self, facts: GroupFacts) -> list[Verdict]:
        try:
            return await self._written(facts) or await self._read_on(facts)
        except GroupInUse as error:
            return [_failure(facts.group, f"has members by now, nothing was written: {error}")]
        except ClusterError as error:
            return [_failure(facts.group, f"was not moved, or only in part: {error}")]

    async def _written(self, facts: GroupFacts) -> list[Verdict]:
        admin = self._route.destination.admin
        wanted = offsets_to_write(facts)
        await admin.alter_group_offsets(facts.group, wanted)
        there = await admin.list_group_offsets(facts.group)
        wrong = sorted(str(where) for where, at in wanted.items() if there.get(where) != at)
        if wrong:
            return [_failure(facts.group, f"other offsets stand there now: {', '.join(wrong)}")]
        self._say(
            f"{facts.group}: {len(wanted)} partitions moved to {self._route.destination.alias}"
        )
        return []

    async def _read_on(self, facts: GroupFacts) -> list[Verdict]:
        """Whether the group has moved on the origin since its offsets were looked at."""
        if not self._is_planned:
            return []
        now = await self._route.origin.admin.list_group_offsets(facts.group)
        before = {place.origin: place.committed for place in facts.places}
        on = sorted(str(w) for w, at in before.items() if w and w in now and now[w].offset != at)
        if not on:
            return []
        return [_failure(facts.group, f"has read on meanwhile where it was: {', '.join(on)}")]


def _failure(group: str, reason: str) -> Verdict:
    return Verdict(check="written", subject=group, outcome=Outcome.NO_GO, reason=reason, cost=None)
