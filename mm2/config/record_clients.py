"""What the user says about the consumer and the producer of mirrored records, typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mm2.config.clients import client_properties, data_producer_properties
from mm2.config.keys.definition import field_values, parse_all
from mm2.config.keys.key_types import Value
from mm2.config.keys.keys_record_clients import CONSUMER_KEYS, PRODUCER_KEYS
from mm2.errors import ConfigError

_CONSUMER: Final = {key.name: key for key in CONSUMER_KEYS}
_PRODUCER: Final = {key.name: key for key in PRODUCER_KEYS}


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings:
    """
    How mirrored records are read and written; a ``codec`` of None keeps what is there.

    Attributes:
        level: of the codec; None is its default.
    """

    fetch_max_bytes: int
    fetch_partition_bytes: int
    fetch_min_bytes: int
    fetch_wait_ms: int
    read_committed: bool
    reset: str
    codec: str | None
    level: int | None
    batch_size: int
    buffer_memory: int
    max_request_size: int


def read_data(
    worker: Mapping[str, str], connector: Mapping[str, str]
) -> tuple[DataSettings, list[ConfigError]]:
    """
    The settings from the resolved worker and source connector, or the defaults; and all mistakes.

    A mistake names the key without what the user wrote before it.
    """
    reader = client_properties(connector, "source", "consumer", None)
    reader.pop("enable.auto.commit")  # Java's, not the user's
    writer = data_producer_properties(worker, connector, 0).explicit
    mistakes = parse_all(_CONSUMER, reader)[1] + parse_all(_PRODUCER, writer)[1]
    consumer, _ = parse_all(_CONSUMER, {} if mistakes else reader)
    producer, _ = parse_all(_PRODUCER, {} if mistakes else writer)
    filled = field_values(_CONSUMER, consumer) | field_values(_PRODUCER, producer)
    return DataSettings(**filled, level=compression_level(producer)), mistakes


def compression_level(producer: Mapping[str, Value]) -> int | None:
    """The level of the codec that the parsed producer keys name; None is its default."""
    level = producer.get(f"compression.{producer['compression.type']}.level")
    return level if isinstance(level, int) and level != -1 else None
