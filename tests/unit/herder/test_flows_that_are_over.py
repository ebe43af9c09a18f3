"""Whether a flow is over: what its tasks have said, who leads it, and who would do so at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mm2.core.leadership.placement import Member
from mm2.core.model import SOURCE_CONNECTOR, TopicName, TopicPartition
from mm2.herder.election.liveness import active_tasks, all_tasks_ended, describe_owner
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.kafka.groups.group_model import GroupMember, GroupMembers, GroupState
from mm2.kafka.logs.records import Record
from mm2.protocol.command_records import ConnectorState, DesiredConnectorState
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import (
    Assignment,
    BundleState,
    DesiredFlowState,
    FlowState,
    Lease,
    LeaseState,
)
from mm2.protocol.member_metadata import encode_member
from mm2.protocol.progress_records import BundleProgress, decode_progress, encode_progress

NOW = 1_000_000
STOPPED = DesiredFlowState(state=FlowState.STOPPED)
PAUSED = DesiredConnectorState(connector=SOURCE_CONNECTOR, state=ConnectorState.PAUSED)


class _Flow:
    """A flow of two bundles, led by the node ``n`` with epoch 2; a former leader had three."""

    def __init__(self, *wanted: DesiredFlowState | DesiredConnectorState) -> None:
        self.snapshot = FlowSnapshot()
        for index, epoch in ((2, 1), (0, 2), (1, 2)):
            self.assign(index, epoch)
        self.lease()
        for each in wanted:
            self.control(encode_control(each))

    def control(self, entry: tuple[bytes, bytes], at_ms: int = NOW) -> None:
        self.snapshot.apply_control(_record(entry, at_ms))

    def assign(self, index: int, epoch: int) -> None:
        where = TopicPartition(TopicName("t"), index)
        assignment = Assignment(
            index=index,
            epoch=epoch,
            generation=1,
            state=BundleState.RUNNING,
            partitions={where: TopicName("A.t")},
        )
        self.control(encode_control(assignment))

    def lease(self, epoch: int = 2, *, released: bool = False, at_ms: int = NOW) -> None:
        state = LeaseState.RELEASED if released else LeaseState.LEADING
        lease = Lease(epoch=epoch, owner="n", state=state, lasts_ms=10_000)
        self.control(encode_control(lease), at_ms)

    def say(self, *words: tuple[int, bool], epoch: int = 2, at_ms: int = NOW) -> None:
        for bundle, is_last in words:
            progress = _said(bundle, is_last=is_last, epoch=epoch, at_ms=at_ms)
            self.snapshot.apply_progress(_record(encode_progress(progress), at_ms))

    def group(self, *nodes: str) -> None:
        members = tuple(
            GroupMember(
                member_id=node,
                client_id=node,
                host="/h",
                user_data=encode_member(Member(node=node)),
            )
            for node in nodes
        )
        state = GroupState.STABLE if nodes else GroupState.EMPTY
        # Brokers forget what a group is for only with the group itself.
        self.snapshot.members = GroupMembers(state=state, protocol_type="consumer", members=members)

    def runs(self, now_ms: int = NOW) -> str | None:
        return describe_owner(self.snapshot, "A-mm2", now_ms)


def _record(entry: tuple[bytes, bytes], at_ms: int) -> Record:
    key, value = entry
    return Record(topic="t", partition=0, offset=0, timestamp_ms=at_ms, key=key, value=value)


def _said(bundle: int, *, is_last: bool, epoch: int = 2, at_ms: int = NOW) -> BundleProgress:
    return BundleProgress(
        bundle=bundle,
        epoch=epoch,
        generation=1,
        time_ms=at_ms,
        pid=1,
        partitions=(),
        is_last=is_last,
    )


@pytest.mark.parametrize("wanted", [STOPPED, PAUSED])
def test_a_flow_is_over_when_every_bundle_of_the_last_leader_has_ended(
    wanted: DesiredFlowState | DesiredConnectorState,
) -> None:
    flow = _Flow(wanted)
    flow.group("n")
    flow.say((0, False), (0, True))
    assert not all_tasks_ended(flow.snapshot), "one has not said so"
    flow.say((1, True))
    assert all_tasks_ended(flow.snapshot)
    assert flow.runs() is None
    flow.say((1, False))
    assert not all_tasks_ended(flow.snapshot), "one was started again"
    flow.say((1, True), epoch=1)
    assert not all_tasks_ended(flow.snapshot), "of a former leader"


def test_a_leader_that_has_not_given_anything_to_do_may_be_about_to() -> None:
    flow = _Flow(STOPPED)
    flow.say((0, True), (1, True))
    flow.lease(epoch=3)
    assert not all_tasks_ended(flow.snapshot)
    assert not all_tasks_ended(FlowSnapshot())


def test_a_flow_that_is_handed_over_is_led_at_once_while_nodes_are_there() -> None:
    """L12: between two leaders nobody leads it, and still its positions are in use."""
    flow = _Flow()
    flow.say((0, True), (1, True))
    flow.lease(released=True)
    flow.group("n", "m")
    assert not all_tasks_ended(flow.snapshot)
    assert flow.runs() == "2 of its nodes are there, and one of them leads it at once"
    flow.group()
    assert all_tasks_ended(flow.snapshot), "the last node has handed it over to nobody"
    assert flow.runs() is None


def test_a_flow_that_is_to_run_is_led_as_long_as_the_group_or_the_lease_says_so() -> None:
    flow = _Flow()
    flow.group("n")
    assert flow.runs(NOW + 60_000) == "n leads the flow"
    flow.group()
    assert flow.runs(NOW + 9_999) == "n leads the flow"
    assert flow.runs(NOW + 10_000) is None
    flow.say((0, False))
    assert flow.runs() == "a task of the flow is running: it has reported just now"


def test_java_runs_a_flow_only_while_its_workers_are_in_the_group() -> None:
    """Brokers remove a group without offsets up to ten minutes after its last member has left."""
    flow = _Flow(STOPPED)
    flow.say((0, True), (1, True))
    worker = GroupMember(member_id="m", client_id="connect-1", host="/h")
    java = GroupMembers(state=GroupState.STABLE, protocol_type="connect", members=(worker,))
    flow.snapshot.members = java
    assert flow.runs() == "the group A-mm2 has members: Kafka's MirrorMaker runs the flow"
    flow.snapshot.members = replace(java, state=GroupState.EMPTY, members=())
    assert flow.runs() is None
    assert not flow.snapshot.is_run_by_java


def test_a_task_that_fell_silent_without_a_last_word_may_come_back_for_a_while() -> None:
    """Frozen while its flow is stopped, it would commit over what an operator has changed."""
    flow = _Flow(STOPPED)
    flow.group()
    flow.say((0, True), (1, False))
    assert active_tasks(flow.snapshot, NOW + 14_999) == [1]
    assert flow.runs(NOW + 14_999) == "of its tasks, 1 have not said that they have ended"
    assert flow.runs(NOW + 15_000) is None, "it was killed, or its lease has ended"
    flow.say((1, True))
    assert flow.runs() is None


def test_a_task_of_a_former_leader_may_commit_until_it_knows_of_the_next_one() -> None:
    """A node that froze with its tasks; who leads now starts none, so that nobody fences them."""
    flow = _Flow(STOPPED)
    flow.group("n")
    flow.say((0, True), (1, True))
    flow.say((2, False), epoch=1)
    flow.lease(at_ms=NOW + 14_999)
    assert flow.runs(NOW + 14_999) == "of its tasks, 2 have not said that they have ended"
    flow.lease(at_ms=NOW + 15_000)
    assert flow.runs(NOW + 15_000) is None


def test_how_long_a_task_has_been_silent_is_told_by_its_leaders_clock() -> None:
    flow = _Flow(STOPPED)
    flow.group("n")
    flow.say((0, True), (1, False))
    an_hour = 3_600_000
    assert active_tasks(flow.snapshot, NOW + an_hour) == [1], "the node's clock is behind"
    flow.lease(at_ms=NOW + 15_000)
    assert not active_tasks(flow.snapshot, NOW - an_hour), "the node's clock is ahead"


def test_a_last_word_is_read_as_it_was_written() -> None:
    _, value = encode_progress(_said(0, is_last=True))
    assert decode_progress(value).is_last
    assert not decode_progress(value.replace(b',"is_last":true', b"")).is_last, "earlier releases"
