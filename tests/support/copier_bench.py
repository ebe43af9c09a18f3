"""A record copier of the legacy tool, with a producer that writes to a cluster in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, cast

from flows.legacy.copies_under_way import CopiesUnderWay
from flows.legacy.handled_copies import HandledCopies, PartitionsOf
from flows.legacy.keyed_copies import KeyedCopies
from flows.legacy.record_copier import RecordCopier
from flows.source.fetch.fetch_state import FetchState
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from flows.source.transform.message_handler import Handle
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.compression import Compression
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.fetch import FetchedPartition
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, write_batch
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.specs import data_settings, error_settings

TOPIC: Final = TopicName("t")
DEAD: Final = TopicPartition(TopicName("dead"), 0)
PARTITIONS: Final = 3


class CopierBench:
    """
    Args:
        handle: the message handler; None has keys decide about partitions.
        tolerates: whether records are skipped.
        compression: None keeps that of the source.
        batch_size: bytes of records in a batch.
        partitions_of: the topics of the target; None is three partitions of each.

    Attributes:
        partition: the source partition.
        other: another one, whose copies may go to the same partitions.
        trouble: what happens to requests from now on.
        reasons: why the stream would have ended.
    """

    def __init__(
        self,
        handle: Handle | None,
        *,
        tolerates: bool = False,
        compression: Compression | None = None,
        batch_size: int = 1 << 19,
        partitions_of: PartitionsOf | None = None,
    ) -> None:
        partitions_of = partitions_of or _partitions_of
        source, other = (TopicPartition(TOPIC, number) for number in range(2))
        targets = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        self.trouble = Trouble.NONE
        self.cluster = FakeCluster([(each, 0) for each in [*targets, DEAD]], lambda: self.trouble)
        self.partition = MirroredPartition(
            source, PartitionSender(source), fetch=FetchState(position=0)
        )
        self.other = MirroredPartition(other, PartitionSender(other), fetch=FetchState(position=0))
        self.reasons: list[str] = []
        self.budget = MemoryBudget(1 << 20)
        self.producer = Producer(
            flow="g-0",
            client=cast("WireClient", self.cluster),
            identity=ProducerIdentity(5, 1),
        )
        errors = ErrorPolicy(
            error_settings(
                tolerates=tolerates, dead_letter_topic=DEAD.topic if tolerates else None
            ),
            task=0,
            producer=self.producer,
            budget=self.budget,
            partitions={source: self.partition},
            changed=lambda: None,
        )
        self.under_way = CopiesUnderWay(
            tolerates=tolerates,
            producer=self.producer,
            budget=self.budget,
            errors=errors,
            fail=self.reasons.append,
            acknowledged=lambda: None,
        )
        self.copier = RecordCopier(
            KeyedCopies(partitions_of, compression)
            if handle is None
            else HandledCopies(
                handle,
                repartitions=False,
                partitions_of=partitions_of,
                compression=compression,
            ),
            data=data_settings(batch_size=batch_size),
            under_way=self.under_way,
            budget=self.budget,
            errors=errors,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Copies and sends meanwhile; the copier ends first."""
        sending = asyncio.create_task(self.producer.run(), name="producer")
        copying = asyncio.create_task(self.copier.run(), name="records")
        try:
            yield
            copying.cancel()
            await asyncio.wait([copying])
            await self.wait_for_copies()
        finally:
            sending.cancel()
            await asyncio.gather(copying, sending, return_exceptions=True)

    def take(self, *batches: bytes, of: MirroredPartition | None = None) -> None:
        """One answer of the source."""
        partition = of or self.partition
        data = memoryview(b"".join(batches))
        number = partition.source.partition
        self.copier.take(partition, FetchedPartition(TOPIC, number, 0, 90, 80, 0, (), data))

    async def wait_for_copies(self) -> None:
        """Waits until the target has what was taken."""
        await self.copier.wait_for_copies([self.partition])

    @property
    def committable(self) -> int:
        """The offset that would be committed."""
        return self.partition.progress.mirrored + 1

    def copied(self, partition: int | None = None) -> list[Plain]:
        """The records of the target."""
        numbers: Sequence[int] = range(PARTITIONS) if partition is None else [partition]
        logs = [self.cluster.logs[TopicPartition(TOPIC, number)] for number in numbers]
        return [record for log in logs for record in log.records]

    @property
    def letters(self) -> list[Plain]:
        """The records of the dead-letter topic."""
        return self.cluster.logs[DEAD].records


async def _partitions_of(name: TopicName, source: TopicName, at_least: int) -> int:
    del name, source, at_least
    return PARTITIONS


def batch(first: int, *values: bytes, keys: bool = False, codec: int = 0) -> bytes:
    """Records of these values, at offsets from the first on."""
    return write_batch(
        [
            Plain(offset=offset, timestamp=5, key=value if keys else None, value=value)
            for offset, value in enumerate(values, first)
        ],
        codec_number=codec,
    )
