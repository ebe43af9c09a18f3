"""A task that ends does not wait for long until its last offset syncs are written."""

from __future__ import annotations

import asyncio
from typing import cast

from structlog.testing import capture_logs

from flows.source.mirrored_partition import MirroredPartition
from flows.source.publish.translation_publisher import TranslationPublisher
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.runs import Run, Runs
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import OffsetSyncSpec
from tests.support.specs import sample_spec
from tests.support.virtual_time import run

_SOURCE = TopicPartition(TopicName("t"), 0)
_TARGET = TopicPartition(TopicName("A.t"), 0)


class _Frozen:
    """Takes records, and never says that it has them."""

    def __init__(self) -> None:
        self.sent = 0

    async def send_all(self, *_: object, **__: object) -> None:
        self.sent += 1
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await waiting


def _publisher(writer: object, runs_topic: str | None = None) -> TranslationPublisher:
    nobody = cast("WireClient", None)
    syncs = OffsetSyncSpec(
        cluster="A", properties={}, topic="syncs", lag_max=100, runs_topic=runs_topic
    )
    return TranslationPublisher(
        sample_spec(offset_syncs=syncs),
        cast("Writer", writer),
        {},
        source=nobody,
        target=nobody,
        producer_epoch=1,
    )


def test_exact_runs_are_kept_of_all_topics_but_heartbeats() -> None:
    publisher = _publisher(_Frozen(), runs_topic="runs")
    heartbeats = TopicPartition(TopicName("heartbeats"), 0)
    assert publisher.tracker(_SOURCE, 1) is not None
    assert publisher.tracker(heartbeats, 1) is None


def test_a_cluster_that_does_not_answer_is_given_up() -> None:
    async def work() -> None:
        writer = _Frozen()
        publisher = _publisher(writer)
        partition = MirroredPartition(_SOURCE, PartitionSender(_TARGET))
        running = asyncio.create_task(publisher.run())
        publisher.settled(partition, Runs([Run(0, 0, 10)]))
        # Until then the first round has begun, which holds up all others.
        await asyncio.sleep(1)
        assert writer.sent == 1
        began = asyncio.get_running_loop().time()
        with capture_logs() as logged:
            await publisher.end([partition])
        assert asyncio.get_running_loop().time() - began < 2
        assert [each["event"] for each in logged] == ["offset_syncs.failed"]
        running.cancel()

    run(work())
