"""A partition whose remote topic goes, comes back, or loses copies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import cast
from uuid import UUID

from flows.source.commit.position_commits import Committer
from flows.source.forward.record_batch import CONTROL
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import GapReporter
from flows.source.monitor.remote_ends import RemoteEnds
from flows.source.monitor.remote_topics import RemoteTopics
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.core.translation.partition_runs import PartitionRuns
from mm2.core.translation.runs import Block, Logs, Runs
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.fetch import FetchAnswer, FetchedPartition, FetchRequest
from mm2.kafka.wire.requests.list_offsets import EARLIEST
from mm2.kafka.wire.requests.metadata import PartitionMetadata, TopicMetadata
from mm2.kafka.wire.throttle import Throttle
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from tests.support.batches import Plain, write_batch
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.specs import gap_settings, sample_spec

SOURCE = TopicPartition(TopicName("t"), 0)
TARGET = TopicPartition(TopicName("A.t"), 0)
OLD_ID, NEW_ID = UUID(int=1), UUID(int=2)


class AskedClusters:
    """What is asked of both clusters."""

    def __init__(self) -> None:
        self.topic_id: UUID | None = OLD_ID
        self.error = 0
        self.ends: dict[bool, int | None] = {False: 12, True: 12}
        self.markers: range = range(0)
        self.fetched = 0
        self.alias, self.throttle = "B", Throttle("B")

    async def describe(self, topics: Iterable[str]) -> dict[str, TopicMetadata]:
        found = {} if self.error else {0: PartitionMetadata(0, 0, 1, 0)}
        topic_id = None if self.error else self.topic_id
        return {name: TopicMetadata(name, self.error, topic_id, False, found) for name in topics}

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: int, *, read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        end = 3 if at == EARLIEST else self.ends[read_committed]
        return {} if end is None else dict.fromkeys(partitions, end)

    async def refresh(self) -> None:
        """The leaders are known."""

    def leader(self, _: TopicPartition) -> int | None:
        return 0

    async def fetch(self, _: int, request: FetchRequest) -> FetchAnswer:
        """The batch of one record, or the marker, at the offset."""
        self.fetched += 1
        ((_topic, ((number, offset, _most),)),) = request._topics
        data = bytearray(write_batch([Plain(offset=offset, value=b"x")]))
        data[22] |= CONTROL if offset in self.markers else 0
        found = FetchedPartition(TARGET.topic, number, 0, -1, -1, -1, (), memoryview(data))
        return FetchAnswer(0, 0, 0, [found])


class RemoteTopicBench:
    """A partition with a batch that nobody sends; the remote topic was ``OLD_ID`` so far."""

    def __init__(self, *, fails: bool = False, is_transactional: bool = False) -> None:
        self.cluster = AskedClusters()
        self.wishes: list[TopicName] = []
        self.now_ms = 1
        self.runs: dict[TopicPartition, PartitionRuns] = {}
        self.aborted: list[PartitionSender] = []
        self.stored: list[int | None] = []
        self.stores = True
        sender = PartitionSender(TARGET, on_dropped=self._dropped)
        self.partition = MirroredPartition(SOURCE, sender)
        self.partition.continue_from(9, Lineage(remote_id=OLD_ID))
        self.producer = Producer(
            flow="A->B",
            client=cast("WireClient", FakeCluster([(TARGET, 0)], lambda: Trouble.NONE)),
            identity=ProducerIdentity(5, 1),
        )
        spec = sample_spec(
            gaps=gap_settings(fail_on_remote_gap=fails),
        )
        client = cast("WireClient", self.cluster)
        gaps = GapReporter(spec, Writer("B", {}), now_ms=lambda: 1, wake=lambda: None)
        ends = RemoteEnds(
            source=client,
            target=client,
            gaps=gaps,
            now_ms=lambda: self.now_ms,
            forget=lambda _: None,
            runs=self._stored,
            committer=cast("Committer", self),
            is_transactional=is_transactional,
        )
        self.remote = RemoteTopics(
            source=client,
            target=client,
            producer=self.producer,
            gaps=gaps,
            ends=ends,
            fails=fails,
            now_ms=lambda: self.now_ms,
            ask_for=self._wish,
            forget=lambda _: None,
        )

    async def _wish(self, topic: TopicName) -> None:
        self.wishes.append(topic)

    async def _stored(self, _: object) -> dict[TopicPartition, PartitionRuns]:
        return self.runs

    async def commit(self, partitions: Iterable[MirroredPartition]) -> int:
        for partition in partitions:
            self.stored.append(partition.lineage.cut_at)
            if self.stores:
                partition.progress.commit(partition.progress.mirrored)
        return len(self.stored)

    async def abort(self, sender: PartitionSender) -> None:
        self.aborted.append(sender)

    def copied(self, runs: Runs, *, is_transactional: bool = False, remote: UUID = OLD_ID) -> None:
        """The source's offsets 0 to 9 were copied, as these runs say."""
        self.runs[SOURCE] = PartitionRuns()
        logs = Logs(None, remote)
        self.runs[SOURCE].add(Block(0, 10, runs, logs, is_transactional=is_transactional))
        lineage = Lineage(remote_id=OLD_ID, remote_end=runs.downstream_end)
        self.partition.continue_from(9, lineage)

    def _dropped(self, batches: Iterable[OutgoingBatch]) -> None:
        self.partition.fetch.move_to(next(iter(batches)).offsets[0])

    def send(self) -> None:
        data = write_batch([Plain(offset=0, value=b"x")])
        self.producer.send(self.partition.sender, data, [10])
        self.partition.fetch.move_to(11)

    def look(self) -> None:
        asyncio.run(self.remote.check([self.partition]))

    def is_unsure(self) -> bool:
        return self.remote.is_unsure

    def is_written(self) -> bool:
        return self.partition.remote.is_there

    def delete(self) -> None:
        self.cluster.error = Code.UNKNOWN_TOPIC_OR_PARTITION

    def create(self, topic_id: UUID | None) -> None:
        self.cluster.error, self.cluster.topic_id = 0, topic_id
