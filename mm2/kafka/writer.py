"""Writes to small topics: control, progress, positions, offset syncs, heartbeats, checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaTimeoutError, MessageSizeTooLargeError
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.protocol.produce import ProduceRequest

from mm2.kafka.cancelling import cancellable
from mm2.kafka.client_errors import translated
from mm2.kafka.client_settings import aiokafka_settings, milliseconds
from mm2.kafka.connecting import connected
from mm2.stop_deadlines import WRITER_CLOSE_S, WRITER_FLUSH_S

_TIMEOUT_MS: Final = 30_000
_MAX_REQUEST_BYTES: Final = 16 << 20
"""Before compression; what brokers take is theirs to say."""

_BATCH_BYTES: Final = 16 << 10


class _Producer(AIOKafkaProducer):
    """
    aiokafka's producer, which can also stop while the cluster is away.

    Its own ``stop`` waits for everything that is under way.
    """

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self._requests: set[asyncio.Task[Any]] = set()
        self._send = self.client.send
        self.client.send = self._tracked

    async def abandon(self) -> None:
        """Ends what is not done; nothing is left that ``stop`` would have to wait for."""
        unfinished = {task for task in (self._sender.sender_task, *self._requests) if task}
        for task in unfinished:
            task.cancel()
        if unfinished:
            await asyncio.wait(unfinished, timeout=WRITER_CLOSE_S)
        # A batch to be sent again is not among the pending ones, and takes itself from there.
        queued = self._message_accumulator._batches.values()  # noqa: SLF001 - no other way in
        waiting = [batch for batches in queued for batch in batches]
        self._message_accumulator._pending_batches.update(waiting)  # noqa: SLF001
        self._message_accumulator.fail_all(KafkaTimeoutError("the producer was closed"))
        for batch in waiting:  # Else asyncio logs that nobody has looked at their errors.
            with suppress(KafkaTimeoutError):
                await batch.wait_drain(0)

    async def _tracked(self, node: int, request: object, **options: object) -> Any:
        """Sends a request; aiokafka has a task for each one that carries batches."""
        task = asyncio.current_task()
        if isinstance(request, ProduceRequest) and task is not None:
            self._requests.add(task)
            task.add_done_callback(self._requests.discard)
        return await self._send(node, request, **options)


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
        self._producer: _Producer | None = None

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
        producer = _Producer(
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
            await producer.abandon()
            with suppress(TimeoutError):
                async with asyncio.timeout(WRITER_CLOSE_S):
                    await cancellable(producer.stop())

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
        if self._producer is None:
            raise RuntimeError("the writer is not open")
        with translated(self.alias, f"write to {topic}"):
            async with asyncio.timeout(self._timeout_s):
                await self._wait_for_turn()
                metadata = await self._producer.send_and_wait(
                    topic,
                    value,
                    key=key,
                    partition=partition,
                    timestamp_ms=timestamp_ms,
                    headers=list(headers),
                )
        return int(metadata.offset)

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
        if self._producer is None:
            raise RuntimeError("the writer is not open")
        with translated(self.alias, f"write to {topic}"):
            async with asyncio.timeout(self._timeout_s):
                await self._wait_for_turn()
                answers = []
                batch = self._producer.create_batch()
                for record in records:
                    if not record.fits(batch):
                        answers.append(
                            await self._producer.send_batch(batch, topic, partition=partition)
                        )
                        batch = self._producer.create_batch()
                        if not record.fits(batch):
                            raise MessageSizeTooLargeError
                answers.append(await self._producer.send_batch(batch, topic, partition=partition))
                await asyncio.gather(*answers)

    async def send_together(self, topic: str, records: Iterable[Stamped], *, partition: int) -> int:
        """
        Writes records as one batch, so that nobody's come between; returns the first one's offset.

        Raises:
            ClusterError: the cluster refuses them, or they do not fit into a batch.
        """
        if self._producer is None:
            raise RuntimeError("the writer is not open")
        with translated(self.alias, f"write to {topic}"):
            async with asyncio.timeout(self._timeout_s):
                await self._wait_for_turn()
                batch = self._producer.create_batch()
                if not all(record.fits(batch) for record in records):
                    raise MessageSizeTooLargeError
                answer = await self._producer.send_batch(batch, topic, partition=partition)
                return int((await answer).offset)

    async def _wait_for_turn(self) -> None:
        """In the order of the calls."""
        if self._turn is not None:
            async with self._turns:
                await self._turn()
