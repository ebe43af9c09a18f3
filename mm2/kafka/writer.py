"""A producer for the small topics: syncs, checkpoints, heartbeats, control, progress."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from mm2.errors import Unavailable
from mm2.kafka.settings import aiokafka_settings


class Writer:
    """
    Writes records one by one, acknowledged by all replicas, each appended once.

    An async context manager. Records of one partition are appended in the order of the calls.

    Args:
        alias: the cluster's name in the configuration, for messages.
        properties: Java client keys of a producer.
    """

    def __init__(self, alias: str, properties: Mapping[str, str]) -> None:
        self._alias = alias
        self._properties = properties
        self._producer: AIOKafkaProducer | None = None

    async def __aenter__(self) -> Self:
        """
        Connects.

        Raises:
            Unavailable: the cluster does not answer.
        """
        self._producer = AIOKafkaProducer(
            **aiokafka_settings(self._properties), acks="all", enable_idempotence=True
        )
        try:
            await self._producer.start()
        except (KafkaError, OSError) as error:
            await self._producer.stop()
            raise Unavailable(self._alias, str(error)) from error
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Waits for what is under way, and disconnects."""
        if self._producer is not None:
            await self._producer.stop()

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> int:
        """
        Appends one record and returns its offset.

        Args:
            topic: where.
            key: its key; also chooses the partition if none is given.
            value: its value; None is a tombstone.
            partition: where in the topic.
            timestamp_ms: of the record; now, if not given.

        Raises:
            Unavailable: it may or may not have been appended.
        """
        assert self._producer is not None, "enter the writer first"  # noqa: S101
        try:
            metadata = await self._producer.send_and_wait(
                topic, value, key, partition=partition, timestamp_ms=timestamp_ms
            )
        except (KafkaError, OSError) as error:
            raise Unavailable(self._alias, f"{topic}: {error}") from error
        return int(metadata.offset)
