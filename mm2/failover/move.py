"""
Moves consumer groups along a route: looks, waits, judges, writes, and looks again.

The order of a planned move: wait until the destination has everything that the groups have read;
with a drain, everything there is; stop the flow, if it is to be fenced, and see that nothing came
in between; judge; write the offsets; read them back; see that nobody has read on meanwhile. Up to
the writing, a no-go undoes what was done. After it, the move may be repeated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from mm2.core.failover import GroupFacts, group_verdicts, offsets_to_write
from mm2.core.failover_checks import (
    checkpoint_verdict,
    drain_verdict,
    heartbeat_verdict,
    lost_origin_verdict,
    lost_verdict,
    no_groups_verdict,
)
from mm2.core.model import TopicName
from mm2.core.verdicts import Outcome, Verdict, is_go
from mm2.errors import ClusterError, Unavailable
from mm2.failover.checkpoints import Checkpoints
from mm2.failover.draining import heartbeat_age_ms, lag_of, mirrored_topics
from mm2.failover.fence import FlowSwitch
from mm2.failover.producers import check_producers
from mm2.failover.route import Route
from mm2.failover.survey import Survey
from mm2.herder.clusters import FlowClusters, check_reachable
from mm2.kafka.errors import GroupInUse

_LOOK_EVERY_S: Final = 0.5
_TRANSLATED_WITHIN_S: Final = 10.0
_COPYING: Final = frozenset({"copied", "drained"})
_SURROUNDINGS: Final = frozenset({"heartbeats", "producers", "quotas"})

Say = Callable[[str], None]
"""Tells people how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """
    What the user wants.

    Attributes:
        groups: which; None for all.
        is_planned: the origin answers, and nothing may be read again.
        gives_up: whether an origin that answers is taken for lost, if it is not planned.
        drains: whether everything must be copied, not only what the groups have read.
        fences: whether the flow is stopped, so that nothing comes late.
        resumes: whether a flow that was stopped goes on afterwards.
        forced: whether costs are accepted.
        strict: whether cautions count as a no.
        timeout_s: how long to wait for the copy.
        heartbeat_age_ms: how old the last heartbeat may be.
    """

    groups: tuple[str, ...] | None
    is_planned: bool = True
    gives_up: bool = False
    drains: bool = False
    fences: bool = False
    resumes: bool = False
    forced: bool = False
    strict: bool = False
    timeout_s: float = 60.0
    heartbeat_age_ms: int = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    What a move would do, or has done.

    Attributes:
        groups: where they stand and where they go on.
        verdicts: of all checks.
        is_go: whether the move may be made.
        is_done: whether it was made.
    """

    groups: tuple[GroupFacts, ...]
    verdicts: tuple[Verdict, ...]
    is_go: bool
    is_done: bool = False


class Move:
    """
    One move of some groups.

    Args:
        route: from where to where.
        wishes: what the user wants.
        say: tells people how far it is.
    """

    def __init__(self, route: Route, wishes: Wishes, say: Say) -> None:
        self._route = route
        self._wishes = wishes
        self._say = say
        self._survey = Survey(route)
        flow = route.pair.flow
        sides = (
            (route.destination, route.origin)
            if route.is_back
            else (
                route.origin,
                route.destination,
            )
        )
        self._switch = FlowSwitch(flow, FlowClusters(sides[0].admin, sides[1].admin))

    async def plan(self) -> Plan:
        """
        Looks at everything and judges it; changes nothing and waits for nothing.

        Raises:
            Unavailable: a cluster that is needed does not answer.
            ClusterError: it refuses.
        """
        await check_reachable(self._route.destination.admin)
        if not self._wishes.is_planned:
            return await self._unplanned()
        plan = await self._with_surroundings(await self._planned())
        return self._judged(plan.groups, map(_as_planned, plan.verdicts))

    async def execute(self) -> Plan:
        """
        Moves the groups, unless something speaks against it.

        Raises:
            Unavailable: a cluster that is needed does not answer.
            ClusterError: it refuses.
            NotStopped: the flow cannot be fenced.
        """
        await check_reachable(self._route.destination.admin)
        if self._wishes.is_planned:
            plan = await self._with_surroundings(await self._settled())
        else:
            plan = await self._unplanned()
        if plan.is_go and self._wishes.fences:
            plan = await self._fenced(plan)
        if not plan.is_go:
            return plan
        plan = await self._carried_out(plan)
        if plan.is_done and self._wishes.resumes:
            await self._resume()
        return plan

    async def _planned(self) -> Plan:
        """Judges a planned move as it stands."""
        await check_reachable(self._route.origin.admin)
        facts = await self._survey.look(await self._groups())
        verdicts = [verdict for each in facts for verdict in group_verdicts(each, planned=True)]
        if self._wishes.drains:
            verdicts.insert(0, drain_verdict(self._route.name, await lag_of(self._route)))
        if not facts:
            verdicts.append(no_groups_verdict(self._route.name, planned=True))
        return self._judged(facts, verdicts)

    async def _groups(self) -> tuple[str, ...]:
        if self._wishes.groups is not None:
            return self._wishes.groups
        return tuple(await self._survey.all_groups())

    async def _with_surroundings(self, plan: Plan) -> Plan:
        """Adds what does not change while one waits."""
        verdicts = list(plan.verdicts)
        if self._route.carrier is not None:
            is_needed = any(each.check in _COPYING for each in verdicts if _is_no(each))
            verdicts.insert(0, await self._heartbeats(is_needed=is_needed))
        verdicts += await check_producers(self._route, await self._topics(plan.groups))
        return self._judged(plan.groups, verdicts)

    async def _heartbeats(self, *, is_needed: bool) -> Verdict:
        return heartbeat_verdict(
            self._route.name,
            await heartbeat_age_ms(self._route),
            most_ms=self._wishes.heartbeat_age_ms,
            is_needed=is_needed,
        )

    async def _topics(self, groups: Iterable[GroupFacts]) -> set[TopicName]:
        """What producers write on the origin: all that is mirrored, or what these groups read."""
        if self._wishes.groups is None:
            return set(await mirrored_topics(self._route))
        return {place.origin.topic for each in groups for place in each.places if place.origin}

    async def _settled(self) -> Plan:
        """Judges a planned move again and again until what is missing has been copied."""
        begun, said = time.monotonic(), ""
        while True:
            plan = await self._planned()
            for_s = time.monotonic() - begun
            waiting = [each for each in plan.verdicts if self._may_pass(each, for_s)]
            is_hopeless = any(
                each.stops(forced=self._wishes.forced)
                for each in plan.verdicts
                if each not in waiting
            )
            if not waiting or is_hopeless:
                return plan
            if (news := f"waiting: {waiting[0].subject}: {waiting[0].reason}") != said:
                self._say(news)
                said = news
            await asyncio.sleep(_LOOK_EVERY_S)

    def _may_pass(self, verdict: Verdict, for_s: float) -> bool:
        """Whether waiting may turn a no into a yes."""
        if not _is_no(verdict) or for_s > self._wishes.timeout_s:
            return False
        # Runs are published with positions, so this takes a moment only, or will never be.
        return verdict.check in _COPYING or (
            verdict.check == "translation" and for_s < _TRANSLATED_WITHIN_S
        )

    async def _unplanned(self) -> Plan:
        """Judges a move away from a cluster that is lost."""
        checkpoints = Checkpoints(self._route)
        last = await checkpoints.last()
        groups = self._wishes.groups if self._wishes.groups is not None else tuple(sorted(last))
        facts = await checkpoints.look(groups, last, time.time_ns() // 1_000_000)
        verdicts = [
            lost_origin_verdict(
                self._route.origin.alias,
                await self._origin_answer(),
                given_up=self._wishes.gives_up,
            ),
            await self._heartbeats(is_needed=False),
            lost_verdict(self._route.name, await checkpoints.lag()),
        ]
        for each in facts:
            verdicts += group_verdicts(each, planned=False)
            verdicts += checkpoint_verdict(each.group, each.places)
        if not facts:
            verdicts.append(no_groups_verdict(self._route.name, planned=False))
        return self._judged(facts, verdicts)

    async def _origin_answer(self) -> str | None:
        """What it does when it is asked; None if it does not answer. To refuse is to live."""
        try:
            await check_reachable(self._route.origin.admin)
        except Unavailable:
            return None
        except ClusterError as error:
            return f"answers, but refuses us ({error})"
        return "answers"

    def _judged(self, groups: Iterable[GroupFacts], verdicts: Iterable[Verdict]) -> Plan:
        found = tuple(verdicts)
        go = is_go(found, forced=self._wishes.forced, strict=self._wishes.strict)
        return Plan(groups=tuple(groups), verdicts=found, is_go=go)

    async def _fenced(self, plan: Plan) -> Plan:
        """Stops the flow; has it go on if something came in between that speaks against it."""
        self._say(f"stopping the flow {self._route.pair.flow.flow}")
        try:
            await self._switch.stop(f"failover to {self._route.destination.alias}")
            if self._wishes.is_planned:
                plan = await self._planned_again(plan)
        except BaseException:
            await self._resume()
            raise
        if not plan.is_go:
            await self._resume()
        return plan

    async def _planned_again(self, plan: Plan) -> Plan:
        again = await self._settled()
        kept = [each for each in plan.verdicts if each.check in _SURROUNDINGS]
        return self._judged(again.groups, [*kept, *again.verdicts])

    async def _resume(self) -> None:
        if (await self._switch.wanted()).is_stopped:
            self._say(f"resuming the flow {self._route.pair.flow.flow}")
            await self._switch.resume(f"back from {self._route.origin.alias}")

    async def _carried_out(self, plan: Plan) -> Plan:
        """Writes all offsets, reads them back, and sees whether anybody has read on."""
        problems: list[Verdict] = []
        for facts in plan.groups:
            problems += await self._written(facts)
            if self._wishes.is_planned:
                problems += await self._read_on(facts)
        is_done = not problems
        return replace(plan, verdicts=(*plan.verdicts, *problems), is_go=is_done, is_done=is_done)

    async def _written(self, facts: GroupFacts) -> list[Verdict]:
        admin = self._route.destination.admin
        wanted = offsets_to_write(facts)
        try:
            await admin.alter_group_offsets(facts.group, wanted)
        except GroupInUse as error:
            return [_failure(facts.group, f"has members by now, nothing was written: {error}")]
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
        now = await self._route.origin.admin.list_group_offsets(facts.group)
        before = {place.origin: place.committed for place in facts.places}
        on = sorted(str(w) for w, at in before.items() if w and w in now and now[w].offset != at)
        if not on:
            return []
        return [_failure(facts.group, f"has read on meanwhile where it was: {', '.join(on)}")]


def _is_no(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.NO_GO


def _as_planned(verdict: Verdict) -> Verdict:
    """Copying goes on while one plans; the move itself waits for it."""
    if verdict.check != "copied" or not _is_no(verdict):
        return verdict
    reason = f"{verdict.reason}; execute waits for them"
    return replace(verdict, outcome=Outcome.CAUTION, reason=reason)


def _failure(group: str, reason: str) -> Verdict:
    return Verdict(check="written", subject=group, outcome=Outcome.NO_GO, reason=reason, cost=None)
