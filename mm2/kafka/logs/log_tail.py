"""Reads small compacted topics to their end, and then on as they grow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Final

import structlog
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition as ClientPartition

from mm2.aligned_waits import aligned
from mm2.errors import ClusterError
from mm2.kafka.client_errors import translated
from mm2.kafka.logs.log_consumer import (
    AT_ONCE,
    POLL_MS,
    TIMEOUT_S,
    assign,
    end_offsets,
    log_consumer,
    poll,
    positions,
    reached,
)
from mm2.kafka.logs.records import Record

log = structlog.get_logger()

_FOLLOW_MS: Final = 5_000
"""
How long brokers wait for records, and we for them, when only new ones are awaited.

They are sent at once, and nothing costs less.
"""

_BACKOFF_LEAST_S: Final = 0.1
_BACKOFF_MOST_S: Final = 10.0


class LogTail:
    """
    Reads a topic from its beginning, and then each new record as it comes; never ends by itself.

    Iterate once, with ``async for``. A cluster that is away is waited for, with back-off, and
    reading goes on where it stopped; a topic that was created anew is read from its beginning.
    What cannot get better by itself is raised: a ``ClusterError`` that is not retriable.

    Args:
        topic: which topic; it must exist.
        partitions: only these; None reads all that there are at the start.
        starts: offsets to begin with; partitions that are not in it are read from their beginning.
        rest_s: seconds for which it rests after new records, so that more come together; each fetch
            costs the broker and us the same, however little it brings.

    Attributes:
        caught_up: set once everything that was there at the start has been handed out.
        passed: by partitions, the offset before which all that there is has been handed out.
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
        rest_s: float = 0.0,
    ) -> None:
        self._alias = alias
        self._properties = dict(properties)
        self._topic = topic
        self._partitions = None if partitions is None else list(partitions)
        self._from_end = from_end
        self._next = dict(starts or {})
        self._rest_s = rest_s
        self._ends: dict[int, int] | None = None
        self.caught_up = asyncio.Event()
        self.passed: dict[int, int] = {}

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
        what = f"follow {self._topic}"
        async with log_consumer(
            self._alias, self._properties, wait_ms=_FOLLOW_MS, look_ms=_FOLLOW_MS
        ) as consumer:
            with translated(self._alias, what):
                async with asyncio.timeout(TIMEOUT_S):
                    await self._begin(consumer)
            while True:
                await self._look_for_end(consumer)
                wait_ms = _FOLLOW_MS if self.caught_up.is_set() else POLL_MS
                with translated(self._alias, what):
                    records = await poll(consumer, wait_ms)
                for record in records:
                    yield record
                    self._next[record.partition] = record.offset + 1
                with translated(self._alias, what):
                    self.passed = await positions(consumer)
                if self.caught_up.is_set() and 0 < len(records) < AT_ONCE:
                    await asyncio.sleep(aligned(self._rest_s))

    async def _begin(self, consumer: AIOKafkaConsumer) -> None:
        await assign(consumer, self._alias, self._topic, self._partitions, self._next)
        if self._ends is not None:
            return
        # A broker answers in order, and would only after a fetch say where an empty log ends.
        assigned = consumer.assignment()
        consumer.pause(*assigned)
        ends = await end_offsets(consumer)
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
            if await reached(consumer, ends):
                self.caught_up.set()
