"""What becomes of partitions that a task is giving up when it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

from flows.source.assigned_partitions import AssignedPartitions
from flows.source.fetch.fetcher import Fetcher
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.overlap_reader import OverlapReader
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.topic_monitor import TopicMonitor
from flows.source.publish.translation_publisher import TranslationPublisher
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.task_reporter import TaskReporter
from flows.source.transform.target_routes import Routes
from flows.source.transform.topic_transforms import TopicTransforms
from mm2.config.connector_settings import UNCHANGED
from mm2.core.latency import LatencySeries
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.command_records import LiveSettings
from mm2.protocol.control_records import Assignment, BundleState
from tests.support.configs import A_TO_B
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_SOURCE = TopicPartition(TopicName("t"), 0)
_TARGET = TopicPartition(TopicName("A.t"), 0)
_NOTHING = Assignment(index=0, epoch=1, generation=2, state=BundleState.RUNNING)


class _SlowCommitter:
    """Its commits take a second."""

    def __init__(self) -> None:
        self.committed: list[MirroredPartition] = []
        self.times = LatencySeries()

    def keep_pace(self, settings: LiveSettings) -> None:
        del settings

    def appended(self, partition: MirroredPartition, batch: OutgoingBatch) -> None:
        del partition, batch

    def went_back(self, partition: MirroredPartition) -> None:
        del partition

    async def run(self) -> None:
        pass

    async def abort(self, sender: PartitionSender) -> None:
        del sender

    async def commit(self, partitions: Iterable[MirroredPartition]) -> int:
        await asyncio.sleep(1)
        self.committed += partitions
        return len(self.committed)


def _assigned(partition: MirroredPartition, committer: _SlowCommitter) -> AssignedPartitions:
    client = cast("WireClient", FakeCluster([(_TARGET, 0)], lambda: Trouble.NONE))
    return AssignedPartitions(
        spec=sample_spec(),
        partitions={_SOURCE: partition},
        source=client,
        target=client,
        budget=MemoryBudget(1),
        producer=Producer(flow="A->B", client=client, identity=ProducerIdentity(5, 1)),
        committer=committer,
        fetcher=cast("Fetcher", SimpleNamespace(changed=lambda: None)),
        overlaps=cast("OverlapReader", None),
        monitor=cast("TopicMonitor", None),
        reporter=cast("TaskReporter", SimpleNamespace(wake=lambda: None)),
        translation=TranslationPublisher(
            sample_spec(), None, {}, source=client, target=client, producer_epoch=1
        ),
        error_policy=cast("ErrorPolicy", None),
        transforms=TopicTransforms(A_TO_B, UNCHANGED),
        routes=cast("Routes", None),
    )


def test_a_stop_waits_until_what_is_given_up_is_committed() -> None:
    partition, committer = MirroredPartition(_SOURCE, PartitionSender(_TARGET)), _SlowCommitter()
    partition.continue_from(9, Lineage())
    partition.progress.records, partition.progress.bytes = 7, 70
    assigned = _assigned(partition, committer)

    async def give_up_and_stop() -> None:
        obeying = asyncio.create_task(assigned.carry_out(_NOTHING), name="assignments")
        await asyncio.sleep(0.5)
        await assigned.end(obeying)
        await asyncio.gather(obeying, return_exceptions=True)

    run(give_up_and_stop())
    assert (assigned.records, assigned.bytes) == (7, 70), "they count in the totals of the task"
    assert committer.committed == [partition]
