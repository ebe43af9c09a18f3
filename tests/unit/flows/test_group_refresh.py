"""The group's offsets are committed anew before the target forgets them."""

from __future__ import annotations

import asyncio
from typing import cast

from flows.source.commit.commit_progress import CommitProgress
from flows.source.commit.positions_topic import PositionsTopic
from flows.source.commit.transactional_commits import ExactlyOnceCommitter
from flows.source.fetch.fetch_state import FetchState
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.kafka.wire.transactional_producer import TransactionalProducer
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import ExactlyOnceSpec
from tests.support.fake_broker import Trouble
from tests.support.fake_coordinator import TransactionalCluster
from tests.support.virtual_time import run

_SOURCE = TopicPartition(TopicName("s"), 0)
_REMOTE = TopicPartition(TopicName("t"), 0)
_POSITIONS = TopicPartition(TopicName("offsets"), 0)


def _transactions(cluster: TransactionalCluster, spec: ExactlyOnceSpec) -> list[object]:
    """The producer and the transactions of a task with one idle partition, to be run."""
    client, identity = cast("WireClient", cluster), cluster.new_task()
    gate = TransactionGate("id")
    producer = Producer(flow="A->B", client=client, identity=identity, gate=gate)
    idle = MirroredPartition(
        _SOURCE,
        PartitionSender(_REMOTE),
        fetch=FetchState(position=5),
        progress=CommitProgress(mirrored=4, committed=4),
    )
    return [
        producer,
        ExactlyOnceCommitter(
            spec,
            flow="A->B",
            gate=gate,
            producer=producer,
            coordinators=TransactionalProducer(
                client, flow="A->B", transactional_id="id", identity=identity, group=spec.group
            ),
            topic=PositionsTopic(
                producer,
                source=ClusterAlias("A"),
                topic=_POSITIONS.topic,
                partitions=lambda: 1,
                now_ms=lambda: 0,
            ),
            partitions={_SOURCE: idle},
            on_settled=lambda *_: None,
        ),
    ]


async def _refreshed(seconds: float, refresh_s: float) -> int:
    """How often an idle partition's offset is committed in so many seconds."""
    cluster = TransactionalCluster([(_REMOTE, 0), (_POSITIONS, 0)], lambda: Trouble.NONE)
    spec = ExactlyOnceSpec(group=GroupId("g"), refresh_s=refresh_s)
    async with asyncio.TaskGroup() as group:
        parts = _transactions(cluster, spec)
        tasks = [group.create_task(part.run()) for part in parts]  # type: ignore[attr-defined]  # both have it
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
    assert cluster.group in ({}, {_REMOTE: 5})
    return len(cluster.committed(_POSITIONS))


def test_idle_partitions_are_committed_anew_as_often_as_wanted() -> None:
    assert run(_refreshed(59, refresh_s=15)) == 3
    assert run(_refreshed(59, refresh_s=600)) == 0
