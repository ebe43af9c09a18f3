"""What a leader writes to the status topic: what has changed, and nothing else."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest

from mm2.core.connect.config_records import TargetState
from mm2.core.connect.status_records import (
    ConnectorKey,
    RunState,
    Status,
    StatusChange,
    TaskKey,
    TopicKey,
    decode_key,
    decode_status,
    encode_status,
)
from mm2.core.model import TopicName, TopicPartition
from mm2.herder.status.status_diff import StatusDiff
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.kafka.logs.records import Record
from mm2.protocol.checkpoint_progress import (
    CheckpointLatency,
    CheckpointProgress,
    encode_checkpoint_progress,
)
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Assignment, BundleState, Lease
from mm2.protocol.heartbeat_progress import HeartbeatProgress, encode_heartbeats
from mm2.protocol.progress_records import BundleProgress, PartitionProgress, encode_progress
from tests.support.configs import flow_of
from tests.support.seen_flow import CHECKPOINT, HEARTBEAT, NOW, SOURCE


@dataclass
class _Leader:
    """A leader and the topics that it reads."""

    snapshot: FlowSnapshot = field(default_factory=FlowSnapshot)
    offsets: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.ledger = StatusDiff(flow_of, owner="n", worker_id="h/A->B/1", release="0.1")
        self.snapshot.apply_control(self.record(*encode_control(Lease(epoch=7, owner="n"))))
        self.assign(0, 1)

    def record(self, key: bytes, value: bytes | None) -> Record:
        return Record(
            topic="t",
            partition=0,
            offset=next(self.offsets),
            timestamp_ms=NOW,
            key=key,
            value=value,
        )

    def assign(self, *bundles: int, of: int = 2) -> None:
        for index in range(of):
            places = {TopicPartition(TopicName("t"), index): TopicName("A.t")}
            assignment = Assignment(
                index=index,
                epoch=7,
                generation=1,
                state=BundleState.RUNNING,
                partitions=places if index in bundles else {},
            )
            self.snapshot.apply_control(self.record(*encode_control(assignment)))
            self.report(index)

    def report(self, bundle: int, *, records: int = 0, error: str | None = None) -> None:
        partition = PartitionProgress(
            topic="t", partition=bundle, remote="A.t", records=records, error=error
        )
        report = BundleProgress(
            bundle=bundle, epoch=7, generation=1, time_ms=NOW, pid=1, partitions=(partition,)
        )
        self.snapshot.apply_progress(self.record(*encode_progress(report)))

    def stands(self, key: ConnectorKey | TaskKey, status: Status | None) -> None:
        """Somebody has written this to the status topic."""
        self.snapshot.apply_status(self.record(*encode_status(key, status)))

    def written(self, now_ms: int = NOW) -> list[tuple[bytes, bytes | None]]:
        """What is written now; it is read back before the next comparison."""
        found = [encode_status(*each) for each in self.ledger.changes(self.snapshot, now_ms)]
        for key, value in found:
            self.snapshot.apply_status(self.record(key, value))
        return found

    def final_changes(self) -> list[StatusChange]:
        """What is written when the leader gives the flow up."""
        return self.ledger.final_changes(self.snapshot, TargetState.STARTED)

    def states(self, now_ms: int = NOW) -> dict[str, str | None]:
        """Keys and states of what is written now."""
        return {
            key.decode(): None if value is None else decode_status(value).state.value
            for key, value in self.written(now_ms)
        }


@pytest.fixture
def leader() -> _Leader:
    return _Leader()


def test_a_new_leader_says_everything_once(leader: _Leader) -> None:
    assert leader.states() == {
        "status-connector-MirrorSourceConnector": "RUNNING",
        "status-task-MirrorSourceConnector-0": "RUNNING",
        "status-task-MirrorSourceConnector-1": "RUNNING",
        "status-connector-MirrorHeartbeatConnector": "RUNNING",
        "status-task-MirrorHeartbeatConnector-0": "RUNNING",
        "status-connector-MirrorCheckpointConnector": "RUNNING",
        "status-task-MirrorCheckpointConnector-0": "RUNNING",
    }
    status = leader.snapshot.statuses.statuses[TaskKey(SOURCE, 0)]
    assert (status.worker_id, status.generation, status.version) == ("h/A->B/1", 7, "0.1")
    assert leader.written() == []


def test_what_others_have_left_is_put_right(leader: _Leader) -> None:
    leader.written()
    old = Status(state=RunState.RUNNING, worker_id="java", generation=9)
    leader.stands(TaskKey(SOURCE, 0), old)
    leader.stands(TaskKey(SOURCE, 5), old)
    leader.stands(TaskKey("another", 0), old)
    assert leader.states() == {
        "status-task-MirrorSourceConnector-5": None,
        "status-task-MirrorSourceConnector-0": "RUNNING",
    }


def test_who_does_not_lead_is_silent(leader: _Leader) -> None:
    leader.written()
    leader.report(0, error="no")
    lease = encode_control(Lease(epoch=8, owner="other"))
    leader.snapshot.apply_control(leader.record(*lease))
    assert leader.written() == []
    assert leader.final_changes() == []
    assert leader.ledger.changes(FlowSnapshot(), NOW) == [], "nobody leads yet"


def test_a_partition_that_stands_and_goes_on(leader: _Leader) -> None:
    leader.written()
    leader.report(1, error="too large")
    assert leader.states() == {"status-task-MirrorSourceConnector-1": "FAILED"}
    assert leader.snapshot.statuses.statuses[TaskKey(SOURCE, 1)].trace == "t-1: too large"
    assert leader.states() == {}
    leader.report(1)
    assert leader.states() == {"status-task-MirrorSourceConnector-1": "RUNNING"}


def test_what_fails_has_failed_until_it_has_run_for_a_while(leader: _Leader) -> None:
    leader.written()
    key = TaskKey(CHECKPOINT, 0)
    leader.ledger.note_failure(key, None, NOW)
    assert leader.states() == {}
    leader.ledger.note_failure(key, "no answer", NOW)
    assert leader.states() == {"status-task-MirrorCheckpointConnector-0": "FAILED"}
    leader.ledger.note_failure(key, None, NOW)
    assert leader.states(NOW + 4_000) == {}
    assert leader.states(NOW + 5_000) == {"status-task-MirrorCheckpointConnector-0": "RUNNING"}


def test_a_task_that_is_gone_is_taken_back(leader: _Leader) -> None:
    leader.written()
    leader.assign(0)
    assert leader.states() == {"status-task-MirrorSourceConnector-1": None}


def test_topics_are_named_once_something_was_written_to_them(leader: _Leader) -> None:
    leader.written()
    leader.report(1, records=3)
    ((key, value),) = leader.written()
    assert decode_key(key) == TopicKey(SOURCE, "A.t")
    assert value == (
        b'{"topic":{"name":"A.t","connector":"MirrorSourceConnector","task":1,'
        b'"discoverTimestamp":1000000}}'
    )
    leader.report(0, records=4)
    assert leader.written() == []


def test_a_topic_that_was_reset_is_named_again_when_it_is_written_to_again(leader: _Leader) -> None:
    leader.report(1, records=3)
    leader.written()
    reset = encode_status(TopicKey(SOURCE, "A.t"), None)
    leader.snapshot.apply_status(leader.record(*reset))
    assert leader.written() == []
    leader.report(1, records=3)
    assert leader.written() == []
    leader.report(1, records=4)
    assert len(leader.written()) == 1


def test_topics_of_heartbeats_and_checkpoints_are_named(leader: _Leader) -> None:
    leader.written()
    beats = HeartbeatProgress(time_ms=NOW, last_ms=NOW, ways=())
    leader.snapshot.apply_progress(leader.record(*encode_heartbeats(beats)))
    idle = CheckpointProgress(time_ms=NOW, groups=1)
    leader.snapshot.apply_progress(leader.record(*encode_checkpoint_progress(idle)))
    assert [key for key, _ in leader.written()] == [
        b"status-topic-heartbeats:connector-MirrorHeartbeatConnector"
    ]
    latency = CheckpointLatency(
        group="g", topic="A.t", partition=0, last_ms=1, min_ms=1, max_ms=1, avg_ms=1.0
    )
    busy = CheckpointProgress(time_ms=NOW, groups=1, latencies=(latency,))
    leader.snapshot.apply_progress(leader.record(*encode_checkpoint_progress(busy)))
    assert [key for key, _ in leader.written()] == [
        b"status-topic-A.checkpoints.internal:connector-MirrorCheckpointConnector"
    ]


def test_a_node_that_gives_the_flow_up_says_that_nobody_runs_it(leader: _Leader) -> None:
    """Also of what is paused or stopped, and of what one left that was killed before it."""
    leader.report(1, error="no")
    leader.written()
    killed = Status(state=RunState.RUNNING, worker_id="killed", generation=6)
    leader.stands(TaskKey(HEARTBEAT, 0), killed)
    leader.stands(ConnectorKey("another"), killed)
    later = Status(state=RunState.RUNNING, worker_id="later", generation=8)
    leader.stands(TaskKey(CHECKPOINT, 0), later)
    stopped = Status(state=RunState.STOPPED, worker_id="h/A->B/1", generation=7)
    leader.stands(ConnectorKey(CHECKPOINT), stopped)
    ends = {
        key: decode_status(value or b"")
        for key, value in (encode_status(*each) for each in leader.final_changes())
    }
    assert {each.state for each in ends.values()} == {RunState.UNASSIGNED}
    assert sorted(ends) == [
        b"status-connector-MirrorCheckpointConnector",
        b"status-connector-MirrorHeartbeatConnector",
        b"status-connector-MirrorSourceConnector",
        b"status-task-MirrorHeartbeatConnector-0",
        b"status-task-MirrorSourceConnector-0",
    ]
