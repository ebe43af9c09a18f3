"""Who leads a flow, and whose word counts, as its topics show it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mm2.core.connect.status_records import ConnectorKey, RunState, TaskKey
from mm2.core.leadership.placement import Member
from mm2.herder.view.flow_views import NodeView
from mm2.herder.view.view_builder import own_connectors
from mm2.kafka.groups.group_model import GroupMember, GroupMembers, GroupState
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Lease, LeaseState
from mm2.protocol.member_metadata import encode_member
from tests.support.seen_flow import CHECKPOINT, NOW, SOURCE, SeenFlow


@pytest.fixture
def flow() -> SeenFlow:
    return SeenFlow()


def test_nobody_leads_once_the_leader_is_silent(flow: SeenFlow) -> None:
    view = flow.view(NOW + 60_000)
    assert view.leader is not None
    assert (view.leader.is_alive, view.leader.age_ms) == (False, 60_000)
    assert flow.states(NOW + 60_000) == ["UNASSIGNED"] * 3
    assert view.partitions[0].position == 9, "how far it was is still known"


def test_reports_of_an_earlier_leader_are_no_sign_of_life(flow: SeenFlow) -> None:
    flow.control(*encode_control(Lease(epoch=8, owner="m")))
    flow.report(0, at_ms=NOW + 60_000, epoch=7)
    assert not flow.view(NOW + 60_000).is_led


def test_an_older_lease_that_comes_late_does_not_count(flow: SeenFlow) -> None:
    flow.control(*encode_control(Lease(epoch=6, owner="old")))
    leader = flow.view().leader
    assert leader is not None
    assert leader.worker_id == "n"


def test_what_its_own_process_knows_is_for_the_leader_to_say(flow: SeenFlow) -> None:
    failures: dict[ConnectorKey | TaskKey, str] = {
        TaskKey(SOURCE, 1): "the JVM is gone",
        ConnectorKey(CHECKPOINT): "no answer",
    }
    source, checkpoint, _ = own_connectors(flow.config, flow.snapshot, NOW, failures)
    assert (source.tasks[1].state, source.tasks[1].trace) == (RunState.FAILED, "the JVM is gone")
    assert (checkpoint.state, checkpoint.trace) == (RunState.FAILED, "no answer")


def test_the_leaders_word_counts_while_it_leads(flow: SeenFlow) -> None:
    flow.says(TaskKey(SOURCE, 0), RunState.FAILED)
    flow.says(TaskKey(SOURCE, 1), RunState.FAILED, generation=6)
    flow.says(ConnectorKey(CHECKPOINT), RunState.FAILED)
    assert flow.states() == ["RUNNING", "FAILED", "RUNNING"]
    assert flow.connector().tasks[0].trace == "why"
    assert flow.connector(CHECKPOINT).state is RunState.FAILED
    assert flow.states(NOW + 60_000) == ["UNASSIGNED"] * 3
    assert own_connectors(flow.config, flow.snapshot, NOW, {})[0].tasks[0].state is RunState.RUNNING


def test_a_connector_of_the_leaders_that_our_file_does_not_have_is_shown(flow: SeenFlow) -> None:
    flow.says(ConnectorKey("Other"), RunState.RUNNING)
    flow.says(ConnectorKey("Former"), RunState.RUNNING, generation=6)
    assert [each.name for each in flow.view().connectors][3:] == ["Other"]


def test_what_java_says_counts_when_java_runs_the_flow(flow: SeenFlow) -> None:
    flow.says(ConnectorKey(SOURCE), RunState.RUNNING, generation=3)
    flow.says(TaskKey(SOURCE, 4), RunState.PAUSED, generation=3)
    member = GroupMember(member_id="m", client_id="connect-1", host="/10.1.1.1")
    flow.snapshot.members = GroupMembers(
        state=GroupState.STABLE, protocol_type="connect", members=(member,)
    )
    view = flow.view(NOW + 60_000)
    assert view.is_run_by_java
    assert view.is_led
    assert view.nodes[0].host == "10.1.1.1"
    source = flow.connector(now_ms=NOW + 60_000)
    assert (source.state, source.generation) == (RunState.RUNNING, 3)
    assert [(task.task, task.state) for task in source.tasks] == [(4, RunState.PAUSED)]
    assert flow.connector(CHECKPOINT).tasks == ()
    assert view.partitions == ()


def _group(*nodes: str, state: GroupState = GroupState.STABLE) -> GroupMembers:
    members = (
        GroupMember(
            member_id=f"id-{node}",
            client_id="c",
            host="/10.0.0.1",
            user_data=encode_member(
                Member(node=node, release="0.2", digest=f"of {node}", is_warm=node != "m")
            ),
        )
        for node in nodes
    )
    return GroupMembers(state=state, protocol_type="consumer", members=tuple(members))


def test_nodes_are_shown_with_what_they_say_of_themselves(flow: SeenFlow) -> None:
    lease = Lease(epoch=7, owner="n", lasts_ms=10_000, digest="of n")
    flow.control(*encode_control(lease))
    flow.snapshot.members = _group("n", "m")
    view = flow.view()
    n = NodeView(node="n", host="10.0.0.1", release="0.2", config_digest="of n", leads=True)
    m = replace(n, node="m", config_digest="of m", leads=False, is_warm=False)
    assert view.nodes == (n, m)
    assert view.other_nodes == (m,)


@pytest.mark.parametrize(
    ("group", "age_ms", "is_alive"),
    [
        (_group("n", "m"), 60_000, True),
        (_group("m"), 0, False),
        (_group("m", state=GroupState.PREPARING_REBALANCE), 9_000, True),
        (_group("m", state=GroupState.PREPARING_REBALANCE), 10_000, False),
        (_group(state=GroupState.EMPTY), 9_000, True),
        (_group(state=GroupState.EMPTY), 10_000, False),
        (GroupMembers(state=GroupState.UNKNOWN), 9_000, True),
    ],
)
def test_the_broker_knows_who_lives_and_else_the_lease_tells(
    flow: SeenFlow, group: GroupMembers, age_ms: int, *, is_alive: bool
) -> None:
    flow.control(*encode_control(Lease(epoch=7, owner="n", lasts_ms=10_000)))
    flow.snapshot.members = group
    assert flow.view(NOW + age_ms).is_led is is_alive


def test_a_leader_that_has_released_the_flow_does_not_lead(flow: SeenFlow) -> None:
    lease = Lease(epoch=7, owner="n", lasts_ms=10_000, state=LeaseState.RELEASED)
    flow.control(*encode_control(lease))
    flow.snapshot.members = _group("n")
    assert not flow.view().is_led


def test_tasks_that_outlive_their_leader_are_no_sign_of_it(flow: SeenFlow) -> None:
    flow.control(*encode_control(Lease(epoch=7, owner="n", lasts_ms=10_000)))
    flow.report(0, at_ms=NOW + 10_000)
    view = flow.view(NOW + 11_000)
    assert view.leader is not None
    assert (view.is_led, view.leader.age_ms) == (False, 11_000)
