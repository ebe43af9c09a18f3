"""
Moves consumer groups along a route: looks, waits, judges, writes, and looks again.

The order of a planned move: wait until the destination has everything that the groups have read;
with a drain, everything there is; stop the flow, if it is to be fenced, and see that nothing came
in between; judge; write the offsets; read them back; see that nobody has read on meanwhile. Up to
the writing, a no-go undoes what was done. After it, the flow stays stopped, and the move may be
repeated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from mm2.client.remote_checkpoints import GroupCheckpoints
from mm2.core.failover.group_checks import group_verdicts
from mm2.core.failover.group_facts import GroupFacts
from mm2.core.failover.move_checks import (
    checkpoint_verdict,
    drain_verdict,
    heartbeat_verdict,
    last_contact_check,
    lost_verdict,
    no_groups_verdict,
    origin_reachable_check,
    stopped_verdict,
)
from mm2.core.failover.verdicts import Outcome, Verdict, is_go
from mm2.core.model import TopicName
from mm2.errors import ClusterError, Unavailable
from mm2.failover.copy_lag import heartbeat_age_ms, lag_of, mirrored_topics
from mm2.failover.flow_switch import FlowSwitch
from mm2.failover.last_checkpoints import Checkpoints
from mm2.failover.last_contact import last_contact_ms
from mm2.failover.move_plan import MoveOptions, Plan, Say
from mm2.failover.move_route import MoveRoute
from mm2.failover.move_survey import MoveSurvey
from mm2.failover.offset_writer import OffsetWriter
from mm2.failover.producer_checks import check_producers
from mm2.failover.temporary_stop import TemporaryStop
from mm2.kafka.flow_clusters import FlowClusters, check_reachable

_LOOK_EVERY_S: Final = 0.5
_TRANSLATED_WITHIN_S: Final = 10.0
_COPYING: Final = frozenset({"copied", "drained"})
_TELLING: Final = frozenset({"translation"})
_SURROUNDINGS: Final = frozenset({"heartbeats", "producers", "quotas"})


class GroupMove:
    """
    One move of some groups.

    Args:
        route: from where to where.
        wishes: what the user wants.
        say: tells people how far it is.
        switch: stops the flow, and lets it go on; None for the usual one.
    """

    def __init__(
        self, route: MoveRoute, wishes: MoveOptions, say: Say, switch: FlowSwitch | None = None
    ) -> None:
        self._route = route
        self._wishes = wishes
        self._say = say
        self._survey = MoveSurvey(route)
        self._writing = OffsetWriter(route, is_planned=wishes.is_planned, say=say)
        switch = switch or _switch_of(route)
        self._standstill = TemporaryStop(switch, str(route.pair.flow.flow), say)
        self._copying = _switch_of_carrier(route) if route.is_back else switch
        self._stopped: str | None = None

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
        self._stopped = await self._why_stopped()
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
            self._stopped = await self._why_stopped()
            plan = await self._with_surroundings(await self._settled(_COPYING | _TELLING))
        else:
            plan = await self._unplanned()
        if plan.is_go and self._wishes.fences:
            plan = await self._fenced(plan)
        if not plan.is_go:
            return plan
        plan = await self._carried_out(plan)
        if plan.is_done and self._wishes.resumes:
            await self._standstill.resume(f"back from {self._route.origin.alias}")
        return plan

    def summary(self) -> list[str]:
        """What was changed up to now, in sentences, however the move has ended."""
        found = []
        if self._writing.begun:
            found.append(f"{self._writing.moved} of {self._writing.begun} groups were moved.")
        if self._standstill.is_stopped:
            flow = self._route.pair.flow.flow
            found.append(f"The flow {flow} is stopped; mm2 flows resume has it go on.")
        return found or ["Nothing has been changed."]

    async def _planned(self) -> Plan:
        """Judges a planned move as it stands."""
        await check_reachable(self._route.origin.admin)
        facts = await self._survey.look(await self._groups())
        verdicts = [verdict for each in facts for verdict in group_verdicts(each, planned=True)]
        if self._wishes.drains:
            verdicts.insert(0, drain_verdict(self._route.name, await lag_of(self._route)))
        if not facts:
            verdicts.append(no_groups_verdict(self._route.name, planned=True))
        if self._stopped is not None:
            is_needed = any(each.check in _COPYING for each in verdicts if _is_no(each))
            verdicts.append(stopped_verdict(self._route.name, self._stopped, is_needed=is_needed))
        return self._judged(facts, verdicts)

    async def _why_stopped(self) -> str | None:
        """Why operators have stopped what copies along the route, if they have."""
        return None if self._copying is None else await self._copying.why_not_copying()

    async def _groups(self) -> tuple[str, ...]:
        if self._wishes.groups is not None:
            return self._wishes.groups
        return tuple(await self._survey.all_groups())

    async def _with_surroundings(self, plan: Plan) -> Plan:
        """Adds what does not change while one waits."""
        verdicts = list(plan.verdicts)
        if self._route.forward_flow is not None:
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

    async def _settled(self, awaited: frozenset[str]) -> Plan:
        """Judges a planned move again and again until what is missing has been copied."""
        begun, said = time.monotonic(), ""
        while True:
            plan = await self._planned()
            for_s = time.monotonic() - begun
            waiting = [each for each in plan.verdicts if self._may_pass(each, for_s, awaited)]
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

    def _may_pass(self, verdict: Verdict, for_s: float, awaited: frozenset[str]) -> bool:
        """Whether waiting may turn a no into a yes."""
        if not _is_no(verdict) or verdict.check not in awaited:
            return False
        # Runs are published with positions, so this takes a moment only, or will never be.
        within_s = _TRANSLATED_WITHIN_S if verdict.check in _TELLING else self._wishes.timeout_s
        return for_s <= min(within_s, self._wishes.timeout_s)

    async def _unplanned(self) -> Plan:
        """Judges a move away from a cluster that is lost."""
        checkpoints = Checkpoints(self._route)
        last = await checkpoints.last()
        groups = self._wishes.groups if self._wishes.groups is not None else tuple(sorted(last))
        facts = await checkpoints.look(
            groups, last, time.time_ns() // 1_000_000, self._wishes.without_checkpoint
        )
        verdicts = [
            origin_reachable_check(
                self._route.origin.alias,
                await self._origin_answer(),
                given_up=self._wishes.gives_up,
            ),
            await self._heard(last),
            lost_verdict(self._route.name, await checkpoints.lag()),
        ]
        for each in facts:
            verdicts += group_verdicts(each, planned=False)
            verdicts += checkpoint_verdict(each.group, each.places)
        if not facts:
            verdicts.append(no_groups_verdict(self._route.name, planned=False))
        return self._judged(facts, verdicts)

    async def _heard(self, last: GroupCheckpoints) -> Verdict:
        heard_ms = await last_contact_ms(self._route, last)
        return last_contact_check(
            self._route.origin.alias,
            None if heard_ms is None else max(0, time.time_ns() // 1_000_000 - heard_ms),
            most_ms=self._wishes.heartbeat_age_ms,
        )

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
        try:
            await self._standstill.stop(f"failover to {self._route.destination.alias}")
            if self._wishes.is_planned:
                plan = await self._planned_again(plan)
        except BaseException:
            await self._standstill.rollback()
            raise
        if not plan.is_go:
            await self._standstill.rollback()
        return plan

    async def _planned_again(self, plan: Plan) -> Plan:
        # What is not copied by now will not be: nobody copies any more.
        again = await self._settled(_TELLING)
        kept = [each for each in plan.verdicts if each.check in _SURROUNDINGS]
        return self._judged(again.groups, [*kept, *again.verdicts])

    async def _carried_out(self, plan: Plan) -> Plan:
        """Writes all offsets, reads them back, and sees whether anybody has read on."""
        problems = await self._writing.write(plan.groups)
        is_done = not problems
        return replace(plan, verdicts=(*plan.verdicts, *problems), is_go=is_done, is_done=is_done)


def _switch_of(route: MoveRoute) -> FlowSwitch:
    sides = (
        (route.destination, route.origin) if route.is_back else (route.origin, route.destination)
    )
    return FlowSwitch(route.pair.flow, FlowClusters(sides[0].admin, sides[1].admin))


def _switch_of_carrier(route: MoveRoute) -> FlowSwitch | None:
    if route.forward_flow is None:
        return None
    return FlowSwitch(route.forward_flow, FlowClusters(route.origin.admin, route.destination.admin))


def _is_no(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.NO_GO


def _as_planned(verdict: Verdict) -> Verdict:
    """Copying goes on while one plans; the move itself waits for it."""
    if verdict.check != "copied" or not _is_no(verdict):
        return verdict
    reason = f"{verdict.reason}; execute waits for them"
    return replace(verdict, outcome=Outcome.CAUTION, reason=reason)
