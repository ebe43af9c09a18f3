"""How a flow is, as its topics show it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

import pytest

from mm2.config.flow import FlowConfig, flow_config
from mm2.config.maker import MirrorMakerConfig
from mm2.core.connect_status import (
    ActiveTopic,
    ConnectorKey,
    RunState,
    Status,
    TaskKey,
    TopicKey,
    encode_status,
    encode_topic,
)
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.placement import Member
from mm2.herder.checkpoint_progress import CheckpointProgress, encode_checkpoint_progress
from mm2.herder.control import (
    Assignment,
    BundleState,
    FlowState,
    Lease,
    LeaseState,
    Wanted,
    encode_assignment,
    encode_lease,
    encode_wanted,
)
from mm2.herder.control_steering import (
    Alterations,
    ConnectorState,
    ConnectorWanted,
    encode_steering,
)
from mm2.herder.flow_picture import FlowPicture
from mm2.herder.flow_standing import own_connectors, seen
from mm2.herder.flow_states import ConnectorView, FlowView, NodeView
from mm2.herder.heartbeat_progress import HeartbeatProgress, encode_heartbeats
from mm2.herder.membership import encode_member
from mm2.herder.progress import (
    BundleProgress,
    GapReport,
    PartitionProgress,
    encode_progress,
)
from mm2.kafka.groups import GroupMember, GroupMembers, GroupState
from mm2.kafka.records import Record

NOW = 1_000_000
SOURCE, CHECKPOINT = "MirrorSourceConnector", "MirrorCheckpointConnector"
HEARTBEAT = "MirrorHeartbeatConnector"
PLACES = [TopicPartition(TopicName("t"), n) for n in range(3)]


def _config(**settings: str) -> FlowConfig:
    raw = {
        "clusters": "A, B",
        "A.bootstrap.servers": "a:1",
        "B.bootstrap.servers": "b:1",
        "A->B.enabled": "true",
        **{f"A->B.{key.replace('_', '.')}": value for key, value in settings.items()},
    }
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    return flow_config(MirrorMakerConfig(raw=raw), flow)


@dataclass
class _Flow:
    """A flow of two tasks, led by the node ``n`` with epoch 7, that are all right."""

    config: FlowConfig = field(default_factory=_config)
    picture: FlowPicture = field(default_factory=FlowPicture)
    offsets: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.control(*encode_lease(Lease(epoch=7, owner="n")))
        for index, places in enumerate((PLACES[:2], PLACES[2:])):
            remotes = {where: TopicName("A.t") for where in places}
            assignment = Assignment(
                index=index, epoch=7, generation=1, state=BundleState.RUNNING, partitions=remotes
            )
            self.control(*encode_assignment(assignment))
            self.report(index, *(_place(where.partition) for where in places))

    def record(self, key: bytes, value: bytes | None, at_ms: int = NOW) -> Record:
        return Record(
            topic="any",
            partition=0,
            offset=next(self.offsets),
            timestamp_ms=at_ms,
            key=key,
            value=value,
        )

    def control(self, key: bytes, value: bytes | None, at_ms: int = NOW) -> None:
        self.picture.take_control(self.record(key, value, at_ms))

    def report(
        self,
        bundle: int,
        *partitions: PartitionProgress,
        at_ms: int = NOW,
        epoch: int = 7,
        is_last: bool = False,
    ) -> None:
        progress = BundleProgress(
            bundle=bundle,
            epoch=epoch,
            generation=1,
            time_ms=at_ms,
            pid=1,
            partitions=partitions,
            is_last=is_last,
        )
        self.picture.take_progress(self.record(*encode_progress(progress)))

    def says(self, key: ConnectorKey | TaskKey, state: RunState, generation: int = 7) -> None:
        status = Status(state=state, worker_id="n", generation=generation, trace="why")
        self.picture.take_status(self.record(*encode_status(key, status)))

    def view(self, now_ms: int = NOW) -> FlowView:
        return seen(self.config, self.picture, now_ms)

    def connector(self, name: str = SOURCE, now_ms: int = NOW) -> ConnectorView:
        found = self.view(now_ms).connector(name)
        assert found is not None
        return found

    def states(self, now_ms: int = NOW) -> list[str]:
        """Of the source connector and its tasks."""
        found = self.connector(now_ms=now_ms)
        return [found.state.value, *(task.state.value for task in found.tasks)]


@pytest.fixture
def flow() -> _Flow:
    return _Flow()


def _place(partition: int, **changes: object) -> PartitionProgress:
    fields = {"position": 9, "end": 10, **changes}
    return PartitionProgress(topic="t", partition=partition, remote="A.t", **fields)  # type: ignore[arg-type]  # by name


def test_a_flow_that_runs(flow: _Flow) -> None:
    view = flow.view()
    assert view.leader is not None
    assert (view.leader.epoch, view.leader.worker_id, view.leader.is_alive) == (7, "n", True)
    assert [each.name for each in view.connectors] == [SOURCE, CHECKPOINT, HEARTBEAT]
    assert all(each.is_as_wanted for each in view.connectors)
    assert flow.states() == ["RUNNING", "RUNNING", "RUNNING"]
    assert {(each.source, each.task) for each in view.partitions} == {
        (PLACES[0], 0),
        (PLACES[1], 0),
        (PLACES[2], 1),
    }


def test_a_flow_that_has_never_run() -> None:
    view = seen(_config(), FlowPicture(), NOW)
    assert view.leader is None
    assert not view.is_led
    assert [each.state.value for each in view.connectors] == ["UNASSIGNED"] * 3
    assert view.partitions == ()


def test_only_connectors_that_are_configured_are_there() -> None:
    settings = {"enabled": "false", "emit_heartbeats_enabled": "true"}
    (only,) = seen(_config(**settings), FlowPicture(), NOW).connectors
    assert only.name == HEARTBEAT


def test_nobody_leads_once_the_leader_is_silent(flow: _Flow) -> None:
    view = flow.view(NOW + 60_000)
    assert view.leader is not None
    assert (view.leader.is_alive, view.leader.age_ms) == (False, 60_000)
    assert flow.states(NOW + 60_000) == ["UNASSIGNED"] * 3
    assert view.partitions[0].position == 9, "how far it was is still known"


def test_reports_of_an_earlier_leader_are_no_sign_of_life(flow: _Flow) -> None:
    flow.control(*encode_lease(Lease(epoch=8, owner="m")))
    flow.report(0, at_ms=NOW + 60_000, epoch=7)
    assert not flow.view(NOW + 60_000).is_led


def test_an_older_lease_that_comes_late_does_not_count(flow: _Flow) -> None:
    flow.control(*encode_lease(Lease(epoch=6, owner="old")))
    leader = flow.view().leader
    assert leader is not None
    assert leader.worker_id == "n"


def test_a_task_that_has_not_begun_is_unassigned(flow: _Flow) -> None:
    flow.picture.reports.clear()
    assert flow.states() == ["RUNNING", "UNASSIGNED", "UNASSIGNED"]


def test_a_task_that_is_silent_while_the_other_reports_is_unassigned(flow: _Flow) -> None:
    flow.report(1, at_ms=NOW + 20_000)
    assert flow.states(NOW + 20_000) == ["RUNNING", "UNASSIGNED", "RUNNING"]


def test_a_partition_that_stands_makes_its_task_fail(flow: _Flow) -> None:
    flow.report(0, _place(1, error="too large"))
    assert flow.states() == ["RUNNING", "FAILED", "RUNNING"]
    assert flow.connector().tasks[0].trace == "t-1: too large"
    assert flow.view().totals.standing == 1
    flow.report(0, _place(1))
    assert flow.states() == ["RUNNING"] * 3


def test_what_its_own_process_knows_is_for_the_leader_to_say(flow: _Flow) -> None:
    flow.picture.failures[TaskKey(SOURCE, 1)] = "the JVM is gone"
    flow.picture.failures[ConnectorKey(CHECKPOINT)] = "no answer"
    source, checkpoint, _ = own_connectors(flow.config, flow.picture, NOW)
    assert (source.tasks[1].state, source.tasks[1].trace) == (RunState.FAILED, "the JVM is gone")
    assert (checkpoint.state, checkpoint.trace) == (RunState.FAILED, "no answer")


def test_the_leaders_word_counts_while_it_leads(flow: _Flow) -> None:
    flow.says(TaskKey(SOURCE, 0), RunState.FAILED)
    flow.says(TaskKey(SOURCE, 1), RunState.FAILED, generation=6)
    flow.says(ConnectorKey(CHECKPOINT), RunState.FAILED)
    assert flow.states() == ["RUNNING", "FAILED", "RUNNING"]
    assert flow.connector().tasks[0].trace == "why"
    assert flow.connector(CHECKPOINT).state is RunState.FAILED
    assert flow.states(NOW + 60_000) == ["UNASSIGNED"] * 3
    assert own_connectors(flow.config, flow.picture, NOW)[0].tasks[0].state is RunState.RUNNING


def test_a_connector_of_the_leaders_that_our_file_does_not_have_is_shown(flow: _Flow) -> None:
    flow.says(ConnectorKey("Other"), RunState.RUNNING)
    flow.says(ConnectorKey("Former"), RunState.RUNNING, generation=6)
    assert [each.name for each in flow.view().connectors][3:] == ["Other"]


def test_a_flow_that_stops_is_stopped_once_its_tasks_have_said_that_they_ended(
    flow: _Flow,
) -> None:
    stopped = Wanted(state=FlowState.STOPPED, reason="repair")
    flow.control(*encode_wanted(stopped))
    flow.report(0, is_last=True)
    assert flow.states() == ["RUNNING", "RUNNING"]
    assert not flow.connector().is_as_wanted
    flow.report(1, is_last=True)
    assert flow.states() == ["STOPPED"]
    assert flow.connector().is_as_wanted
    assert flow.view().steering.flow == stopped
    assert flow.connector().reason == "repair"
    assert flow.connector(CHECKPOINT).state is RunState.RUNNING


def test_a_task_that_cannot_say_that_it_has_ended_is_waited_for(flow: _Flow) -> None:
    flow.control(*encode_wanted(Wanted(state=FlowState.STOPPED)))
    flow.report(0, is_last=True)
    for after_ms, states in ((14_999, ["RUNNING", "RUNNING"]), (15_000, ["STOPPED"])):
        flow.control(*encode_lease(Lease(epoch=7, owner="n")), at_ms=NOW + after_ms)
        assert flow.states(NOW + after_ms) == states


def test_a_task_that_has_ended_does_not_run_until_it_reports_anew(flow: _Flow) -> None:
    flow.report(0, is_last=True)
    assert flow.states() == ["RUNNING", "UNASSIGNED", "RUNNING"]
    flow.report(0)
    assert flow.states() == ["RUNNING"] * 3


def test_the_clock_of_a_former_leader_does_not_count(flow: _Flow) -> None:
    """Its tasks may have reported from the future; those of now are not late by that."""
    flow.report(2, at_ms=NOW + 3_600_000, epoch=6)
    assert flow.states() == ["RUNNING"] * 3


def test_a_connector_that_is_refused_has_failed_and_has_no_tasks() -> None:
    flow = _Flow()
    refused = replace(flow.config.checkpoint, refusals=("a and b contradict each other",))
    flow.config = replace(flow.config, checkpoint=refused)
    found = flow.connector(CHECKPOINT)
    assert (found.state, found.tasks) == (RunState.FAILED, ())
    assert found.trace == "a and b contradict each other"


def test_what_java_says_counts_when_java_runs_the_flow(flow: _Flow) -> None:
    flow.says(ConnectorKey(SOURCE), RunState.RUNNING, generation=3)
    flow.says(TaskKey(SOURCE, 4), RunState.PAUSED, generation=3)
    member = GroupMember(member_id="m", client_id="connect-1", host="/10.1.1.1")
    flow.picture.members = GroupMembers(
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


def test_how_far_partitions_are(flow: _Flow) -> None:
    gap = GapReport(kind="records-expired", first=1, end=3, time_ms=5)
    flow.report(
        0, _place(0, records=50, bytes=500, lag=4, latency_ms=7, gaps=(gap,)), at_ms=NOW + 5_000
    )
    view = flow.view(NOW + 5_000)
    first = view.partitions[0]
    assert (first.source, first.remote, first.lag, first.latency_ms) == (PLACES[0], "A.t", 4, 7)
    assert (first.records_per_s, first.bytes_per_s) == (10, 100)
    assert first.reported_ms == NOW + 5_000
    totals = view.totals
    assert (totals.partitions, totals.lag, totals.with_gaps, totals.unknown) == (3, 4, 1, 0)
    assert (totals.records_per_s, totals.latency_ms) == (10, 7)


def test_a_partition_that_nobody_has_spoken_of_is_unknown(flow: _Flow) -> None:
    del flow.picture.partitions[PLACES[1]]
    view = flow.view()
    assert (view.partitions[1].lag, view.partitions[1].reported_ms) == (None, None)
    assert view.totals.unknown == 1


def test_clocks_of_the_flow_and_of_who_looks_may_differ(flow: _Flow) -> None:
    flow.report(0, _place(0, records=50), at_ms=NOW + 5_000)
    assert flow.view(NOW - 60_000).is_led
    assert flow.view(NOW + 12_000).partitions[0].records_per_s == 10


def test_heartbeats_groups_and_topics_are_shown(flow: _Flow) -> None:
    beats = HeartbeatProgress(time_ms=NOW, last_ms=NOW - 5, ways=())
    flow.picture.take_progress(flow.record(*encode_heartbeats(beats)))
    checkpoints = CheckpointProgress(time_ms=NOW, groups=3)
    flow.picture.take_progress(flow.record(*encode_checkpoint_progress(checkpoints)))
    active = encode_topic(TopicKey(SOURCE, "A.t"), ActiveTopic(task=0, discovered_ms=1))
    flow.picture.take_status(flow.record(*active))
    view = flow.view()
    assert (view.heartbeat_ms, view.groups) == (NOW - 5, 3)
    assert flow.connector().topics == ("A.t",)


def test_records_that_cannot_be_read_or_are_of_a_newer_release_change_nothing(flow: _Flow) -> None:
    before = flow.view()
    flow.control(b"lease", b"{")
    flow.control(b"moon-phase", b"{}")
    for key in (b"bundle-0", b"heartbeat", b"checkpoint"):
        flow.picture.take_progress(flow.record(key, b"{"))
    flow.picture.take_progress(flow.record(b"moon", b"{}"))
    flow.picture.take_status(flow.record(b"status-connector-c", b"{"))
    flow.picture.take_status(flow.record(b"moon", b"{}"))
    assert flow.view() == before


def test_a_connector_that_operators_pause_is_paused_and_is_as_wanted(flow: _Flow) -> None:
    paused = ConnectorWanted(connector=HEARTBEAT, state=ConnectorState.PAUSED, reason="quiet")
    flow.control(*encode_steering(paused))
    found = flow.connector(HEARTBEAT)
    assert (found.state, found.wanted, found.reason) == (RunState.PAUSED, RunState.PAUSED, "quiet")
    assert [task.state for task in found.tasks] == [RunState.PAUSED]
    assert flow.view().is_as_wanted


def test_a_part_of_a_flow_has_only_its_connector() -> None:
    config = replace(_config(), parts=(CHECKPOINT,))
    assert [each.name for each in seen(config, FlowPicture(), NOW).connectors] == [CHECKPOINT]


def _group(*nodes: str, state: GroupState = GroupState.STABLE) -> GroupMembers:
    members = (
        GroupMember(
            member_id=f"id-{node}",
            client_id="c",
            host="/10.0.0.1",
            user_data=encode_member(Member(node=node, release="0.2", digest=f"of {node}")),
        )
        for node in nodes
    )
    return GroupMembers(state=state, protocol_type="consumer", members=tuple(members))


def test_nodes_are_shown_with_what_they_say_of_themselves(flow: _Flow) -> None:
    lease = Lease(epoch=7, owner="n", lasts_ms=10_000, digest="of n")
    flow.control(*encode_lease(lease))
    flow.picture.members = _group("n", "m")
    view = flow.view()
    n = NodeView(node="n", host="10.0.0.1", release="0.2", config_digest="of n", leads=True)
    m = replace(n, node="m", config_digest="of m", leads=False)
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
    flow: _Flow, group: GroupMembers, age_ms: int, *, is_alive: bool
) -> None:
    flow.control(*encode_lease(Lease(epoch=7, owner="n", lasts_ms=10_000)))
    flow.picture.members = group
    assert flow.view(NOW + age_ms).is_led is is_alive


def test_a_leader_that_has_released_the_flow_does_not_lead(flow: _Flow) -> None:
    lease = Lease(epoch=7, owner="n", lasts_ms=10_000, state=LeaseState.RELEASED)
    flow.control(*encode_lease(lease))
    flow.picture.members = _group("n")
    assert not flow.view().is_led


def test_tasks_that_outlive_their_leader_are_no_sign_of_it(flow: _Flow) -> None:
    flow.control(*encode_lease(Lease(epoch=7, owner="n", lasts_ms=10_000)))
    flow.report(0, at_ms=NOW + 10_000)
    view = flow.view(NOW + 11_000)
    assert view.leader is not None
    assert (view.is_led, view.leader.age_ms) == (False, 11_000)


def test_what_operators_have_altered_counts_as_far_as_it_fits(flow: _Flow) -> None:
    changes = {"emit.heartbeats.enabled": "false", "tasks.max": "no number"}
    flow.control(*encode_steering(Alterations(changes=changes)))
    assert [each.name for each in flow.view().connectors] == [SOURCE, CHECKPOINT]
    flow.control(*encode_steering(Alterations(changes={})))
    assert [each.name for each in flow.view().connectors] == [SOURCE, CHECKPOINT, HEARTBEAT]
