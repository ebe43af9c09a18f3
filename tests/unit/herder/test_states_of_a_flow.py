"""How a flow is, as its topics show it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mm2.core.connect.status_records import ActiveTopic, RunState, TopicKey, encode_status
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.view_builder import build_view
from mm2.protocol.checkpoint_progress import CheckpointProgress, encode_checkpoint_progress
from mm2.protocol.heartbeat_progress import HeartbeatProgress, encode_heartbeats
from mm2.protocol.progress_records import GapReport
from tests.support.configs import flow_of
from tests.support.seen_flow import CHECKPOINT, HEARTBEAT, NOW, PLACES, SOURCE, SeenFlow, place


@pytest.fixture
def flow() -> SeenFlow:
    return SeenFlow()


def test_a_flow_that_runs(flow: SeenFlow) -> None:
    view = flow.view()
    assert view.leader is not None
    assert (view.leader.epoch, view.leader.worker_id, view.leader.is_alive) == (7, "n", True)
    assert [each.name for each in view.connectors] == [SOURCE, CHECKPOINT, HEARTBEAT]
    assert all(each.is_in_target_state for each in view.connectors)
    assert flow.states() == ["RUNNING", "RUNNING", "RUNNING"]
    assert {(each.source, each.task) for each in view.partitions} == {
        (PLACES[0], 0),
        (PLACES[1], 0),
        (PLACES[2], 1),
    }


def test_a_flow_that_has_never_run() -> None:
    view = build_view(flow_of(), FlowSnapshot(), NOW)
    assert view.leader is None
    assert not view.is_led
    assert [each.state.value for each in view.connectors] == ["UNASSIGNED"] * 3
    assert view.partitions == ()


def test_only_connectors_that_are_configured_are_there() -> None:
    settings = {"enabled": "false", "emit_heartbeats_enabled": "true"}
    (only,) = build_view(flow_of(**settings), FlowSnapshot(), NOW).connectors
    assert only.name == HEARTBEAT


def test_a_task_that_has_not_begun_is_unassigned(flow: SeenFlow) -> None:
    flow.snapshot.reports.clear()
    assert flow.states() == ["RUNNING", "UNASSIGNED", "UNASSIGNED"]


def test_a_task_that_is_silent_while_the_other_reports_is_unassigned(flow: SeenFlow) -> None:
    flow.report(1, at_ms=NOW + 20_000)
    assert flow.states(NOW + 20_000) == ["RUNNING", "UNASSIGNED", "RUNNING"]


def test_a_partition_that_stands_makes_its_task_fail(flow: SeenFlow) -> None:
    flow.report(0, place(1, error="too large"))
    assert flow.states() == ["RUNNING", "FAILED", "RUNNING"]
    assert flow.connector().tasks[0].trace == "t-1: too large"
    assert flow.view().totals.standing == 1
    flow.report(0, place(1))
    assert flow.states() == ["RUNNING"] * 3


def test_a_task_that_has_ended_does_not_run_until_it_reports_anew(flow: SeenFlow) -> None:
    flow.report(0, is_last=True)
    assert flow.states() == ["RUNNING", "UNASSIGNED", "RUNNING"]
    flow.report(0)
    assert flow.states() == ["RUNNING"] * 3


def test_the_clock_of_a_former_leader_does_not_count(flow: SeenFlow) -> None:
    """Its tasks may have reported from the future; those of now are not late by that."""
    flow.report(2, at_ms=NOW + 3_600_000, epoch=6)
    assert flow.states() == ["RUNNING"] * 3


def test_a_connector_that_is_refused_has_failed_and_has_no_tasks() -> None:
    flow = SeenFlow()
    refused = replace(flow.config.checkpoint, refusals=("a and b contradict each other",))
    flow.config = replace(flow.config, checkpoint=refused)
    found = flow.connector(CHECKPOINT)
    assert (found.state, found.tasks) == (RunState.FAILED, ())
    assert found.trace == "a and b contradict each other"


def test_how_far_partitions_are(flow: SeenFlow) -> None:
    gap = GapReport(kind="records-expired", first=1, end=3, time_ms=5)
    flow.report(
        0, place(0, records=50, bytes=500, lag=4, latency_ms=7, gaps=(gap,)), at_ms=NOW + 5_000
    )
    view = flow.view(NOW + 5_000)
    first = view.partitions[0]
    assert (first.source, first.remote, first.lag, first.latency_ms) == (PLACES[0], "A.t", 4, 7)
    assert (first.records_per_s, first.bytes_per_s) == (10, 100)
    assert first.reported_ms == NOW + 5_000
    totals = view.totals
    assert (totals.partitions, totals.lag, totals.with_gaps, totals.unknown) == (3, 4, 1, 0)
    assert (totals.records_per_s, totals.latency_ms) == (10, 7)


def test_a_partition_that_nobody_has_spoken_of_is_unknown(flow: SeenFlow) -> None:
    del flow.snapshot.partitions[PLACES[1]]
    view = flow.view()
    assert (view.partitions[1].lag, view.partitions[1].reported_ms) == (None, None)
    assert view.totals.unknown == 1


@pytest.mark.parametrize(("turn_ms", "rate"), [(30_000, 10), (1 << 60, 0)])
def test_rates_of_partitions_that_take_turns_are_of_two_turns(
    flow: SeenFlow, turn_ms: int, rate: float
) -> None:
    """What claims a turn of years has one of a minute."""
    for turn in range(1, 4):
        told = place(0, records=50 + 300 * turn)
        flow.report(0, told, at_ms=NOW + 30_000 * turn, turn_ms=turn_ms)
    found = flow.view(NOW + 90_000 + (200_000 if not rate else 25_000))
    assert found.partitions[0].records_per_s == rate


def test_clocks_of_the_flow_and_of_who_looks_may_differ(flow: SeenFlow) -> None:
    flow.report(0, place(0, records=50), at_ms=NOW + 5_000)
    assert flow.view(NOW - 60_000).is_led
    assert flow.view(NOW + 12_000).partitions[0].records_per_s == 10


def test_heartbeats_groups_and_topics_are_shown(flow: SeenFlow) -> None:
    beats = HeartbeatProgress(time_ms=NOW, last_ms=NOW - 5, ways=())
    flow.snapshot.apply_progress(flow.record(*encode_heartbeats(beats)))
    checkpoints = CheckpointProgress(time_ms=NOW, groups=3)
    flow.snapshot.apply_progress(flow.record(*encode_checkpoint_progress(checkpoints)))
    active = encode_status(TopicKey(SOURCE, "A.t"), ActiveTopic(task=0, discovered_ms=1))
    flow.snapshot.apply_status(flow.record(*active))
    view = flow.view()
    assert (view.heartbeat_ms, view.groups) == (NOW - 5, 3)
    assert flow.connector().topics == ("A.t",)


def test_records_that_cannot_be_read_or_are_of_a_newer_release_change_nothing(
    flow: SeenFlow,
) -> None:
    before = flow.view()
    flow.control(b"lease", b"{")
    flow.control(b"moon-phase", b"{}")
    for key in (b"bundle-0", b"heartbeat", b"checkpoint"):
        flow.snapshot.apply_progress(flow.record(key, b"{"))
    flow.snapshot.apply_progress(flow.record(b"moon", b"{}"))
    flow.snapshot.apply_status(flow.record(b"status-connector-c", b"{"))
    flow.snapshot.apply_status(flow.record(b"moon", b"{}"))
    assert flow.view() == before


def test_a_part_of_a_flow_has_only_its_connector() -> None:
    config = replace(flow_of(), parts=(CHECKPOINT,))
    assert [each.name for each in build_view(config, FlowSnapshot(), NOW).connectors] == [
        CHECKPOINT
    ]


def test_a_view_tells_how_fast_the_lag_grows_and_how_large_records_are() -> None:
    flow = SeenFlow()
    for second, lag in ((1, 100), (2, 200)):
        copied = place(0, lag=lag, start=5, end=1000, records=10 * second, bytes=300 * second)
        flow.report(0, copied, at_ms=NOW + 1000 * second)
    (first, *_) = flow.view(NOW + 2000).partitions
    assert (first.start, first.lag_per_s, first.record_bytes) == (5, 100.0, 30.0)
