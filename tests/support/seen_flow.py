"""A flow as its topics show it to whoever looks, without a broker."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from mm2.config.flow_config import FlowConfig
from mm2.core.connect.status_records import ConnectorKey, RunState, Status, TaskKey, encode_status
from mm2.core.model import CONNECTORS, TopicName, TopicPartition
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_views import ConnectorView, FlowView
from mm2.herder.view.view_builder import build_view
from mm2.kafka.logs.records import Record
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Assignment, BundleState, Lease
from mm2.protocol.progress_records import BundleProgress, PartitionProgress, encode_progress
from tests.support.configs import flow_of

NOW = 1_000_000
SOURCE, CHECKPOINT, HEARTBEAT = CONNECTORS
PLACES = [TopicPartition(TopicName("t"), n) for n in range(3)]


@dataclass
class SeenFlow:
    """A flow of two tasks, led by the node ``n`` with epoch 7, that are all right."""

    config: FlowConfig = field(default_factory=flow_of)
    snapshot: FlowSnapshot = field(default_factory=FlowSnapshot)
    offsets: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.control(*encode_control(Lease(epoch=7, owner="n")))
        for index, places in enumerate((PLACES[:2], PLACES[2:])):
            remotes = {where: TopicName("A.t") for where in places}
            assignment = Assignment(
                index=index, epoch=7, generation=1, state=BundleState.RUNNING, partitions=remotes
            )
            self.control(*encode_control(assignment))
            self.report(index, *(place(where.partition) for where in places))

    def record(self, key: bytes, value: bytes | None, at_ms: int = NOW) -> Record:
        """The next record of any topic."""
        return Record(
            topic="any",
            partition=0,
            offset=next(self.offsets),
            timestamp_ms=at_ms,
            key=key,
            value=value,
        )

    def control(self, key: bytes, value: bytes | None, at_ms: int = NOW) -> None:
        """Something is written to the control topic."""
        self.snapshot.apply_control(self.record(key, value, at_ms))

    def report(
        self,
        bundle: int,
        *partitions: PartitionProgress,
        at_ms: int = NOW,
        epoch: int = 7,
        is_last: bool = False,
        turn_ms: int = 1_000,
    ) -> None:
        """A task reports."""
        progress = BundleProgress(
            bundle=bundle,
            epoch=epoch,
            generation=1,
            time_ms=at_ms,
            pid=1,
            partitions=partitions,
            is_last=is_last,
            turn_ms=turn_ms,
        )
        self.snapshot.apply_progress(self.record(*encode_progress(progress)))

    def says(self, key: ConnectorKey | TaskKey, state: RunState, generation: int = 7) -> None:
        """A leader writes to the status topic."""
        status = Status(state=state, worker_id="n", generation=generation, trace="why")
        self.snapshot.apply_status(self.record(*encode_status(key, status)))

    def view(self, now_ms: int = NOW) -> FlowView:
        """How the flow is."""
        return build_view(self.config, self.snapshot, now_ms)

    def connector(self, name: str = SOURCE, now_ms: int = NOW) -> ConnectorView:
        """How one of its connectors is."""
        found = self.view(now_ms).connector(name)
        assert found is not None
        return found

    def states(self, now_ms: int = NOW) -> list[str]:
        """Of the source connector and its tasks."""
        found = self.connector(now_ms=now_ms)
        return [found.state.value, *(task.state.value for task in found.tasks)]


def place(partition: int, **changes: object) -> PartitionProgress:
    """What a task reports of a partition that is all right, but for ``changes``."""
    fields = {"position": 9, "end": 10, **changes}
    return PartitionProgress(topic="t", partition=partition, remote="A.t", **fields)  # type: ignore[arg-type]  # by name
