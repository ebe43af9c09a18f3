"""What the user says about the consumer and the producer of mirrored records, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mm2.config.clients import client_properties, data_producer_properties
from mm2.config.keys.definition import Key, Value, parse_all
from mm2.config.keys.keys_clients import ClientKind
from mm2.config.keys.keys_record_clients import (
    BATCH_SIZE,
    BUFFER_MEMORY,
    CONSUMER_KEYS,
    MAX_FETCH,
    MAX_PARTITION_FETCH,
    MAX_REQUEST,
    PRODUCER_KEYS,
)
from mm2.errors import ConfigError

_LEAST_MEMORY: Final = 1 << 20
_KEYS: Final[Mapping[ClientKind, Mapping[str, Key]]] = {
    "consumer": {key.name: key for key in CONSUMER_KEYS},
    "producer": {key.name: key for key in PRODUCER_KEYS},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings:
    """
    How mirrored records are read and written.

    Attributes:
        fetch_max_bytes: of one fetch answer.
        fetch_partition_bytes: of one partition in it.
        fetch_min_bytes: a broker answers when it has so much.
        fetch_wait_ms: or after this time.
        read_committed: leave out what was aborted.
        reset: where a partition without a position begins.
        codec: Kafka's word for the codec that is asked for; None keeps what is there.
        level: of that codec; None is its default.
        batch_size: bytes of batches that are made into one.
        buffer_memory: bytes that may wait between fetch and acknowledgement.
        max_request_size: bytes of batches in one request.
    """

    fetch_max_bytes: int = MAX_FETCH
    fetch_partition_bytes: int = MAX_PARTITION_FETCH
    fetch_min_bytes: int = 1
    fetch_wait_ms: int = 500
    read_committed: bool = False
    reset: str = "earliest"
    codec: str | None = None
    level: int | None = None
    batch_size: int = BATCH_SIZE
    buffer_memory: int = BUFFER_MEMORY
    max_request_size: int = MAX_REQUEST


def read_data(
    worker: Mapping[str, str], connector: Mapping[str, str]
) -> tuple[DataSettings | None, list[ConfigError]]:
    """
    The settings from the resolved worker and source connector; and all mistakes.

    A mistake names the key without what the user wrote before it.
    """
    said = _said(worker, connector)
    consumer, about_consumer = parse_all(_KEYS["consumer"], said["consumer"])
    producer, about_producer = parse_all(_KEYS["producer"], said["producer"])
    if mistakes := [*about_consumer, *about_producer]:
        return None, mistakes
    codec = None if producer["compression.type"] is None else str(producer["compression.type"])
    return DataSettings(
        fetch_max_bytes=_number(consumer["fetch.max.bytes"]),
        fetch_partition_bytes=_number(consumer["max.partition.fetch.bytes"]),
        fetch_min_bytes=_number(consumer["fetch.min.bytes"]),
        fetch_wait_ms=_number(consumer["fetch.max.wait.ms"]),
        read_committed=consumer["isolation.level"] == "read_committed",
        reset=str(consumer["auto.offset.reset"]),
        codec=codec,
        level=_level(codec, producer),
        batch_size=_number(producer["batch.size"]),
        buffer_memory=max(_LEAST_MEMORY, _number(producer["buffer.memory"])),
        max_request_size=_number(producer["max.request.size"]),
    ), []


def _said(
    worker: Mapping[str, str], connector: Mapping[str, str]
) -> Mapping[ClientKind, Mapping[str, str]]:
    consumer = client_properties(connector, "source", "consumer", None)
    consumer.pop("enable.auto.commit")  # Java's, not the user's
    producer = data_producer_properties(worker, connector, 0).explicit
    return {"consumer": consumer, "producer": producer}


def _level(codec: str | None, producer: Mapping[str, Value]) -> int | None:
    level = producer.get(f"compression.{codec}.level")
    return None if level is None or level == -1 else _number(level)


def _number(value: Value) -> int:
    assert isinstance(value, int)  # noqa: S101 - only for keys of whole numbers
    return value
