"""The record ``heartbeat`` of the progress topic: heartbeats of a flow, for metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mm2.core.model import NO_OFFSET
from mm2.protocol.codec import decode, encode

KEY: Final = b"heartbeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class WayProgress:
    """
    The heartbeats of one topic that the flow copies.

    Attributes:
        topic: on the target.
        way: aliases of the clusters that its records were on; the last is the target.
        hops: how often they were copied.
        last_ms: time of the newest, in milliseconds; -1 for none.
        age_ms: how old that is; -1 for none.
    """

    topic: str
    way: tuple[str, ...]
    hops: int
    last_ms: int = NO_OFFSET
    age_ms: int = NO_OFFSET


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatProgress:
    """
    What a flow's herder reports after some of its heartbeats.

    Attributes:
        time_ms: when, by its clock.
        ways: heartbeats that come in through the flow.
    """

    time_ms: int
    last_ms: int
    ways: tuple[WayProgress, ...]


def encode_heartbeats(progress: HeartbeatProgress) -> tuple[bytes, bytes]:
    """Key and value of a record."""
    return KEY, encode(progress)


def decode_heartbeats(value: bytes | None) -> HeartbeatProgress:
    """
    The report in a record.

    Raises:
        SchemaError: the record is damaged.
    """
    return decode(HeartbeatProgress, value, "progress record of heartbeats")
