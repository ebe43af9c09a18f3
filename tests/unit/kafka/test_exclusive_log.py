"""Batches of a log that one process at a time appends to, beside brokers that answer anything."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import pytest

from mm2.config.keys.keys_offset_manager import CODECS
from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import NotAuthorized, Unavailable
from mm2.kafka.logs.exclusive_log import BatchTooLarge, ExclusiveLog, ExclusiveLogs, TakenOver
from mm2.kafka.logs.segment_file import read_batches, read_records
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.produce import ProduceAnswer, ProducedPartition
from mm2.kafka.wire.wire_client import WireClient

WHERE = TopicPartition(TopicName("offsets"), 3)
RECORDS = [(b"a", b"1"), (b"b", None)]


class FakeBroker:
    """Leads the partition; answers with the codes that are prepared, and then without an error."""

    alias = "c"

    def __init__(self, *codes: int | Exception) -> None:
        self.codes = list(codes)
        self.batches: list[bytes] = []
        self.node: int | None = 1
        self.refreshed = 0
        self.length = 7

    def leader(self, _: TopicPartition) -> int | None:
        return self.node

    async def refresh(self) -> None:
        self.refreshed += 1
        self.node = 1

    async def produce(
        self, _: int, batches: Iterable[tuple[str, int, bytearray]], *, timeout_ms: int
    ) -> ProduceAnswer:
        ((topic, partition, batch),) = batches
        self.batches.append(bytes(batch))
        code = self.codes.pop(0) if self.codes else Code.NONE
        if isinstance(code, Exception):
            raise code
        return ProduceAnswer(0, [ProducedPartition(topic, partition, code, self.length)])

    async def list_offsets(
        self, asked: Iterable[TopicPartition], _: int, **_options: Any
    ) -> dict[TopicPartition, int]:
        return dict.fromkeys(asked, self.length)


def _log(broker: FakeBroker) -> ExclusiveLog:
    return ExclusiveLogs(cast("WireClient", broker), compression=0).partition(WHERE, "id")


def _sequences(broker: FakeBroker) -> list[int]:
    return [next(read_batches(memoryview(each))).base_sequence for each in broker.batches]


async def test_records_are_one_batch_and_their_first_offset_is_told() -> None:
    broker = FakeBroker()
    log = _log(broker)
    assert await log.append(RECORDS) == 7
    assert await log.append(RECORDS[:1]) == 7
    assert [next(read_batches(memoryview(each))).count for each in broker.batches] == [2, 1]
    assert _sequences(broker) == [0, 2]


@pytest.mark.parametrize(
    "trouble",
    [Code.NOT_LEADER_OR_FOLLOWER, Code.NOT_ENOUGH_REPLICAS, Unavailable("c", "no answer")],
)
async def test_a_batch_that_may_be_there_is_sent_again_as_it_was(trouble: int | Exception) -> None:
    broker = FakeBroker(trouble)
    log = _log(broker)
    assert await log.append(RECORDS) == 7
    first, second = broker.batches
    assert first == second
    assert broker.refreshed == 1
    await log.append(RECORDS)
    assert _sequences(broker) == [0, 0, 2]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (Code.INVALID_PRODUCER_EPOCH, TakenOver),
        (Code.OUT_OF_ORDER_SEQUENCE_NUMBER, TakenOver),
        (Code.DUPLICATE_SEQUENCE_NUMBER, TakenOver),
        (Code.MESSAGE_TOO_LARGE, BatchTooLarge),
        (Code.TOPIC_AUTHORIZATION_FAILED, NotAuthorized),
    ],
)
async def test_what_no_repetition_helps_ends_the_append(code: int, error: type[Exception]) -> None:
    broker = FakeBroker(code)
    log = _log(broker)
    with pytest.raises(error, match="append to offsets-3"):
        await log.append(RECORDS)
    assert len(broker.batches) == 1
    await log.append(RECORDS)
    assert _sequences(broker) == [0, 0]


async def test_records_over_the_size_of_a_batch_are_not_sent_in_part() -> None:
    broker = FakeBroker()
    log = _log(broker)
    with pytest.raises(BatchTooLarge, match="append to offsets-3"):
        await log.append([(b"k", bytes(20 << 20))] * 2)
    assert broker.batches == []
    await log.append(RECORDS)
    assert _sequences(broker) == [0]


@pytest.mark.parametrize("codec", CODECS)
async def test_batches_are_compressed_as_the_settings_say(codec: str) -> None:
    broker = FakeBroker()
    settings = OffsetManagerSettings.of({"offsets.topic.compression.codec": codec})
    logs = ExclusiveLogs(cast("WireClient", broker), compression=settings.compression)
    records = [(b"a" * 100, b"1" * 100), (b"b", None)]
    await logs.partition(WHERE, "id").append(records)
    data = memoryview(broker.batches[0])
    batch = next(read_batches(data))
    read = read_records(data, batch)
    assert read is not None
    assert batch.codec == codec
    assert [(each.key, each.value) for each in read] == records


async def test_a_leader_that_is_not_known_is_asked_for() -> None:
    broker = FakeBroker()
    broker.node = None
    log = _log(broker)
    with pytest.raises(Unavailable, match="nobody says where offsets-3 ends"):
        await log.end()
    assert (broker.refreshed, await log.end()) == (1, 7)
    broker.node = None
    assert await log.append(RECORDS) == 7


async def test_appends_to_several_partitions_share_requests() -> None:
    answered = asyncio.Event()
    requests: list[list[int]] = []

    class Slow(FakeBroker):
        async def produce(
            self, _: int, batches: Iterable[tuple[str, int, bytearray]], *, timeout_ms: int
        ) -> ProduceAnswer:
            listed = list(batches)
            requests.append([number for _, number, _ in listed])
            await answered.wait()
            return ProduceAnswer(0, [ProducedPartition(t, n, Code.NONE, 5) for t, n, _ in listed])

    logs = ExclusiveLogs(cast("WireClient", Slow()), compression=0)
    partitions = [
        logs.partition(TopicPartition(TopicName("offsets"), number), "id") for number in range(3)
    ]
    appends = [asyncio.create_task(each.append(RECORDS)) for each in partitions]
    await asyncio.sleep(0)
    answered.set()
    assert await asyncio.gather(*appends) == [5, 5, 5]
    assert requests == [[0], [1, 2]]


async def test_batches_over_the_size_of_a_request_go_in_several() -> None:
    requests: list[list[int]] = []

    class Sized(FakeBroker):
        async def produce(
            self, _: int, batches: Iterable[tuple[str, int, bytearray]], *, timeout_ms: int
        ) -> ProduceAnswer:
            listed = list(batches)
            requests.append([len(batch) >> 20 for *_, batch in listed])
            await asyncio.sleep(0)  # so that the others wait for this one, and would share the next
            return ProduceAnswer(0, [ProducedPartition(t, n, Code.NONE, 5) for t, n, _ in listed])

    logs = ExclusiveLogs(cast("WireClient", Sized()), compression=0)
    partitions = [
        logs.partition(TopicPartition(TopicName("offsets"), number), "id") for number in range(3)
    ]
    large = [(b"k", bytes(20 << 20))]
    assert await asyncio.gather(*(each.append(large) for each in partitions)) == [5, 5, 5]
    assert requests == [[20], [20], [20]]
