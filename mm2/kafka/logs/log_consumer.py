"""
The consumer that reads small compacted topics.

No group is used: whoever reads here wants all of a topic, from all its partitions, in each
partition's order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord
from aiokafka.structs import TopicPartition as ClientPartition

from mm2.kafka.cancelling import cancellable
from mm2.kafka.client_errors import UnknownTopic, translated
from mm2.kafka.client_settings import aiokafka_settings, milliseconds
from mm2.kafka.connecting import connected
from mm2.kafka.logs.odd_records import too_large_passed_over
from mm2.kafka.logs.records import Record

TIMEOUT_S: Final = 60.0
_TOPIC_WITHIN_S: Final = 30.0
"""How long a topic that was created just now may take to be known to the broker we ask."""

POLL_MS: Final = 200
AT_ONCE: Final = 500
"""Records that are unpacked in one go: a few milliseconds of work."""

_READ_MS: Final = 500
"""How long a broker waits for records before it answers that there are none."""

_TIMES_LONGER: Final = 2
"""So much longer a request may take at least."""


@asynccontextmanager
async def log_consumer(
    alias: str,
    properties: Mapping[str, str],
    *,
    wait_ms: int = _READ_MS,
    look_ms: int = POLL_MS,
) -> AsyncIterator[AIOKafkaConsumer]:
    """
    A connected consumer for as long as the context lasts.

    Args:
        wait_ms: for how long brokers wait for records, at most half of ``request.timeout.ms``.
        look_ms: for how long it waits itself before it looks what has come.

    Raises:
        Unavailable: nobody answers.
        ClusterError: the cluster refuses.
    """
    settings = await asyncio.to_thread(aiokafka_settings, properties)
    answer_ms = milliseconds(properties, "request.timeout.ms", wait_ms * _TIMES_LONGER)
    consumer = AIOKafkaConsumer(
        **settings,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
        fetch_max_wait_ms=min(wait_ms, answer_ms // _TIMES_LONGER),
        consumer_timeout_ms=look_ms,  # looks at what it fetches also when no answer has come
    )
    try:
        with translated(alias, "connect a consumer"):
            async with asyncio.timeout(TIMEOUT_S):
                await connected(consumer)
        yield consumer
    finally:
        await cancellable(consumer.stop())


async def assign(
    consumer: AIOKafkaConsumer,
    alias: str,
    topic: str,
    partitions: Iterable[int] | None,
    positions: Mapping[int, int],
) -> None:
    """
    Gives a consumer a topic's partitions, from ``positions`` on or from their beginning.

    Raises:
        UnknownTopic: the topic is not there.
    """
    numbers = await _partitions(consumer, alias, topic)
    wanted = sorted(numbers if partitions is None else partitions)
    consumer.assign([ClientPartition(topic, number) for number in wanted])
    for number in wanted:
        if number in positions:
            consumer.seek(ClientPartition(topic, number), positions[number])


async def _partitions(consumer: AIOKafkaConsumer, alias: str, topic: str) -> set[int]:
    """Asks for this topic alone; ``topics()`` would ask for all of them."""
    # aiokafka loads a topic's metadata once a partition is assigned; every topic has this one.
    first = ClientPartition(topic, 0)
    consumer.assign([first])
    # Only its metadata are wanted: a fetch would hold up what comes next for 500 ms if it is empty.
    consumer.pause(first)
    message = f"the topic {topic} does not exist, or we may not read it"
    try:
        async with asyncio.timeout(_TOPIC_WITHIN_S):
            await consumer.seek_to_beginning(first)
    except TimeoutError as error:
        raise UnknownTopic(alias, message) from error
    # Seeking gives up without a word after request.timeout.ms; "not there" must not pass as empty.
    if not (numbers := consumer.partitions_for_topic(topic)):
        raise UnknownTopic(alias, message)
    return set(numbers)


async def end_offsets(consumer: AIOKafkaConsumer) -> dict[ClientPartition, int]:
    """Where the partitions of a consumer end."""
    ends: dict[ClientPartition, int] = await consumer.end_offsets(list(consumer.assignment()))
    return ends


async def reached(consumer: AIOKafkaConsumer, ends: Mapping[ClientPartition, int]) -> bool:
    """Whether a consumer has passed some ends."""
    return all([await consumer.position(each) >= end for each, end in ends.items()])


async def positions(consumer: AIOKafkaConsumer) -> dict[int, int]:
    """Which offset a consumer reads next, by the numbers of partitions of its topic."""
    return {each.partition: await consumer.position(each) for each in consumer.assignment()}


async def poll(consumer: AIOKafkaConsumer, wait_ms: int = POLL_MS) -> list[Record]:
    """What has come, ``AT_ONCE`` records at most; waits for something to come."""
    # What has come is unpacked without a pause, and others are waiting: a task copies meanwhile.
    await asyncio.sleep(0)
    with too_large_passed_over():
        polled = await consumer.getmany(timeout_ms=wait_ms, max_records=AT_ONCE)
    return [record_of(each) for records in polled.values() for each in records]


def record_of(record: ConsumerRecord[bytes, bytes]) -> Record:
    """What aiokafka has read, as our own value."""
    return Record(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        timestamp_ms=record.timestamp,
        key=record.key,
        value=record.value,
        headers=tuple(record.headers),
    )
