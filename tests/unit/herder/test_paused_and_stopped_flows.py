"""How a flow is that operators have told something, as its topics show it."""

from __future__ import annotations

import pytest

from mm2.core.connect.status_records import RunState
from mm2.protocol.command_records import Alterations, ConnectorState, DesiredConnectorState
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import DesiredFlowState, FlowState, Lease
from tests.support.seen_flow import CHECKPOINT, HEARTBEAT, NOW, SOURCE, SeenFlow


@pytest.fixture
def flow() -> SeenFlow:
    return SeenFlow()


def test_a_flow_that_stops_is_stopped_once_its_tasks_have_said_that_they_ended(
    flow: SeenFlow,
) -> None:
    stopped = DesiredFlowState(state=FlowState.STOPPED, reason="repair")
    flow.control(*encode_control(stopped))
    flow.report(0, is_last=True)
    assert flow.states() == ["RUNNING", "RUNNING"]
    assert not flow.connector().is_in_target_state
    flow.report(1, is_last=True)
    assert flow.states() == ["STOPPED"]
    assert flow.connector().is_in_target_state
    assert flow.view().desired.flow == stopped
    assert flow.connector().reason == "repair"
    assert flow.connector(CHECKPOINT).state is RunState.RUNNING


def test_a_task_that_cannot_say_that_it_has_ended_is_waited_for(flow: SeenFlow) -> None:
    flow.control(*encode_control(DesiredFlowState(state=FlowState.STOPPED)))
    flow.report(0, is_last=True)
    for after_ms, states in ((14_999, ["RUNNING", "RUNNING"]), (15_000, ["STOPPED"])):
        flow.control(*encode_control(Lease(epoch=7, owner="n")), at_ms=NOW + after_ms)
        assert flow.states(NOW + after_ms) == states


def test_a_connector_that_operators_pause_is_paused_and_is_as_wanted(flow: SeenFlow) -> None:
    paused = DesiredConnectorState(connector=HEARTBEAT, state=ConnectorState.PAUSED, reason="quiet")
    flow.control(*encode_control(paused))
    found = flow.connector(HEARTBEAT)
    assert (found.state, found.target_state, found.reason) == (
        RunState.PAUSED,
        RunState.PAUSED,
        "quiet",
    )
    assert [task.state for task in found.tasks] == [RunState.PAUSED]
    assert flow.view().is_in_target_state


def test_what_operators_have_altered_counts_as_far_as_it_fits(flow: SeenFlow) -> None:
    changes = {"emit.heartbeats.enabled": "false", "tasks.max": "no number"}
    flow.control(*encode_control(Alterations(changes=changes)))
    assert [each.name for each in flow.view().connectors] == [SOURCE, CHECKPOINT]
    flow.control(*encode_control(Alterations(changes={})))
    assert [each.name for each in flow.view().connectors] == [SOURCE, CHECKPOINT, HEARTBEAT]
