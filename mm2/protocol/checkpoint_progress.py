"""
What the checkpoint flow reports in the progress topic, ``mm2-progress.<source>.internal``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from mm2.core.json_text import read_json
from mm2.errors import SchemaError

CHECKPOINT_KEY: Final = b"checkpoint"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointLatency:
    """
    How long the checkpoints of a group and partition took from being chosen to being written.

    Java's metrics ``checkpoint-latency-ms``, ``-min``, ``-max`` and ``-avg`` (C340), each group and
    partition with numbers of its own (not so Java: C425, C487).

    Attributes:
        group: the consumer group.
        topic: downstream.
        partition: its number.
        last_ms: the newest.
        min_ms: of the last minute.
        max_ms: of the last minute.
        avg_ms: of the last minute.
    """

    group: str
    topic: str
    partition: int
    last_ms: int
    min_ms: int
    max_ms: int
    avg_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointProgress:
    """
    What the checkpoint flow reports.

    Attributes:
        time_ms: when.
        groups: how many groups are followed.
        other_types: share and streams groups of the source that the filter takes; nothing is done
            for them.
        active: groups that have members on the target, and so are left alone there.
        latencies: those that changed.
    """

    time_ms: int
    groups: int
    other_types: tuple[str, ...] = ()
    active: tuple[str, ...] = ()
    latencies: tuple[CheckpointLatency, ...] = ()


_FIELDS: Final = CheckpointProgress.__slots__
_LATENCY_FIELDS: Final = CheckpointLatency.__slots__


def encode_checkpoint_progress(progress: CheckpointProgress) -> tuple[bytes, bytes]:
    """Key and value of the record."""
    # Not asdict, which copies each value: there may be a hundred thousand latencies.
    fields = {"version": _VERSION, **{name: getattr(progress, name) for name in _FIELDS}}
    fields["latencies"] = [
        {name: getattr(each, name) for name in _LATENCY_FIELDS} for each in progress.latencies
    ]
    return CHECKPOINT_KEY, json.dumps(fields, separators=(",", ":")).encode()


def decode_checkpoint_progress(value: bytes | None) -> CheckpointProgress:
    """
    The report in a record; fields that a newer release added are passed over.

    Raises:
        SchemaError: the record is damaged.
    """
    try:
        fields: Any = read_json(value or b"null")
        return CheckpointProgress(
            time_ms=fields["time_ms"],
            groups=fields["groups"],
            other_types=tuple(fields.get("other_types", ())),
            active=tuple(fields.get("active", ())),
            latencies=tuple(_latency(each) for each in fields.get("latencies", ())),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise SchemaError(f"progress record cannot be read: {error!r}") from error


def _latency(fields: dict[str, Any]) -> CheckpointLatency:
    return CheckpointLatency(**{name: fields[name] for name in _LATENCY_FIELDS})
