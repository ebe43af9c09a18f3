"""Reads small topics as logs: from the beginning to their end, and on from there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import structlog
from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition as ClientPartition

from mm2.errors import Unavailable
from mm2.kafka.settings import aiokafka_settings

log = structlog.get_logger()

_RETRY_S: Final = 0.5
_TOPIC_WITHIN_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class LogRecord:
    """
    One record of a log.

    Attributes:
        partition: where in the topic.
        offset: in the partition.
        timestamp_ms: create or append time.
        key: None if it has none.
        value: None for a tombstone.
    """

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


async def read_to_end(alias: str, properties: Mapping[str, str], topic: str) -> list[LogRecord]:
    """
    All records of a topic up to the ends that its partitions have now, in order per partition.

    Raises:
        Unavailable: the cluster does not answer, or has no such topic.
    """
    async with _consumer(alias, properties, topic) as consumer:
        assigned = list(consumer.assignment())
        ends = await consumer.end_offsets(assigned)
        await consumer.seek_to_beginning(*assigned)
        records: list[LogRecord] = []
        behind = set(assigned)
        while behind := {p for p in behind if await consumer.position(p) < ends[p]}:
            batches = await consumer.getmany(*behind, timeout_ms=1_000)
            records += (_record(r) for batch in batches.values() for r in batch)
        return records


class LogTail:
    """
    Follows a topic from its beginning; iterate over it.

    Records come in order per partition. A cluster that does not answer is asked again, and reading
    goes on after the last record, so that none is missed and none comes twice.

    Args:
        alias: the cluster's name in the configuration, for messages.
        properties: Java client keys of a consumer.
        topic: what to follow.

    Attributes:
        caught_up: set when everything that was there at the start has been handed out and the
            next record is being waited for.
    """

    def __init__(self, alias: str, properties: Mapping[str, str], topic: str) -> None:
        self._alias = alias
        self._properties = properties
        self._topic = topic
        self._next: dict[int, int] = {}
        self.caught_up = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[LogRecord]:
        """Iterates for ever."""
        while True:
            try:
                async with _consumer(self._alias, self._properties, self._topic) as consumer:
                    await self._seek(consumer)
                    async for record in self._follow(consumer):
                        self._next[record.partition] = record.offset + 1
                        yield record
            except (Unavailable, KafkaError, OSError) as error:
                log.warning("log.unavailable", topic=self._topic, error=str(error))
                await asyncio.sleep(_RETRY_S)

    async def _seek(self, consumer: AIOKafkaConsumer) -> None:
        assigned = consumer.assignment()
        await consumer.seek_to_beginning(*assigned)
        for partition in assigned:
            if partition.partition in self._next:
                consumer.seek(partition, self._next[partition.partition])

    async def _follow(self, consumer: AIOKafkaConsumer) -> AsyncIterator[LogRecord]:
        ends = await consumer.end_offsets(list(consumer.assignment()))
        while True:
            if not self.caught_up.is_set():
                positions = [(p, await consumer.position(p)) for p in ends]
                if all(position >= ends[p] for p, position in positions):
                    self.caught_up.set()
            batches = await consumer.getmany(timeout_ms=500)
            for batch in batches.values():
                for record in batch:
                    yield _record(record)


@asynccontextmanager
async def _consumer(
    alias: str, properties: Mapping[str, str], topic: str
) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        **aiokafka_settings(properties), enable_auto_commit=False, auto_offset_reset="earliest"
    )
    try:
        await consumer.start()
        numbers = await _partitions(alias, consumer, topic)
        consumer.assign([ClientPartition(topic, number) for number in numbers])
        yield consumer
    except (KafkaError, OSError) as error:
        raise Unavailable(alias, f"{topic}: {error}") from error
    finally:
        await consumer.stop()


async def _partitions(alias: str, consumer: AIOKafkaConsumer, topic: str) -> set[int]:
    """The topic's partitions; waits a while for a topic that was created just now."""
    try:
        async with asyncio.timeout(_TOPIC_WITHIN_S):
            while True:
                # The client looks up a topic that it did not know when it is asked for it.
                await consumer._client._wait_on_metadata(topic)  # noqa: SLF001
                if numbers := consumer.partitions_for_topic(topic):
                    return set(numbers)
                await asyncio.sleep(_RETRY_S)
    except TimeoutError:
        raise Unavailable(alias, f"there is no topic {topic}") from None


def _record(record: object) -> LogRecord:
    return LogRecord(
        partition=record.partition,  # type: ignore[attr-defined]  # aiokafka publishes no types
        offset=record.offset,  # type: ignore[attr-defined]
        timestamp_ms=record.timestamp,  # type: ignore[attr-defined]
        key=record.key,  # type: ignore[attr-defined]
        value=record.value,  # type: ignore[attr-defined]
    )
