"""Writes to small topics: control, progress, positions, offset syncs, heartbeats, checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple, Self

from aiokafka.errors import MessageSizeTooLargeError
from aiokafka.producer.message_accumulator import BatchBuilder

from mm2.kafka.abandonable_producer import AbandonableProducer
from mm2.kafka.cancelling import cancellable
from mm2.kafka.client_errors import translated
from mm2.kafka.client_settings import aiokafka_settings, milliseconds
from mm2.kafka.connecting import connected
from mm2.stop_deadlines import WRITER_FLUSH_S

_TIMEOUT_MS: Final = 30_000
_MAX_REQUEST_BYTES: Final = 16 << 20
"""Before compression; what brokers take is theirs to say."""

_BATCH_BYTES: Final = 16 << 10


class Stamped(NamedTuple):
    """
    A record to be written.

    Attributes:
        value: its value; None for a tombstone.
        timestamp_ms: its time; None for now.
    """

    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()

    def fits(self, batch: BatchBuilder) -> bool:
        """Adds it to a batch, if there is room."""
        added = batch.append(
            timestamp=self.timestamp_ms,
            key=self.key,
            value=self.value,
            headers=list(self.headers),
        )
        return added is not None


class Writer:
    """
    A producer that waits for all replicas; used as an asynchronous context.

    Records sent one after the other to a partition stay in that order, also when sent without
    waiting for the former's answer. A record whose answer was lost may be written twice.

    Writing raises ``Unavailable`` if there is no answer within ``request.timeout.ms``, when records
    may still be written, and ``ClusterError`` if the cluster refuses them.

    Args:
        properties: Java's client properties; ``acks`` and the like are fixed here.
        compression: a codec for records that may be large; none, if not given.
        batch_bytes: of one batch; a partition has one under way at a time, so that this and the way
            to the cluster and back say how much can be written.
        turn: waited for before each record, as part of the time that writing may take.
    """

    def __init__(
        self,
        alias: str,
        properties: Mapping[str, str],
        *,
        compression: str | None = None,
        batch_bytes: int = _BATCH_BYTES,
        turn: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.alias = alias
        self._turn = turn
        self._turns = asyncio.Lock()
        self._batch_bytes = batch_bytes
        self._compression = compression
        self._properties = dict(properties)
        self._timeout_s = milliseconds(properties, "request.timeout.ms", _TIMEOUT_MS) / 1000
        self._producer: AbandonableProducer | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """
        Connects.

        Raises:
            ConfigError: unusable properties.
            ClusterError: the cluster is not there, or refuses us.
        """
        settings = await asyncio.to_thread(aiokafka_settings, self._properties)
        size = milliseconds(self._properties, "max.request.size", _MAX_REQUEST_BYTES)
        # Not idempotent: aiokafka's idempotent producer is of no use any more once a batch was
        # refused, and its batches never expire. It keeps order without, one batch at a time.
        producer = AbandonableProducer(
            **settings,
            acks="all",
            compression_type=self._compression,
            max_request_size=size,
            max_batch_size=min(self._batch_bytes, size),
        )
        try:
            with translated(self.alias, "connect a producer"):
                async with asyncio.timeout(self._timeout_s):
                    await connected(producer)
        except BaseException:
            await cancellable(producer.stop())
            raise
        self._producer = producer

    async def close(self) -> None:
        """
        Waits for what is under way, for at most two seconds, and closes.

        What is not written by then is given up: whoever still waits for it gets an ``Unavailable``.
        """
        producer, self._producer = self._producer, None
        if producer is None:
            return
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(WRITER_FLUSH_S):
                    await producer.flush()
        finally:
            producer.abandon()
            await producer.close()

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> int:
        """
        Writes one record, and returns its offset once all in-sync replicas have it.

        Without a partition, Java's partitioner chooses by the key (murmur2).
        """
        async with self._writing(topic) as (producer, wait):
            answer = await producer.send(
                topic,
                value,
                key=key,
                partition=partition,
                timestamp_ms=timestamp_ms,
                headers=list(headers),
            )
            producer.sent(wait)
            return int((await answer).offset)

    async def send_all(
        self, topic: str, records: Iterable[tuple[bytes, bytes | None]], *, partition: int
    ) -> None:
        """Writes keys and values in order, in few batches; ends when all replicas have them."""
        await self.send_stamped(
            topic, (Stamped(key, value) for key, value in records), partition=partition
        )

    async def send_stamped(self, topic: str, records: Iterable[Stamped], *, partition: int) -> None:
        """
        As ``send_all``, of records with times and headers of their own.

        Raises:
            ClusterError: the cluster refuses them, or one is larger than a batch.
        """
        async with self._writing(topic) as (producer, wait):
            answers = []
            batch = producer.create_batch()
            for record in records:
                if not record.fits(batch):
                    answers.append(await producer.send_batch(batch, topic, partition=partition))
                    batch = producer.create_batch()
                    if not record.fits(batch):
                        raise MessageSizeTooLargeError
            answers.append(await producer.send_batch(batch, topic, partition=partition))
            producer.sent(wait)
            await asyncio.gather(*answers)

    async def send_together(self, topic: str, records: Iterable[Stamped], *, partition: int) -> int:
        """
        Writes records as one batch, so that nobody's come between; returns the first one's offset.

        Raises:
            ClusterError: the cluster refuses them, or they do not fit into a batch.
        """
        async with self._writing(topic) as (producer, wait):
            batch = producer.create_batch()
            if not all(record.fits(batch) for record in records):
                raise MessageSizeTooLargeError
            answer = await producer.send_batch(batch, topic, partition=partition)
            producer.sent(wait)
            return int((await answer).offset)

    @asynccontextmanager
    async def _writing(
        self, topic: str
    ) -> AsyncIterator[tuple[AbandonableProducer, asyncio.Timeout]]:
        """The producer, once it is the turn of who enters, for as long as it may take to write."""
        if self._producer is None:
            raise RuntimeError("the writer is not open")
        producer = self._producer
        with translated(self.alias, f"write to {topic}"):
            try:
                async with asyncio.timeout(self._timeout_s) as wait:
                    producer.begin(wait)
                    try:
                        await self._wait_for_turn()
                        yield producer, wait
                    finally:
                        producer.end(wait)
            except TimeoutError:
                producer.check()
                raise

    async def _wait_for_turn(self) -> None:
        """In the order of the calls."""
        if self._turn is not None:
            async with self._turns:
                await self._turn()
