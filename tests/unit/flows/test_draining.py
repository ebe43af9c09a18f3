"""A task has ended when the target has its copies and their positions, and not before."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from itertools import pairwise
from typing import cast

import pytest
from structlog.testing import capture_logs

from flows.source.commit.commit_progress import CommitProgress
from flows.source.commit.position_commits import AtLeastOnceCommitter, Drained, drain
from flows.source.commit.positions_topic import PositionsTopic
from flows.source.commit.transactional_commits import ExactlyOnceCommitter
from flows.source.fetch.fetch_state import FetchState
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import ClusterAlias, GroupId, TopicName, TopicPartition
from mm2.core.policy import HEARTBEATS_TOPIC
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.transactional_producer import TransactionalProducer
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import ExactlyOnceSpec
from tests.support.batches import Plain, write_batch
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.fake_coordinator import TransactionalCluster
from tests.support.virtual_time import run

_SOURCE = TopicPartition(TopicName("s"), 0)
_REMOTE = TopicPartition(TopicName("t"), 0)
_POSITIONS = TopicPartition(TopicName("offsets"), 0)


def _topic(producer: Producer) -> PositionsTopic:
    return PositionsTopic(
        producer,
        source=ClusterAlias("A"),
        topic=_POSITIONS.topic,
        partitions=lambda: 1,
        now_ms=lambda: 0,
    )


def _partition(committed: int, source: TopicPartition = _SOURCE) -> MirroredPartition:
    """A partition that is copied up to offset 4."""
    return MirroredPartition(
        source,
        PartitionSender(_REMOTE),
        fetch=FetchState(position=5),
        progress=CommitProgress(mirrored=4, committed=committed),
    )


async def _drained(committed: int, *, is_answered: bool) -> Drained:
    """What comes of it at least once."""
    cluster = FakeCluster([(_REMOTE, 0), (_POSITIONS, 0)], lambda: Trouble.NONE)
    client = cast("WireClient", cluster)
    producer = Producer(flow="A->B", client=client, identity=ProducerIdentity(1, 0))
    partition = _partition(committed)
    committer = AtLeastOnceCommitter(
        _topic(producer),
        producer,
        {_SOURCE: partition},
        flow="A->B",
        interval_s=60,
        on_settled=lambda *_: None,
    )
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(producer.run()) if is_answered else None
        with capture_logs() as logged:
            drained = await drain([partition], producer, committer, within_s=8)
        if sending is not None:
            sending.cancel()
    assert ("positions.late" in {each["event"] for each in logged}) is not drained.is_complete
    return drained


async def _drained_in_transactions() -> Drained:
    """What comes of it exactly once."""
    cluster = TransactionalCluster([(_REMOTE, 0), (_POSITIONS, 0)], lambda: Trouble.NONE)
    client, identity = cast("WireClient", cluster), cluster.new_task()
    gate, partition = TransactionGate("id"), _partition(2)
    producer = Producer(flow="A->B", client=client, identity=identity, gate=gate)
    spec = ExactlyOnceSpec(group=GroupId("g"), refresh_s=600)
    committer = ExactlyOnceCommitter(
        spec,
        flow="A->B",
        gate=gate,
        producer=producer,
        coordinators=TransactionalProducer(
            client, flow="A->B", transactional_id="id", identity=identity, group=spec.group
        ),
        topic=_topic(producer),
        partitions={_SOURCE: partition},
        on_settled=lambda *_: None,
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in (producer, committer)]
        drained = await drain([partition], producer, committer, within_s=8)
        for task in tasks:
            task.cancel()
    return drained


@pytest.mark.parametrize(
    ("committed", "is_answered", "drained"),
    [
        (4, False, Drained(is_complete=True, positions=0)),
        (2, True, Drained(is_complete=True, positions=1)),
        (2, False, Drained(is_complete=False, positions=0)),
    ],
)
def test_a_task_has_ended_only_when_its_positions_are_stored(
    committed: int, is_answered: bool, drained: Drained
) -> None:
    assert run(_drained(committed, is_answered=is_answered)) == drained


def test_a_task_has_ended_when_its_transaction_has() -> None:
    assert run(_drained_in_transactions()) == Drained(is_complete=True, positions=1)


async def _pauses_between_commits(topic: TopicName, partitions: int) -> list[float]:
    """Between three commits of so many partitions that move all the time."""
    cluster = FakeCluster([(_REMOTE, 0), (_POSITIONS, 0)], lambda: Trouble.NONE)
    client = cast("WireClient", cluster)
    producer = Producer(flow="A->B", client=client, identity=ProducerIdentity(1, 0))
    sources = [TopicPartition(topic, number) for number in range(partitions)]
    found = {source: _partition(2, source) for source in sources}
    began_s: list[float] = []

    async def before_commit(moved: Iterable[MirroredPartition]) -> None:
        began_s.append(asyncio.get_running_loop().time())

    committer = AtLeastOnceCommitter(
        _topic(producer),
        producer,
        found,
        flow="A->B",
        interval_s=1,
        on_settled=lambda *_: None,
        before_commit=before_commit,
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in (producer, committer)]
        while len(began_s) < 3:
            for partition in found.values():
                partition.progress.reach(partition.progress.mirrored + 1)
            await asyncio.sleep(0.5)
        for task in tasks:
            task.cancel()
    return [later - earlier for earlier, later in pairwise(began_s)]


@pytest.mark.parametrize(
    ("topic", "partitions", "pause_s"), [("s", 1, 1), ("s", 6_000, 3), (HEARTBEATS_TOPIC, 1, 5)]
)
def test_positions_of_thousands_of_partitions_or_of_heartbeats_are_written_less_often(
    topic: str, partitions: int, pause_s: float
) -> None:
    pauses = run(_pauses_between_commits(TopicName(topic), partitions))
    assert pauses == pytest.approx([pause_s, pause_s], abs=0.2)


async def _waited_for_what_nobody_answers(within_s: float) -> tuple[float, dict[str, object]]:
    cluster = FakeCluster([(_REMOTE, 0), (_POSITIONS, 0)], lambda: Trouble.NONE)
    client = cast("WireClient", cluster)
    producer = Producer(flow="A->B", client=client, identity=ProducerIdentity(1, 0))
    partition = _partition(4)
    producer.send(partition.sender, write_batch([Plain(offset=5)]), range(5, 6))
    committer = AtLeastOnceCommitter(
        _topic(producer),
        producer,
        {_SOURCE: partition},
        flow="A->B",
        interval_s=60,
        on_settled=lambda *_: None,
    )
    begun = asyncio.get_running_loop().time()
    with capture_logs() as logged:
        await drain([partition], producer, committer, within_s=within_s)
    told = next(each for each in logged if each["event"] == "source.not_drained")
    return asyncio.get_running_loop().time() - begun, dict(told)


def test_copies_are_waited_for_as_long_as_the_user_says() -> None:
    """``task.shutdown.graceful.timeout.ms``; on a clock of the test's own."""
    waited_s, told = run(_waited_for_what_nobody_answers(3))
    assert told["within_s"] == waited_s == 3
