"""
Reads small compacted topics: to their end, or to their end and on.

Used for positions, offset syncs, checkpoints, control and progress. No group is used: whoever reads
here wants all of a topic, from all its partitions, in each partition's order.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import structlog
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import ConsumerRecord
from aiokafka.structs import TopicPartition as ClientPartition

from mm2.errors import ClusterError, Unavailable
from mm2.kafka.cancelling import cancellable
from mm2.kafka.connecting import connected
from mm2.kafka.errors import UnknownTopic, translated
from mm2.kafka.login import raise_if_refused
from mm2.kafka.records import Record
from mm2.kafka.settings import aiokafka_settings, milliseconds

__all__ = ["LogTail", "Record", "read_to_end", "records_to_end"]

log = structlog.get_logger()

TIMEOUT_S: Final = 60.0
_TOPIC_WITHIN_S: Final = 30.0
"""How long a topic that was created just now may take to be known to the broker we ask."""

_POLL_MS: Final = 200
_AT_ONCE: Final = 500
"""Records that are unpacked in one go: a few milliseconds of work."""

_READ_MS: Final = 500
"""How long a broker waits for records before it answers that there are none."""

_FOLLOW_MS: Final = 5_000
"""Both, when only new records are awaited: they are sent at once, and nothing costs less."""

_TIMES_LONGER: Final = 2
"""So much longer a request may take at least."""

_BACKOFF_LEAST_S: Final = 0.1
_BACKOFF_MOST_S: Final = 10.0


async def read_to_end(
    alias: str,
    properties: Mapping[str, str],
    topic: str,
    *,
    partitions: Iterable[int] | None = None,
    newest_only: bool = False,
    timeout: float = TIMEOUT_S,  # noqa: ASYNC109  # becomes an error that names the cluster
) -> list[Record]:
    """
    Reads a topic up to where it ended when asked, each partition's records in their order.

    Only what is committed is read. Transactions still open when asked are not waited for.

    Args:
        alias: the cluster's, for messages.
        properties: Java's client properties.
        topic: which topic.
        partitions: only these; None reads all.
        newest_only: of each key only the last record, which bounds the memory for topics whose
            old records have not been compacted away yet.
        timeout: seconds without any record coming in.

    Raises:
        UnknownTopic: the topic is not there.
        Unavailable: not done in time.
        ClusterError: the cluster refuses.
    """
    found: dict[tuple[int, bytes | int | None], Record] = {}
    records = records_to_end(alias, properties, topic, partitions=partitions, timeout=timeout)
    async for record in records:
        place = (record.partition, record.key if newest_only else record.offset)
        found.pop(place, None)
        found[place] = record
    return list(found.values())


async def records_to_end(
    alias: str,
    properties: Mapping[str, str],
    topic: str,
    *,
    partitions: Iterable[int] | None = None,
    starts: Mapping[int, int] | None = None,
    timeout: float = TIMEOUT_S,  # noqa: ASYNC109  # becomes an error that names the cluster
    at_most_s: float = math.inf,
) -> AsyncIterator[Record]:
    """
    Yields what ``read_to_end`` returns, as it comes.

    Args:
        alias: the cluster's, for messages.
        properties: Java's client properties.
        topic: which topic.
        partitions: only these; None reads all.
        starts: offsets to begin with; partitions that are not in it are read from their beginning.
        timeout: seconds without any record coming in.
        at_most_s: seconds after which nothing more is read, without an error.

    Raises:
        UnknownTopic: the topic is not there.
        Unavailable: the timeout has passed.
        ClusterError: the cluster refuses.
    """
    what, clock = f"read {topic} to its end", asyncio.get_running_loop().time
    patience, stop = clock() + timeout, clock() + at_most_s
    async with AsyncExitStack() as stack:
        with translated(alias, what):
            async with asyncio.timeout_at(min(patience, stop)):
                consumer = await stack.enter_async_context(_consumer(alias, properties))
                await _assign(consumer, alias, topic, partitions, starts or {})
                ends = await _ends(consumer)
        # The last poll may bring records written after we asked.
        limits = {each.partition: end for each, end in ends.items()}
        while clock() < stop:
            with translated(alias, what):
                async with asyncio.timeout_at(patience):
                    if await _reached(consumer, ends):
                        return
                records = await _poll(consumer)
                patience = clock() + timeout if records else patience
                if clock() > patience:
                    raise TimeoutError
            for record in records:
                if record.offset < limits[record.partition]:
                    yield record


class LogTail:
    """
    Reads a topic from its beginning, and then each new record as it comes; never ends by itself.

    Iterate once, with ``async for``. A cluster that is away is waited for, with back-off, and
    reading goes on where it stopped; a topic that was created anew is read from its beginning.
    What cannot get better by itself is raised: a ``ClusterError`` that is not retriable.

    Args:
        alias: the cluster's, for messages.
        properties: Java's client properties.
        topic: which topic; it must exist.
        partitions: only these; None reads all that there are at the start.
        from_end: leaves out what is there already.
        starts: offsets to begin with; partitions that are not in it are read from their beginning.

    Attributes:
        caught_up: set once everything that was there at the start has been handed out.
    """

    def __init__(
        self,
        alias: str,
        properties: Mapping[str, str],
        topic: str,
        *,
        partitions: Iterable[int] | None = None,
        from_end: bool = False,
        starts: Mapping[int, int] | None = None,
    ) -> None:
        self._alias = alias
        self._properties = dict(properties)
        self._topic = topic
        self._partitions = None if partitions is None else list(partitions)
        self._from_end = from_end
        self._next = dict(starts or {})
        self._ends: dict[int, int] | None = None
        self.caught_up = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[Record]:
        backoff_s = _BACKOFF_LEAST_S
        while True:
            try:
                async for record in self._read():
                    backoff_s = _BACKOFF_LEAST_S
                    yield record
            except ClusterError as error:
                if not error.retriable:
                    raise
                log.warning("kafka.log_interrupted", topic=self._topic, error=str(error))
            await asyncio.sleep(backoff_s)
            backoff_s = min(2 * backoff_s, _BACKOFF_MOST_S)

    async def _read(self) -> AsyncIterator[Record]:
        """Reads until something goes wrong."""
        what = f"follow {self._topic}"
        async with _consumer(
            self._alias, self._properties, wait_ms=_FOLLOW_MS, look_ms=_FOLLOW_MS
        ) as consumer:
            with translated(self._alias, what):
                async with asyncio.timeout(TIMEOUT_S):
                    await self._begin(consumer)
            while True:
                await self._look_for_end(consumer)
                wait_ms = _FOLLOW_MS if self.caught_up.is_set() else _POLL_MS
                with translated(self._alias, what):
                    records = await _poll(consumer, wait_ms)
                for record in records:
                    yield record
                    self._next[record.partition] = record.offset + 1

    async def _begin(self, consumer: AIOKafkaConsumer) -> None:
        await _assign(consumer, self._alias, self._topic, self._partitions, self._next)
        if self._ends is not None:
            return
        # A broker answers in order, and would only after a fetch say where an empty log ends.
        assigned = consumer.assignment()
        consumer.pause(*assigned)
        ends = await _ends(consumer)
        self._ends = {each.partition: end for each, end in ends.items()}
        if self._from_end:
            for each, end in ends.items():
                consumer.seek(each, end)
                self._next[each.partition] = end
        consumer.resume(*assigned)

    async def _look_for_end(self, consumer: AIOKafkaConsumer) -> None:
        """Positions, unlike records, also pass what transactions leave behind."""
        if self.caught_up.is_set() or self._ends is None:
            return
        ends = {ClientPartition(self._topic, number): end for number, end in self._ends.items()}
        with translated(self._alias, f"follow {self._topic}"):
            if await _reached(consumer, ends):
                self.caught_up.set()


@asynccontextmanager
async def _consumer(
    alias: str,
    properties: Mapping[str, str],
    *,
    wait_ms: int = _READ_MS,
    look_ms: int = _POLL_MS,
) -> AsyncIterator[AIOKafkaConsumer]:
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
        try:
            with translated(alias, "connect a consumer"):
                async with asyncio.timeout(TIMEOUT_S):
                    await connected(consumer)
        except Unavailable:
            await raise_if_refused(alias, settings)
            raise
        yield consumer
    finally:
        await cancellable(consumer.stop())


async def _assign(
    consumer: AIOKafkaConsumer,
    alias: str,
    topic: str,
    partitions: Iterable[int] | None,
    positions: Mapping[int, int],
) -> None:
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


async def _ends(consumer: AIOKafkaConsumer) -> dict[ClientPartition, int]:
    ends: dict[ClientPartition, int] = await consumer.end_offsets(list(consumer.assignment()))
    return ends


async def _reached(consumer: AIOKafkaConsumer, ends: Mapping[ClientPartition, int]) -> bool:
    return all([await consumer.position(each) >= end for each, end in ends.items()])


async def _poll(consumer: AIOKafkaConsumer, wait_ms: int = _POLL_MS) -> list[Record]:
    # What has come is unpacked without a pause, and others are waiting: a task copies meanwhile.
    await asyncio.sleep(0)
    polled = await consumer.getmany(timeout_ms=wait_ms, max_records=_AT_ONCE)
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
