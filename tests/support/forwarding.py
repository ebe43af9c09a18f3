"""An intake with a producer that nobody runs, so that what was sent stays in the sender."""

from __future__ import annotations

from typing import cast

from flows.source.fetch.fetch_state import FetchState
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.forward.forwarder import BatchForwarder
from flows.source.forward.merge_batches import MergePolicy
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.config.connector_settings import ErrorSettings
from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.fetch import FetchedPartition
from mm2.kafka.wire.wire_client import WireClient
from tests.support.batches import Plain, read_batch
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.specs import error_settings

_SOURCE = TopicPartition(TopicName("t"), 0)
_TARGET = TopicPartition(TopicName("A.t"), 0)


class IntakeBench:
    """
    Args:
        position: of the partition.
        read_committed: leave out what was aborted.
        policy: what is merged.
        errors: what becomes of what cannot be read.
    """

    def __init__(
        self,
        position: int | None = 0,
        *,
        read_committed: bool = False,
        policy: MergePolicy | None = None,
        errors: ErrorSettings | None = None,
    ) -> None:
        self.sender = PartitionSender(_TARGET)
        self.partition = MirroredPartition(
            _SOURCE, self.sender, fetch=FetchState(position=position)
        )
        self.budget = MemoryBudget(1 << 20)
        cluster = FakeCluster([(_TARGET, 0)], lambda: Trouble.NONE)
        producer = Producer(
            flow="A->B", client=cast("WireClient", cluster), identity=ProducerIdentity(5, 1)
        )
        tolerance = ErrorPolicy(
            errors or error_settings(),
            task=0,
            producer=producer,
            budget=self.budget,
            partitions={_SOURCE: self.partition},
            changed=lambda: None,
        )
        self.intake = BatchForwarder(
            producer, self.budget, tolerance, read_committed=read_committed, policy=policy
        )

    def take(self, *batches: bytes, aborted: tuple[tuple[int, int], ...] = ()) -> None:
        """One answer of the source."""
        data = memoryview(b"".join(batches))
        self.intake.forward(self.partition, FetchedPartition("t", 0, 0, 90, 80, 0, aborted, data))

    @property
    def sent(self) -> list[list[int]]:
        """Source offsets, batch by batch."""
        return [list(batch.offsets) for batch in self.sender.queue]

    @property
    def records(self) -> list[Plain]:
        """All that was sent."""
        return [r for batch in self.sender.queue for r in read_batch(batch.data)]

    @property
    def values(self) -> list[bytes | None]:
        """Of all records that were sent."""
        return [record.value for record in self.records]
