"""
The record ``heartbeat`` of the progress topic: what heartbeats say of a flow, as a metric.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from mm2.core.json_text import read_json
from mm2.core.model import NO_OFFSET
from mm2.errors import SchemaError

KEY: Final = b"heartbeat"
VERSION: Final = 1


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
        last_ms: time of the heartbeat that it has just written.
        ways: heartbeats that come in through the flow.
    """

    time_ms: int
    last_ms: int
    ways: tuple[WayProgress, ...]


def encode_heartbeats(progress: HeartbeatProgress) -> tuple[bytes, bytes]:
    """Key and value of a record."""
    fields = {"version": VERSION, **asdict(progress)}
    return KEY, json.dumps(fields, separators=(",", ":")).encode()


def decode_heartbeats(value: bytes | None) -> HeartbeatProgress:
    """
    The report in a record; fields that a newer release added are passed over.

    Raises:
        SchemaError: the record is damaged.
    """
    try:
        fields: Any = read_json(value or b"null")
        return HeartbeatProgress(
            time_ms=int(fields["time_ms"]),
            last_ms=int(fields["last_ms"]),
            ways=tuple(_way(item) for item in fields["ways"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise SchemaError(f"progress record of heartbeats cannot be read: {error!r}") from error


def _way(item: dict[str, object]) -> WayProgress:
    known = {name: item[name] for name in WayProgress.__slots__ if name in item}
    return WayProgress(**{**known, "way": tuple(known["way"])})  # type: ignore[arg-type]  # JSON
