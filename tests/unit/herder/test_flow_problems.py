"""What is said to be wrong with a flow."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from msgspec import structs

from mm2.core.connect.status_records import RunState
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.herder.view.flow_problems import problems_of
from mm2.herder.view.flow_views import (
    ConnectorView,
    FlowView,
    LeaderView,
    NodeView,
    PartitionView,
    TaskView,
)
from mm2.protocol.progress_records import GapReport

_TASK: Final = TaskView(task=0, state=RunState.RUNNING, worker_id="n", generation=7)
_SOURCE: Final = ConnectorView(
    name="MirrorSourceConnector",
    target_state=RunState.RUNNING,
    state=RunState.RUNNING,
    worker_id="n",
    generation=7,
    tasks=(_TASK, replace(_TASK, task=1)),
)
_BEATS: Final = replace(_SOURCE, name="MirrorHeartbeatConnector", tasks=(_TASK,))
_VIEW: Final = FlowView(
    flow=SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")),
    time_ms=100_000,
    leader=LeaderView(epoch=7, worker_id="n", age_ms=0, is_alive=True),
    config_digest="one",
    connectors=(_SOURCE, _BEATS),
    heartbeat_ms=99_000,
)


def _with(*, state: RunState = RunState.RUNNING, trace: str | None = None) -> FlowView:
    """A flow whose second task is in a state."""
    tasks = (_TASK, replace(_TASK, task=1, state=state, trace=trace))
    return replace(_VIEW, connectors=(replace(_SOURCE, tasks=tasks), _BEATS))


def test_a_flow_that_runs_has_none() -> None:
    assert problems_of(_VIEW) == []
    assert (_VIEW.state, _VIEW.is_in_target_state) == (RunState.RUNNING, True)


def test_nobody_leads() -> None:
    assert problems_of(replace(_VIEW, leader=None)) == ["nobody has ever led it"]
    gone = LeaderView(epoch=7, worker_id="n", age_ms=61_000, is_alive=False)
    view = replace(_VIEW, leader=gone, heartbeat_ms=1)
    assert problems_of(view) == ["nobody leads it; n did, 1 min 1 s ago"]
    assert (view.state, view.is_in_target_state) == (RunState.UNASSIGNED, False)


def test_javas_workers_are_named() -> None:
    nodes = tuple(NodeView(node="c", host=host, is_java=True) for host in ("h2", "h1", "h1"))
    view = replace(_VIEW, leader=None, nodes=nodes)
    assert problems_of(view) == ["Kafka's MirrorMaker runs it on h1, h2"]
    assert view.is_in_target_state


def test_what_failed_is_named_with_its_reason() -> None:
    view = _with(state=RunState.FAILED, trace="t-0: too large\nt-1: too large")
    assert problems_of(view) == ["MirrorSourceConnector task 1: t-0: too large (and more)"]
    assert (view.state, view.is_in_target_state) == (RunState.FAILED, False)
    assert problems_of(_with(state=RunState.FAILED)) == [
        "MirrorSourceConnector task 1: no reason is known"
    ]
    failed = replace(_BEATS, state=RunState.FAILED, trace="refused", tasks=())
    view = replace(_VIEW, connectors=(_SOURCE, failed))
    assert problems_of(view) == ["MirrorHeartbeatConnector: refused"]
    assert view.state is RunState.FAILED


def test_what_has_not_started_or_not_stopped_is_counted() -> None:
    view = _with(state=RunState.UNASSIGNED)
    assert problems_of(view) == ["MirrorSourceConnector: 1 of 2 tasks have not started"]
    assert not view.is_in_target_state
    stopping = replace(_SOURCE, target_state=RunState.STOPPED)
    view = replace(_VIEW, connectors=(stopping, _BEATS))
    assert problems_of(view) == ["MirrorSourceConnector is to be STOPPED"]
    assert not view.is_in_target_state


def test_a_task_that_is_being_restarted_is_no_problem() -> None:
    view = _with(state=RunState.RESTARTING)
    assert problems_of(view) == []
    assert view.is_in_target_state


def test_heartbeats_that_have_ended_are_said() -> None:
    assert problems_of(replace(_VIEW, heartbeat_ms=30_000)) == [
        "the last heartbeat is 1 min 10 s old"
    ]
    paused = replace(_BEATS, target_state=RunState.PAUSED, state=RunState.PAUSED, tasks=())
    view = replace(_VIEW, heartbeat_ms=30_000, connectors=(_SOURCE, paused))
    assert problems_of(view) == []
    assert view.is_in_target_state


def test_nodes_with_another_file_are_named() -> None:
    same = NodeView(node="n", host="h", config_digest="one")
    nodes = (same, replace(same, node="m", config_digest="two"), replace(same, config_digest=None))
    view = replace(_VIEW, nodes=nodes)
    assert problems_of(view) == ["the file of m says something else than the leader's"]


def test_missing_data_are_counted() -> None:
    gap = GapReport(kind="records-expired", first=1, end=2, time_ms=3)
    partitions = tuple(
        PartitionView(
            source=TopicPartition(TopicName("t"), n), remote=TopicName("A.t"), task=0, gaps=(gap,)
        )
        for n in range(2)
    )
    some = replace(_VIEW, partitions=partitions)
    assert problems_of(some) == ["data are missing in 2 partitions"]
    one = replace(_VIEW, partitions=partitions[:1])
    assert problems_of(one) == ["data are missing in 1 partition"]


def test_positions_that_contradict_each_other_are_told() -> None:
    partition = PartitionView(
        source=TopicPartition(TopicName("t"), 0), remote=TopicName("A.t"), task=0, contested=True
    )
    other = structs.replace(partition, source=TopicPartition(TopicName("t"), 1), contested=False)
    told = "positions of 1 partition stand in several partitions of their topic; the newest count"
    assert problems_of(replace(_VIEW, partitions=(partition, other))) == [told]
