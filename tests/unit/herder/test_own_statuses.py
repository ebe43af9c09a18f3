"""What a leader has written of its flow it knows at once, not only when it has read it again."""

from __future__ import annotations

import pytest

from mm2.core.connect.status_records import RunState, Status, TaskKey
from mm2.herder.status.status_diff import StatusDiff
from mm2.herder.status.status_topic import FlowStatusTopic
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.kafka.logs.records import Record
from mm2.kafka.writer import Writer
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Lease
from tests.support.configs import flow_of
from tests.support.seen_flow import NOW, SOURCE


class _Cluster(Writer):
    """A producer of a cluster that takes everything."""

    async def start(self) -> None:
        pass

    async def send(self, *_: object, **__: object) -> int:
        return 0


async def test_a_node_that_ends_takes_back_what_it_has_written_just_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was RUNNING for good in the eyes of others if nobody came after it."""
    monkeypatch.setattr("mm2.herder.status.status_topic.Writer", _Cluster)
    snapshot = FlowSnapshot()
    key, value = encode_control(Lease(epoch=7, owner="n"))
    snapshot.apply_control(
        Record(topic="t", partition=0, offset=0, timestamp_ms=NOW, key=key, value=value)
    )
    diff = StatusDiff(flow_of, owner="n", worker_id="w", release="0.1")
    topic, task = FlowStatusTopic(flow_of()), TaskKey(SOURCE, 0)
    status = Status(state=RunState.RUNNING, worker_id="w", generation=7)
    await topic.write(snapshot, [(task, status)])
    assert snapshot.statuses.statuses == {task: status}
    ((left, _),) = diff.final_changes(snapshot, topic.target)
    assert left == task
    await topic.close()
