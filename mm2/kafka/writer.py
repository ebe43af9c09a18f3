"""
Writes to small topics: control, progress, positions, offset syncs, heartbeats, checkpoints.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, Self

from aiokafka import AIOKafkaProducer

from mm2.kafka.errors import translated
from mm2.kafka.settings import aiokafka_settings, milliseconds

_TIMEOUT_MS: Final = 30_000
_MAX_REQUEST_BYTES: Final = 1_048_576


class Writer:
    """
    An idempotent producer that waits for all replicas; used as an asynchronous context.

    Records sent one after the other to a partition stay in that order, also when sent without
    waiting for the former's answer.

    Args:
        alias: the cluster's, for messages.
        properties: Java's client properties; ``acks`` and the like are fixed here.
    """

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self.alias = alias
        self._properties = dict(properties)
        self._timeout_s = milliseconds(properties, "request.timeout.ms", _TIMEOUT_MS) / 1000
        self._producer: AIOKafkaProducer | None = None

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
        producer = AIOKafkaProducer(
            **settings, acks="all", enable_idempotence=True, max_request_size=size
        )
        try:
            with translated(self.alias, "connect a producer"):
                async with asyncio.timeout(self._timeout_s):
                    await producer.start()
        except BaseException:
            await producer.stop()
            raise
        self._producer = producer

    async def close(self) -> None:
        """Waits for what is under way, within the request timeout, and closes."""
        producer, self._producer = self._producer, None
        if producer is None:
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                await producer.flush()
        except TimeoutError:
            pass
        finally:
            await producer.stop()

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> int:
        """
        Writes one record, and returns its offset once all in-sync replicas have it.

        Without a partition, Java's partitioner chooses by the key (murmur2).

        Raises:
            Unavailable: no answer within ``request.timeout.ms``; the record may still be written.
            ClusterError: the cluster refuses it.
        """
        if self._producer is None:
            raise RuntimeError("the writer is not open")
        with translated(self.alias, f"write to {topic}"):
            async with asyncio.timeout(self._timeout_s):
                metadata = await self._producer.send_and_wait(
                    topic,
                    value,
                    key=key,
                    partition=partition,
                    timestamp_ms=timestamp_ms,
                    headers=headers,
                )
        return int(metadata.offset)
