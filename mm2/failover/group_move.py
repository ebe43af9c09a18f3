"""
Moves consumer groups along a route: reads, waits, checks, writes, and reads again.

The order of a planned move: wait until the destination has everything that the groups have read;
with a drain, everything there is; stop the flow, if that is asked for, and check again what may
have changed meanwhile; write the offsets; read them back; see that no group has read on. Up to the
writing, a no-go undoes what was done. After it, the flow stays stopped, and the move may be
repeated.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from mm2.clock import now_ms
from mm2.core.checks import Check, Verdict, is_go
from mm2.core.failover.group_checks import group_checks
from mm2.core.failover.move_checks import (
    checkpoint_checks,
    drain_check,
    heartbeat_check,
    last_contact_check,
    lost_records_check,
    no_groups_check,
    origin_reachable_check,
    stopped_check,
)
from mm2.core.failover.moving_group import MovingGroup
from mm2.core.model import TopicName
from mm2.errors import ClusterError, Unavailable
from mm2.failover.copy_lag import heartbeat_age_ms, lag_of, mirrored_topics
from mm2.failover.flow_switch import FlowSwitch, TemporaryStop
from mm2.failover.move_plan import MoveOptions, Plan, Report
from mm2.failover.move_route import MoveRoute
from mm2.failover.move_survey import MoveSurvey
from mm2.failover.offset_writer import OffsetWriter
from mm2.failover.producer_checks import check_producers
from mm2.failover.unplanned_survey import UnplannedSurvey
from mm2.kafka.flow_clusters import FlowClusters, check_reachable

_CHECK_EVERY_S: Final = 0.5
_TRANSLATED_WITHIN_S: Final = 10.0
_COPYING: Final = frozenset({"copied", "drained"})
_TRANSLATING: Final = frozenset({"translation"})
_SURROUNDINGS: Final = frozenset({"heartbeats", "producers", "quotas"})


class GroupMove:
    """
    One move of some groups.

    Args:
        report: takes sentences about the progress, for people.
        switch: stops and resumes the flow; None for the usual one.
    """

    def __init__(
        self,
        route: MoveRoute,
        options: MoveOptions,
        report: Report,
        switch: FlowSwitch | None = None,
    ) -> None:
        self._route = route
        self._options = options
        self._report = report
        self._survey = MoveSurvey(route)
        self._writer = OffsetWriter(route, is_planned=options.is_planned, report=report)
        switch = switch or _switch_of(route)
        self._stop = TemporaryStop(switch, str(route.pair.flow.flow), report)
        self._forward_switch = _switch_of_forward_flow(route) if route.is_back else switch
        self._stopped: str | None = None

    async def plan(self) -> Plan:
        """
        Checks everything; changes nothing and waits for nothing.

        Raises:
            Unavailable: a cluster that is needed does not answer.
            ClusterError: it refuses.
        """
        await check_reachable(self._route.destination.admin)
        if not self._options.is_planned:
            return await self._unplanned()
        self._stopped = await self._why_stopped()
        plan = await self._with_surroundings(await self._planned())
        return self._plan(plan.groups, map(_before_waiting, plan.checks))

    async def execute(self) -> Plan:
        """
        Moves the groups, unless a check stops it.

        Raises:
            Unavailable: a cluster that is needed does not answer.
            ClusterError: it refuses.
            NotStopped: the flow does not stop.
        """
        await check_reachable(self._route.destination.admin)
        if self._options.is_planned:
            self._stopped = await self._why_stopped()
            plan = await self._awaited(_COPYING | _TRANSLATING)
            plan = await self._with_surroundings(plan)
        else:
            plan = await self._unplanned()
        if plan.is_go and self._options.stop_flow:
            plan = await self._with_stopped_flow(plan)
        if not plan.is_go:
            return plan
        plan = await self._written(plan)
        if plan.is_done and self._options.resume_flow:
            await self._stop.resume(f"back from {self._route.origin.alias}")
        return plan

    def summary(self) -> list[str]:
        """What was changed up to now, in sentences, however the move has ended."""
        found = []
        if self._writer.begun:
            found.append(f"{self._writer.moved} of {self._writer.begun} groups were moved.")
        if self._stop.is_stopped:
            flow = self._route.pair.flow.flow
            found.append(f"The flow {flow} is stopped; mm2 flows resume has it go on.")
        return found or ["Nothing has been changed."]

    async def _planned(self) -> Plan:
        """Checks a planned move as things are now."""
        await check_reachable(self._route.origin.admin)
        groups = await self._survey.read(await self._groups())
        checks = [check for each in groups for check in group_checks(each, planned=True)]
        if self._options.drain:
            checks.insert(0, drain_check(self._route.name, await lag_of(self._route)))
        if not groups:
            checks.append(no_groups_check(self._route.name, planned=True))
        if self._stopped is not None:
            is_needed = _is_copying_needed(checks)
            checks.append(stopped_check(self._route.name, self._stopped, is_needed=is_needed))
        return self._plan(groups, checks)

    async def _why_stopped(self) -> str | None:
        """Why operators have stopped what copies along the route, if they have."""
        return (
            None if self._forward_switch is None else await self._forward_switch.why_not_copying()
        )

    async def _groups(self) -> tuple[str, ...]:
        if self._options.groups is not None:
            return self._options.groups
        return tuple(await self._survey.all_groups())

    async def _with_surroundings(self, plan: Plan) -> Plan:
        """Adds checks of what does not change while one waits."""
        checks = list(plan.checks)
        if self._route.forward_flow is not None:
            check = heartbeat_check(
                self._route.name,
                await heartbeat_age_ms(self._route),
                most_ms=self._options.heartbeat_age_ms,
                is_needed=_is_copying_needed(checks),
            )
            checks.insert(0, check)
        checks += await check_producers(self._route, await self._topics(plan.groups))
        return self._plan(plan.groups, checks)

    async def _topics(self, groups: Iterable[MovingGroup]) -> set[TopicName]:
        """What producers write on the origin: all that is mirrored, or what these groups read."""
        if self._options.groups is None:
            return set(await mirrored_topics(self._route))
        return {part.origin.topic for each in groups for part in each.partitions if part.origin}

    async def _awaited(self, awaited: frozenset[str]) -> Plan:
        """Repeats the checks of a planned move until those that time may heal are good."""
        begun, reported = time.monotonic(), ""
        while True:
            plan = await self._planned()
            for_s = time.monotonic() - begun
            waiting = [each for each in plan.checks if self._may_pass(each, for_s, awaited)]
            is_hopeless = any(
                each.stops(forced=self._options.forced)
                for each in plan.checks
                if each not in waiting
            )
            if not waiting or is_hopeless:
                return plan
            if (news := f"waiting: {waiting[0].subject}: {waiting[0].reason}") != reported:
                self._report(news)
                reported = news
            await asyncio.sleep(_CHECK_EVERY_S)

    def _may_pass(self, check: Check, for_s: float, awaited: frozenset[str]) -> bool:
        """Whether waiting may turn a no-go into a go."""
        if not check.stops() or check.name not in awaited:
            return False
        # Runs are published with positions, so this takes a moment only, or will never be.
        timeout_s = self._options.timeout_s
        return for_s <= (
            min(_TRANSLATED_WITHIN_S, timeout_s) if check.name in _TRANSLATING else timeout_s
        )

    async def _unplanned(self) -> Plan:
        """Checks a move away from a cluster that is lost."""
        survey = UnplannedSurvey(self._route)
        last = await survey.checkpoints()
        names = self._options.groups if self._options.groups is not None else tuple(sorted(last))
        groups = await survey.read(names, last, now_ms(), self._options.without_checkpoint)
        checks = [
            origin_reachable_check(
                self._route.origin.alias,
                await self._origin_answer(),
                assume_lost=self._options.assume_lost,
            ),
            self._last_contact(await survey.last_contact_ms(last)),
            lost_records_check(self._route.name, await survey.lag()),
        ]
        for each in groups:
            checks += group_checks(each, planned=False)
            checks += checkpoint_checks(each)
        if not groups:
            checks.append(no_groups_check(self._route.name, planned=False))
        return self._plan(groups, checks)

    def _last_contact(self, contact_ms: int | None) -> Check:
        age_ms = None if contact_ms is None else max(0, now_ms() - contact_ms)
        most_ms = self._options.heartbeat_age_ms
        return last_contact_check(self._route.origin.alias, age_ms, most_ms=most_ms)

    async def _origin_answer(self) -> str | None:
        """What it does when it is asked; None if it does not answer. To refuse is to live."""
        try:
            await check_reachable(self._route.origin.admin)
        except Unavailable:
            return None
        except ClusterError as error:
            return f"answers, but refuses us ({error})"
        return "answers"

    def _plan(self, groups: Iterable[MovingGroup], checks: Iterable[Check]) -> Plan:
        found = tuple(checks)
        go = is_go(found, forced=self._options.forced, strict=self._options.strict)
        return Plan(groups=tuple(groups), checks=found, is_go=go)

    async def _with_stopped_flow(self, plan: Plan) -> Plan:
        """Stops the flow; resumes it if a check fails that was good before."""
        try:
            await self._stop.stop(f"failover to {self._route.destination.alias}")
            if self._options.is_planned:
                plan = await self._planned_again(plan)
        except BaseException:
            await self._stop.rollback()
            raise
        if not plan.is_go:
            await self._stop.rollback()
        return plan

    async def _planned_again(self, plan: Plan) -> Plan:
        # What is not copied by now will not be: the flow is stopped.
        again = await self._awaited(_TRANSLATING)
        kept = [each for each in plan.checks if each.name in _SURROUNDINGS]
        return self._plan(again.groups, [*kept, *again.checks])

    async def _written(self, plan: Plan) -> Plan:
        """Writes all offsets, reads them back, and sees whether a group has read on."""
        problems = await self._writer.write(plan.groups)
        is_done = not problems
        return replace(plan, checks=(*plan.checks, *problems), is_go=is_done, is_done=is_done)


def _switch_of(route: MoveRoute) -> FlowSwitch:
    sides = (
        (route.destination, route.origin) if route.is_back else (route.origin, route.destination)
    )
    return FlowSwitch(route.pair.flow, FlowClusters(sides[0].admin, sides[1].admin))


def _switch_of_forward_flow(route: MoveRoute) -> FlowSwitch | None:
    if route.forward_flow is None:
        return None
    return FlowSwitch(route.forward_flow, FlowClusters(route.origin.admin, route.destination.admin))


def _is_copying_needed(checks: Iterable[Check]) -> bool:
    return any(each.name in _COPYING and each.stops() for each in checks)


def _before_waiting(check: Check) -> Check:
    """Copying goes on while one plans; the move itself waits for it."""
    if check.name != "copied" or not check.stops():
        return check
    sentence = f"{check.sentence}; execute waits for them"
    return replace(check, verdict=Verdict.CAUTION, sentence=sentence)
