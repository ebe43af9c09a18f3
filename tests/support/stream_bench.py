"""A stream of the legacy tool between clusters in memory; what happens is noted in its order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import pytest

from flows.legacy import stream_parts
from flows.legacy.stream_parts import StreamClients, StreamParts
from flows.legacy.stream_spec import StreamSpec
from mm2.config.legacy.topic_patterns import TopicSelection
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.fetch import FetchAnswer, FetchedPartition, FetchRequest
from mm2.kafka.wire.requests.metadata import PartitionMetadata, TopicMetadata
from mm2.kafka.wire.requests.produce import ProduceAnswer
from mm2.kafka.wire.throttle import Throttle
from mm2.kafka.wire.wire_client import WireClient
from mm2.stop_deadlines import ZOOKEEPER_ANSWER_S
from tests.support.fake_broker import FakeCluster, Trouble
from tests.support.named_topics import NamedTarget
from tests.support.specs import data_settings, error_settings

WHERE: Final = TopicPartition(TopicName("t"), 0)

NOTES: Final[list[str]] = []
"""What has happened; the listener, which is made by its import path, notes it here, too."""


class NotingListener:
    """A user's listener."""

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        """Notes it."""
        NOTES.append(f"listener: assigned {partitions[0]}")

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        """Notes it."""
        NOTES.append(f"listener: revoked {partitions[0]}")


class _Source:
    alias = "source"
    request_timeout_ms = 30_000

    def __init__(self) -> None:
        self.throttle = Throttle(self.alias)
        self.batches: list[bytes] = []

    async def track(self, topics: Iterable[str]) -> None:
        pass

    def end_fetch(self, node: int) -> bool:
        """What it is asked for takes no longer than its answers."""
        return False

    def leader(self, where: TopicPartition) -> int:
        del where
        return 1

    async def refresh(self) -> None:
        pass

    async def describe(self, topics: Iterable[str]) -> dict[str, TopicMetadata]:
        partition = PartitionMetadata(0, 0, 1, 3)  # as batches have it
        return {name: TopicMetadata(name, 0, None, False, {0: partition}) for name in topics}

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: int, *, read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        del at, read_committed
        return dict.fromkeys(partitions, 0)

    async def fetch(self, node: int, request: FetchRequest) -> FetchAnswer:
        """A long poll: it brings what comes within a second."""
        del node, request
        NOTES.append("fetch")
        await asyncio.sleep(1)
        data = self.batches.pop(0) if self.batches else b""
        answer = FetchedPartition(*WHERE, 0, 90, 90, 0, (), memoryview(data))
        return FetchAnswer(0, 0, 0, [answer])


class _Target(FakeCluster):
    """Answers while ``goes_on`` is set."""

    def __init__(self) -> None:
        super().__init__([(WHERE, 0)], lambda: Trouble.NONE)
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.arrived = asyncio.Event()

    async def track(self, topics: Iterable[str]) -> None:
        pass

    def partitions_of(self, topic: str) -> int:
        return sum(where.topic == topic for where in self.logs)

    async def produce(
        self,
        node: int,
        batches: Iterable[tuple[str, int, bytes | bytearray]],
        *,
        timeout_ms: int,
        transactional_id: str | None = None,
    ) -> ProduceAnswer:
        self.arrived.set()
        await self.goes_on.wait()
        answer = await super().produce(
            node, batches, timeout_ms=timeout_ms, transactional_id=transactional_id
        )
        NOTES.append("acknowledged")
        return answer


class _Member:
    """Keeps the group's offsets."""

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: self.offsets[each] for each in partitions if each in self.offsets}

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        NOTES.extend(f"commit {where} at {offset}" for where, offset in offsets.items())
        return set(offsets)


class Keeper:
    """
    A ZooKeeper.

    Attributes:
        answers: whether it does.
    """

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        self.answers = True

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        await self._answered()
        return {each: self.offsets[each] for each in partitions if each in self.offsets}

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        await self._answered()
        self.offsets |= offsets
        return set(offsets)

    async def _answered(self) -> None:
        if not self.answers:
            await asyncio.sleep(ZOOKEEPER_ANSWER_S)
            raise Unavailable("ZooKeeper", "no answer")


class StreamBench:
    """
    The parts of a stream, in which nothing commits by itself.

    Args:
        keeper: keeps offsets, as ``changes`` say.
        changes: of the spec.

    Attributes:
        source: what ``batches`` has is fetched, one after the other.
        target: answers while its ``goes_on`` is set.
        member: keeps the group's offsets in Kafka.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, keeper: Keeper | None = None, **changes: Any
    ) -> None:
        NOTES.clear()
        self.member = _Member()
        monkeypatch.setattr(stream_parts, "GroupConsumer", lambda *_, **__: self.member)
        self.source, self.target = _Source(), _Target()
        spec = StreamSpec(
            group=GroupId("g"),
            index=0,
            source={},
            target={},
            data=data_settings(),
            selection=TopicSelection(include="t"),
            errors=error_settings(),
            commit_interval_s=60,
            driver=("", 0),
            token="",
            listener=f"{__name__}:NotingListener",
            **changes,
        )
        clients = StreamClients(
            zookeeper=keeper,
            source=cast("WireClient", self.source),
            target=cast("WireClient", self.target),
            identity=ProducerIdentity(5, 1),
            source_admin=cast("Admin", NamedTarget(t=1)),
            target_admin=cast("Admin", NamedTarget(t=1)),
        )
        self.parts = StreamParts(spec, clients)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Has the partition, fetches and sends meanwhile."""
        await self.parts.assigned([WHERE])
        jobs = [self.parts.fetcher.run(), self.parts.producer.run(), self.parts.owned.run()]
        if self.parts.copier is not None:
            jobs.append(self.parts.copier.run())
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def notes(self) -> list[str]:
        """What has happened; may be cleared."""
        return NOTES

    @property
    def values(self) -> list[bytes | None]:
        """Of the target's records."""
        return [each.value for each in self.target.logs[WHERE].records]
