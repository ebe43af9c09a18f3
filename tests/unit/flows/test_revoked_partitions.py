"""What becomes of partitions that a task is giving up when it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

from flows.source.assigned_partitions import Assigned
from flows.source.fetch.fetcher import Fetcher
from flows.source.fetch.memory_budget import Budget
from flows.source.forward.error_policy import Tolerance
from flows.source.forward.tails import Tails
from flows.source.mirrored_partition import Mirrored
from flows.source.monitor.topic_monitor import Watch
from flows.source.publish.translation_publisher import OffsetMaps
from flows.source.send.producer import Producer
from flows.source.send.send_queue import Lane, Outgoing
from flows.source.task_reporter import Reporter
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.command_records import LiveSettings
from mm2.protocol.control_records import Assignment, BundleState
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_SOURCE = TopicPartition(TopicName("t"), 0)
_TARGET = TopicPartition(TopicName("A.t"), 0)
_NOTHING = Assignment(index=0, epoch=1, generation=2, state=BundleState.RUNNING)


class _SlowCommitter:
    """Its commits take a second."""

    def __init__(self) -> None:
        self.committed: list[Mirrored] = []

    def keep_pace(self, settings: LiveSettings) -> None:
        del settings

    def appended(self, partition: Mirrored, batch: Outgoing) -> None:
        del partition, batch

    async def run(self) -> None:
        pass

    async def abort(self, lane: Lane) -> None:
        del lane

    async def commit(self, partitions: Iterable[Mirrored]) -> int:
        await asyncio.sleep(1)
        self.committed += partitions
        return len(self.committed)


def _assigned(partition: Mirrored, committer: _SlowCommitter) -> Assigned:
    client = cast("WireClient", FakeCluster([(_TARGET, 0)], lambda: Trouble.NONE))
    return Assigned(
        spec=sample_spec(),
        partitions={_SOURCE: partition},
        source=client,
        target=client,
        budget=Budget(1),
        producer=Producer(flow="A->B", client=client, identity=ProducerIdentity(5, 1)),
        positions=committer,
        fetcher=cast("Fetcher", SimpleNamespace(changed=lambda: None)),
        tails=cast("Tails", None),
        watch=cast("Watch", None),
        reporter=cast("Reporter", SimpleNamespace(wake=lambda: None)),
        maps=OffsetMaps(sample_spec(), None, {}, source=client, target=client, producer_epoch=1),
        tolerance=cast("Tolerance", None),
    )


def test_a_stop_waits_until_what_is_given_up_is_committed() -> None:
    partition, committer = Mirrored(_SOURCE, Lane(_TARGET)), _SlowCommitter()
    partition.continue_from(9, Lineage())
    partition.records, partition.bytes = 7, 70
    assigned = _assigned(partition, committer)

    async def give_up_and_stop() -> None:
        obeying = asyncio.create_task(assigned.carry_out(_NOTHING), name="assignments")
        await asyncio.sleep(0.5)
        await assigned.end(obeying)
        await asyncio.gather(obeying, return_exceptions=True)

    run(give_up_and_stop())
    assert (assigned.records, assigned.bytes) == (7, 70), "they count in the totals of the task"
    assert committer.committed == [partition]
