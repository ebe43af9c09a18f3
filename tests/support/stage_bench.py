"""A record stage alone, whose producer nobody runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import cast

from flows.source.fetch.fetch_state import FetchState
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.merge_batches import MergePolicy
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.transform.message_handler import Handle, WrongRecords
from flows.source.transform.record_stage import RecordStage
from flows.source.transform.target_routes import Routes
from mm2.config.connector_settings import ErrorSettings
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.fetch import FetchedPartition
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, read_batch, write_batch
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.specs import error_settings

SOURCE = TopicPartition(TopicName("t"), 0)
TARGET = TopicPartition(TopicName("A.t"), 0)


class KnownRoutes(Routes):
    """To partitions of topics that are there."""

    def __init__(self) -> None:
        self.senders = {TARGET: PartitionSender(TARGET)}

    async def sender(
        self,
        where: TopicPartition,
        like: TopicName,
        record: SourceRecord | TargetRecord | None = None,
    ) -> PartitionSender:
        del like, record
        if where.partition > 1:
            raise WrongRecords(f"none is {where}")
        return self.senders.setdefault(where, PartitionSender(where, merges=True))


class StageBench:
    """A stage with a producer that nobody runs, so that what was sent stays in the sender."""

    def __init__(
        self,
        handle: Handle,
        *,
        policy: MergePolicy | None = None,
        errors: ErrorSettings | None = None,
    ) -> None:
        self.sender = PartitionSender(TARGET)
        self.freed = asyncio.Event()
        self.routes = KnownRoutes()
        self.partition = MirroredPartition(
            SOURCE, self.sender, fetch=FetchState(position=0), transform=handle
        )
        self.budget = MemoryBudget(1 << 20)
        cluster = FakeCluster([(TARGET, 0)], lambda: Trouble.NONE)
        producer = Producer(
            flow="A->B", client=cast("WireClient", cluster), identity=ProducerIdentity(5, 1)
        )
        self.partitions = {SOURCE: self.partition}
        self.stage = RecordStage(
            producer,
            self.budget,
            ErrorPolicy(
                errors or error_settings(),
                task=0,
                producer=producer,
                budget=self.budget,
                partitions=self.partitions,
                changed=lambda: None,
            ),
            self.partitions,
            read_committed=False,
            policy=policy or MergePolicy(),
            freed=lambda _: self.freed.set(),
            routes=self.routes,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Runs the stage meanwhile, and lets it finish what it has."""
        running = asyncio.create_task(self.stage.run())
        try:
            yield
            await self.until_done()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def until_done(self) -> None:
        """Waits until nothing that was taken is pending."""
        while self.partition.fetch.pending_from is not None:
            self.freed.clear()
            await self.freed.wait()

    def take(self, *batches: bytes) -> None:
        """One answer of the source."""
        data = memoryview(b"".join(batches))
        self.stage.take(self.partition, FetchedPartition("t", 0, 0, 90, 80, 0, (), data))

    async def copy(self, *batches: bytes) -> None:
        """Takes one answer, and waits until it is sent."""
        async with self.running():
            self.take(*batches)

    @property
    def sent(self) -> list[OutgoingBatch]:
        return list(self.sender.queue)

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for batch in self.sent for record in read_batch(batch.data)]


def numbered(*offsets: int, codec: int = 0) -> bytes:
    return write_batch([Plain(offset=n, value=b"%d" % n) for n in offsets], codec_number=codec)


async def outcome_of(
    handle: Handle, batches: Iterable[Sequence[Plain]], most: int
) -> tuple[object, ...]:
    """What goes where, and how far the source counts as handed on."""
    bench = StageBench(
        handle, policy=MergePolicy(most_bytes=most), errors=error_settings(tolerates=True)
    )
    await bench.copy(*(write_batch(records) for records in batches))
    senders = {**bench.routes.senders, bench.sender.target: bench.sender}
    end = 0
    for batch in bench.sent:
        assert batch.covers is not None
        assert end <= batch.covers.start <= batch.offsets[0]
        assert batch.is_partial or batch.offsets[-1] < batch.covers.stop
        end = batch.covers.stop
    sent = {
        where: [
            (offset, record.content)
            for batch in sender.queue
            for offset, record in zip(batch.offsets, read_batch(batch.data), strict=True)
        ]
        for where, sender in senders.items()
        if sender.queue
    }
    return sent, bench.partition.progress.skipped, bench.partition.fetch.handed_on
