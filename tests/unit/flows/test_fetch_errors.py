"""What becomes of a partition that its source's leader does not serve."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import cast

import pytest
from structlog.testing import capture_logs

from flows.source.fetch.fetcher import Fetcher
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.fetch.position_check import PositionValidator
from flows.source.fetch.rate_limit import RateLimit
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.mirrored_partition import MirroredPartition
from flows.source.monitor.gap_reports import GapReporter
from flows.source.monitor.remote_state import RemoteState
from flows.source.send.producer import Producer
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.log_identity import Lineage
from mm2.errors import Unavailable
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.requests.epoch_ends import EpochEnd
from mm2.kafka.wire.requests.fetch import FetchAnswer, FetchedPartition, FetchRequest
from mm2.kafka.wire.requests.metadata import PartitionMetadata, TopicMetadata
from mm2.kafka.wire.throttle import Throttle
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from tests.support.specs import error_settings, sample_spec
from tests.support.virtual_time import run

_WHERE = TopicPartition(TopicName("t"), 0)
_LEADERLESS = TopicName("leaderless")
_SPEC = sample_spec()


class _Source:
    """A cluster of one partition whose first leader is broken; metadata know the next one late."""

    alias = "A"
    request_timeout_ms = 30_000

    def __init__(self, error: int) -> None:
        self.throttle = Throttle("A")
        self.node = 1
        self.error = error
        self.slow_s = 0.0
        self.takes_s = 0.5
        self.records = b""
        self.refuses = False
        self.fetches = 0
        self.ended: list[int] = []
        self.closed = asyncio.Event()

    def leader(self, where: TopicPartition) -> int | None:
        return None if where.topic == _LEADERLESS else self.node

    def broker(self, node: int) -> int:
        return node

    def end_fetch(self, node: int) -> bool:
        self.ended.append(node)
        self.closed.set()
        return True

    async def refresh(self) -> None:
        self.node = 2

    async def describe(self, topics: Iterable[str]) -> dict[str, TopicMetadata]:
        await asyncio.sleep(self.slow_s)
        if self.refuses:
            raise Unavailable("A", "no more connections")
        partition = PartitionMetadata(0, 0, self.node, self.node)
        return {name: TopicMetadata(name, 0, None, False, {0: partition}) for name in topics}

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: int, *, read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        del at, read_committed
        return dict.fromkeys(partitions, 0)

    async def epoch_ends(
        self, epochs: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, EpochEnd]:
        return {p: EpochEnd(*p, 0, e, 20) for p, e in epochs.items()}

    async def fetch(self, node: int, request: FetchRequest) -> FetchAnswer:
        del request
        self.fetches += 1
        self.closed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.takes_s):
                await self.closed.wait()
            raise Unavailable("A", "the connection was closed")
        error = self.error if node == 1 else 0
        return FetchAnswer(
            0, 0, 0, [FetchedPartition("t", 0, error, 20, 20, 0, (), memoryview(self.records))]
        )


class _Bench:
    def __init__(self, error: int) -> None:
        self.source = _Source(error)
        client = cast("WireClient", self.source)
        self.partition = MirroredPartition(
            _WHERE, PartitionSender(_WHERE), remote=RemoteState(is_there=True)
        )
        self.partition.continue_from(9, Lineage())
        self.partitions = {_WHERE: self.partition}
        self.served = asyncio.Event()
        tolerance = ErrorPolicy(
            error_settings(),
            task=0,
            producer=Producer(flow="A->B", client=client, identity=ProducerIdentity(5, 1)),
            budget=MemoryBudget(1 << 20),
            partitions={_WHERE: self.partition},
            changed=lambda: None,
        )
        self.fetcher = Fetcher(
            client=client,
            partitions=self.partitions,
            spec=_SPEC,
            budget=MemoryBudget(1 << 20),
            validator=PositionValidator(
                client=client,
                spec=_SPEC,
                gaps=GapReporter(_SPEC, Writer("B", {}), now_ms=lambda: 1, wake=lambda: None),
                now_ms=lambda: 1,
                forget=lambda _: None,
            ),
            limit=RateLimit(lambda: 0.0),
            on_answer=lambda _: None,
            take=self._take,
            stop=tolerance.stop,
        )
        self.take: Callable[[MirroredPartition, FetchedPartition], None] = lambda _, __: None

    def _take(self, partition: MirroredPartition, answer: FetchedPartition) -> None:
        self.served.set()
        self.take(partition, answer)

    async def errors(self) -> list[str | None]:
        """Why it stopped, and once it was let try again; fails if it never goes on."""
        running = asyncio.create_task(self.fetcher.run(), name="fetcher")
        await asyncio.sleep(2)
        found = [self.partition.error]
        if self.partition.retry_at is not None:
            self.partition.retry()
            self.fetcher.changed()
        self.partition.fetch.resume()  # which is by a clock that stands still here
        async with asyncio.timeout(5):
            await self.served.wait()
        running.cancel()
        return [*found, self.partition.error]


def test_a_partition_that_comes_does_not_hold_up_those_that_are_there() -> None:
    """It is compared with its log first, which a busy broker may take long to tell about."""
    bench = _Bench(0)

    async def fetched() -> int:
        running = asyncio.create_task(bench.fetcher.run(), name="fetcher")
        async with asyncio.timeout(5):
            await bench.served.wait()
        new = TopicPartition(TopicName("u"), 0)
        bench.source.slow_s = 20.0
        bench.partitions[new] = MirroredPartition(
            new, PartitionSender(new), remote=RemoteState(is_there=True)
        )
        bench.fetcher.changed()
        before = bench.source.fetches
        await asyncio.sleep(10)
        running.cancel()
        return bench.source.fetches - before

    assert run(fetched()) > 15


@pytest.mark.parametrize("topic", [TopicName("u"), _LEADERLESS])
def test_a_long_fetch_is_ended_once_for_a_partition_that_comes(topic: TopicName) -> None:
    """Not again and again for one without a leader, while that is asked for."""
    bench = _Bench(0)

    async def fetched() -> int:
        running = asyncio.create_task(bench.fetcher.run(), name="fetcher")
        async with asyncio.timeout(5):
            await bench.served.wait()
        bench.source.takes_s = 3.0
        await asyncio.sleep(4)
        new = TopicPartition(topic, 0)
        remote = RemoteState(is_there=True)
        bench.partitions[new] = MirroredPartition(new, PartitionSender(new), remote=remote)
        bench.fetcher.changed()
        await asyncio.sleep(20)
        running.cancel()
        return len(bench.source.ended)

    assert run(fetched()) == 1


@pytest.mark.parametrize(
    ("size", "lag_s", "fetches"),
    [
        pytest.param(100, 0.001, 230, id="single-records-wait-for-those-before-them"),
        pytest.param(100, 9.0, 90, id="but-not-for-long"),
        pytest.param(16 << 10, 0.001, 1_800, id="and-larger-answers-for-nothing"),
    ],
)
def test_only_single_records_are_gathered_for_a_moment(
    size: int, lag_s: float, fetches: int
) -> None:
    bench = _Bench(0)
    bench.source.takes_s, bench.source.records = 0.0001, b"r" * size

    def acknowledge() -> None:
        bench.partition.progress.enqueue(-size)
        bench.fetcher.acknowledged()

    def take(partition: MirroredPartition, answer: FetchedPartition) -> None:
        partition.progress.enqueue(len(answer.records))
        asyncio.get_running_loop().call_later(lag_s, acknowledge)

    bench.take = take

    async def fetched_in_a_while() -> int:
        running = asyncio.create_task(bench.fetcher.run(), name="fetcher")
        async with asyncio.timeout(5):
            await bench.served.wait()
        await asyncio.sleep(0.5)  # at first they come seldom, as far as anybody knows
        before = bench.source.fetches
        await asyncio.sleep(0.2)
        running.cancel()
        return bench.source.fetches - before

    assert run(fetched_in_a_while()) == pytest.approx(fetches, rel=0.12)


def test_a_partition_that_is_not_settled_for_long_is_told_of_once_while_others_are_fetched() -> (
    None
):
    bench = _Bench(0)

    async def fetched() -> None:
        running = asyncio.create_task(bench.fetcher.run(), name="fetcher")
        async with asyncio.timeout(5):
            await bench.served.wait()
        new = TopicPartition(TopicName("u"), 0)
        bench.source.refuses = True
        bench.partitions[new] = MirroredPartition(
            new, PartitionSender(new), remote=RemoteState(is_there=True)
        )
        bench.fetcher.changed()
        before = bench.source.fetches
        await asyncio.sleep(10)
        running.cancel()
        assert bench.source.fetches - before > 15

    with capture_logs() as logs:
        run(fetched())
    assert {each["event"] for each in logs} == {"source.validation_failed"}
    brokers = [each["broker"] for each in logs]
    assert len(brokers) == len(set(brokers)), "once of each"


@pytest.mark.parametrize("code", [Code.CORRUPT_MESSAGE, 9_999])
def test_a_partition_stopped_by_a_broken_leader_tries_again_with_the_next_one(code: int) -> None:
    """C213, C434: Java logs a warning, and its task seems to run."""
    first, then = run(_Bench(code).errors())
    assert (first or "").startswith("the source answers ")
    assert then is None


def test_a_leader_that_does_not_know_its_end_yet_stops_nothing() -> None:
    assert run(_Bench(Code.OFFSET_NOT_AVAILABLE).errors()) == [None, None]
