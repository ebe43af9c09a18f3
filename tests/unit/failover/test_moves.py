"""What a move comes to when something is missing or goes wrong on the way."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from mm2.cli.groups.group_move_options import ended_alike
from mm2.client.remote_checkpoints import RemoteCheckpoint
from mm2.core.checks import Verdict
from mm2.core.failover.group_checks import group_checks
from mm2.core.failover.moving_group import WithoutCheckpoint, offsets_to_write
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.group_sync_rules import Order, TargetCommit
from mm2.core.translation.runs import Logs
from mm2.errors import AuthenticationFailed, NotAuthorized, Unavailable
from mm2.failover.flow_switch import FAILOVER
from mm2.failover.group_move import GroupMove
from mm2.failover.move_plan import MoveOptions, Plan
from mm2.failover.unplanned_survey import UnplannedSurvey
from mm2.kafka.client_errors import GroupInUse
from mm2.kafka.groups.group_model import Group, GroupState, GroupType
from mm2.protocol.control_records import DesiredFlowState, FlowState
from tests.support.fake_moves import COPY, ORIGINAL, FakeSwitch, fake_route, switch
from tests.support.fake_route import FakeSide, Known, forth


def _source(*groups: str) -> FakeSide:
    side = FakeSide("A", logs={ORIGINAL: (0, 100)})
    for each in groups:
        side.put(each, {ORIGINAL: 50})
    return side


def _target() -> FakeSide:
    return FakeSide("B", logs={COPY: (0, 100)})


def _checkpoint(group: str, time_ms: int) -> RemoteCheckpoint:
    carried = TargetCommit(Order.GIVEN, (30,))
    checkpoint = Checkpoint(GroupId(group), COPY, 30, 30, "", True, target_commit=carried)
    return RemoteCheckpoint(checkpoint=checkpoint, timestamp_ms=time_ms)


def _stopping(plan: Plan) -> dict[str, str]:
    return {each.name: each.reason for each in plan.checks if each.verdict is Verdict.NO_GO}


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("forced", [True, False])
def test_to_move_no_group_is_not_done(tmp_path: Path, *, planned: bool, forced: bool) -> None:
    """No checkpoints, no leave to see groups: nothing moves, and nobody may think it has."""
    source = _source()
    source.refusal = None if planned else Unavailable("A", "no answer")
    options = MoveOptions(groups=None, is_planned=planned, forced=forced)
    plan = asyncio.run(GroupMove(fake_route(tmp_path, source, _target()), options, print).execute())
    assert not plan.is_done
    assert list(_stopping(plan)) == ["groups"]


@pytest.mark.parametrize(
    "refusal", [AuthenticationFailed("A", "expired"), NotAuthorized("A", "no right"), None]
)
def test_a_cluster_that_refuses_us_is_not_lost(
    tmp_path: Path, refusal: AuthenticationFailed | NotAuthorized | None
) -> None:
    source = _source()
    source.refusal = refusal
    route = fake_route(tmp_path, source, _target())
    plan = asyncio.run(GroupMove(route, MoveOptions(groups=("g",), is_planned=False), print).plan())
    assert _stopping(plan)["origin"].startswith("answers")
    given_up = MoveOptions(groups=("g",), is_planned=False, assume_lost=True)
    assert "origin" not in _stopping(asyncio.run(GroupMove(route, given_up, print).plan()))


@pytest.mark.parametrize("on_target", [True, False])
def test_a_streams_group_does_not_move(tmp_path: Path, *, on_target: bool) -> None:
    """Brokers list its offsets, and do not describe it: it seems to have no members."""
    source, target = _source("g", "other"), _target()
    streams = Group("g", GroupState.STABLE, GroupType.STREAMS)
    (target if on_target else source).others.append(streams)
    route = fake_route(tmp_path, source, target)
    plan = asyncio.run(GroupMove(route, MoveOptions(groups=("g",), forced=True), print).execute())
    assert list(_stopping(plan)) == ["type"]
    assert not target.groups
    assert asyncio.run(GroupMove(route, MoveOptions(groups=("other",)), print).execute()).is_done


def test_after_a_disaster_a_group_that_has_read_on_stays_where_it_is(tmp_path: Path) -> None:
    target = _target()
    target.put("ahead", {COPY: 90})
    checkpoints = {GroupId(group): {COPY: _checkpoint(group, 1)} for group in ("ahead", "behind")}
    read = UnplannedSurvey(fake_route(tmp_path, _source(), target)).read
    ahead, behind = asyncio.run(read(["ahead", "behind"], checkpoints, 2))
    assert "progress" in {each.name for each in group_checks(ahead, planned=False)}
    assert offsets_to_write(ahead) == {}
    assert offsets_to_write(behind) == {COPY: CommittedOffset(30)}


def test_a_group_that_has_read_a_copy_that_was_made_anew_begins_at_its_start(
    tmp_path: Path,
) -> None:
    """
    An offset of the former one may lie anywhere in it, and ``auto.offset.reset`` behind it.

    Nor does that group keep the others: they need not wait for it.
    """
    target = _target()
    target.ids = {COPY.topic: UUID(int=2)}
    read = UnplannedSurvey(fake_route(tmp_path, _source(), target)).read
    found = []
    for topic_id in (1, 2):
        known = _checkpoint("g", 1)
        checkpoint = replace(known.checkpoint, logs=Logs(remote=UUID(int=topic_id)))
        last = {GroupId("g"): {COPY: replace(known, checkpoint=checkpoint)}}
        found += asyncio.run(read(["g"], last, 2))
    assert [offsets_to_write(each) for each in found] == [
        {COPY: CommittedOffset(0)},
        {COPY: CommittedOffset(30)},
    ]
    assert [each.unplaced for each in found] == [(), ()]
    (place,) = found[0].partitions
    assert (place.committed, place.is_exact) == (30, False)
    for each in found:
        assert not any(v.stops(forced=False) for v in group_checks(each, planned=False))


def test_after_a_disaster_other_ways_of_records_are_told(tmp_path: Path) -> None:
    """Checkpoints of a flow know nothing of records that other flows bring under the same name."""
    target = _target()
    target.logs = {ORIGINAL: (0, 100)}
    known = _checkpoint("g", 1)
    checkpoint = replace(known.checkpoint, partition=ORIGINAL)
    last = {GroupId("g"): {ORIGINAL: replace(known, checkpoint=checkpoint)}}
    names = "replication.policy.class = IdentityReplicationPolicy"
    headers = "provenance.headers.enabled = true"
    for more in ((names,), (names, headers)):
        route = forth(tmp_path, _source(), target, Known(), *more)
        (found,) = asyncio.run(UnplannedSurvey(route).read(["g"], last, 2))
        verdicts = {each.name: each.verdict for each in group_checks(found, planned=False)}
        assert verdicts.get("other-flows") is (Verdict.CAUTION if headers in more else None)


def test_copies_that_a_group_is_not_placed_in_are_named(tmp_path: Path) -> None:
    """What it began to read after its last checkpoints; not what it reads there, nor others."""
    target = _target()
    for name in ("A.payments", "A.read", "A.heartbeats", "orders", "C.orders"):
        target.logs[TopicPartition(TopicName(name), 0)] = (0, 10)
    target.put("g", {TopicPartition(TopicName("A.read"), 0): 3})
    checkpoints = {GroupId("g"): {COPY: _checkpoint("g", 1)}}
    read = UnplannedSurvey(fake_route(tmp_path, _source(), target)).read
    (found,) = asyncio.run(read(["g"], checkpoints, 2))
    assert found.unplaced == ("A.payments",)


def test_a_cluster_was_heard_when_the_last_checkpoint_was_made(tmp_path: Path) -> None:
    """If no heartbeats come from it."""
    route = fake_route(tmp_path, _source(), _target())
    last = {GroupId(group): {COPY: _checkpoint(group, at)} for group, at in (("g", 7), ("h", 9))}
    survey = UnplannedSurvey(route)
    assert asyncio.run(survey.last_contact_ms(last)) == 9
    assert asyncio.run(survey.last_contact_ms({})) is None


_FENCED = MoveOptions(groups=None, stop_flow=True)


@pytest.mark.parametrize(
    "error",
    [GroupInUse("B", "members"), NotAuthorized("B", "no right"), Unavailable("B", "no answer")],
)
def test_one_group_that_fails_does_not_keep_the_others(
    tmp_path: Path, error: GroupInUse | NotAuthorized | Unavailable
) -> None:
    """And it is said what was done, and that the flow stands still."""
    target, flow = _target(), FakeSwitch()
    target.failing_commits["g1"] = error
    route = fake_route(tmp_path, _source("g0", "g1", "g2"), target)
    move = GroupMove(route, _FENCED, print, switch(flow))
    plan = asyncio.run(move.execute())
    assert not plan.is_done
    assert [each.subject for each in plan.checks if each.name == "written"] == ["g1"]
    assert sorted(target.groups) == ["g0", "g2"]
    assert move.summary() == [
        "2 of 3 groups were moved.",
        "The flow A->B is stopped; mm2 flows resume has it go on.",
    ]


def test_what_is_not_copied_when_the_flow_stands_is_not_waited_for(tmp_path: Path) -> None:
    target, flow = _target(), FakeSwitch()
    flow.on_stop = target.logs.clear
    move = GroupMove(fake_route(tmp_path, _source("g"), target), _FENCED, print, switch(flow))
    begun = time.monotonic()
    plan = asyncio.run(asyncio.wait_for(move.execute(), 30))
    assert list(_stopping(plan)) == ["copied"]
    assert time.monotonic() - begun < 20
    assert flow.calls == ["stop", "resume"]
    assert move.summary() == ["Nothing has been changed."]


def test_a_flow_that_an_operator_has_stopped_stays_so(tmp_path: Path) -> None:
    """Whether the move is refused, made, or goes back."""
    repaired = DesiredFlowState(state=FlowState.STOPPED, reason="A is being repaired")
    target, flow = _target(), FakeSwitch(repaired)
    route = fake_route(tmp_path, _source("g"), target)
    flow.on_stop = target.logs.clear
    assert not asyncio.run(GroupMove(route, _FENCED, print, switch(flow)).execute()).is_go
    target.logs, flow.on_stop = {COPY: (0, 100)}, lambda: None
    back = MoveOptions(groups=None, resume_flow=True)
    for options in (_FENCED, back):
        assert asyncio.run(GroupMove(route, options, print, switch(flow)).execute()).is_done
    assert flow.now == repaired
    assert flow.calls == ["wait", "wait"]


def test_a_flow_that_a_failover_has_stopped_goes_on_after_the_failback(tmp_path: Path) -> None:
    flow, route = FakeSwitch(), fake_route(tmp_path, _source("g"), _target())
    asyncio.run(GroupMove(route, _FENCED, print, switch(flow)).execute())
    assert (flow.now.is_stopped, flow.now.by) == (True, FAILOVER)
    again = GroupMove(route, MoveOptions(groups=None, resume_flow=True), print, switch(flow))
    asyncio.run(again.execute())
    assert not flow.now.is_stopped
    assert again.summary() == ["1 of 1 groups were moved."]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_end_has_the_flow_go_on(tmp_path: Path, number: signal.Signals) -> None:
    """As Ctrl-C does, before anything was written."""
    target, flow = _target(), FakeSwitch()
    flow.on_stop = lambda: os.kill(os.getpid(), number)
    move = GroupMove(fake_route(tmp_path, _source("g"), target), _FENCED, print, switch(flow))

    async def work() -> None:
        with ended_alike():
            await move.execute()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(work())
    assert flow.calls == ["stop", "resume"]
    assert not target.groups
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.parametrize(
    ("without", "places"),
    [
        (WithoutCheckpoint.LEAVE, {}),
        (WithoutCheckpoint.REFUSE, {}),
        (WithoutCheckpoint.EARLIEST, {"A.payments": 4}),
        (WithoutCheckpoint.LATEST, {"A.payments": 10}),
    ],
)
def test_where_a_group_begins_without_a_checkpoint_is_the_users_word(
    tmp_path: Path, without: WithoutCheckpoint, places: dict[str, int]
) -> None:
    source, target = _source(), _target()
    source.refusal = Unavailable("A", "no answer")
    target.logs[TopicPartition(TopicName("A.payments"), 0)] = (4, 10)
    checkpoints = {GroupId("g"): {COPY: _checkpoint("g", 1)}}
    read = UnplannedSurvey(fake_route(tmp_path, source, target)).read
    (found,) = asyncio.run(read(["g"], checkpoints, 2, without))
    written = {where.topic: at.offset for where, at in offsets_to_write(found).items()}
    assert written == {COPY.topic: 30, **places}
    checks = [v for v in group_checks(found, planned=False) if v.name == "unplaced"]
    refused = without is WithoutCheckpoint.REFUSE
    assert [each.stops(forced=False) for each in checks] == [refused]
    assert not any(each.stops(forced=True) for each in checks)
    if without is WithoutCheckpoint.LATEST:
        assert "6 records are never read" in (checks[0].cost or "")


@pytest.mark.parametrize("is_there", [True, False])
def test_nobody_waits_for_a_flow_that_is_stopped(tmp_path: Path, *, is_there: bool) -> None:
    """What is not copied will not be; where nothing is missing, that is only worth a word."""
    route = fake_route(tmp_path, _source("g"), _target() if is_there else FakeSide("B"))
    stopped = FakeSwitch(DesiredFlowState(state=FlowState.STOPPED, reason="a try"))
    move = GroupMove(route, MoveOptions(groups=("g",), timeout_s=3600), print, switch(stopped))
    plan = asyncio.run(move.execute())
    assert plan.is_done is is_there
    (check,) = [each for each in plan.checks if each.name == "flow"]
    assert check.reason.startswith("is stopped (a try)")
    assert check.stops(forced=False) is not is_there
