"""What the checkpoint flow reports in the progress topic, ``mm2-progress.<source>.internal``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mm2.protocol.codec import decode, encode

CHECKPOINT_KEY: Final = b"checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointLatency:
    """
    How long the checkpoints of a group and partition took from being chosen to being written.

    Java's metrics ``checkpoint-latency-ms``, ``-min``, ``-max`` and ``-avg`` (C340), each group and
    partition with numbers of its own (not so Java: C425, C487).

    Attributes:
        topic: downstream.
        min_ms, max_ms, avg_ms: of the last minute.
        exact: whether the last one has the offset of the very record that the group is at.
    """

    group: str
    topic: str
    partition: int
    last_ms: int
    min_ms: int
    max_ms: int
    avg_ms: float
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointProgress:
    """
    What the checkpoint flow reports.

    Attributes:
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


def encode_checkpoint_progress(progress: CheckpointProgress) -> tuple[bytes, bytes]:
    """Key and value of the record."""
    return CHECKPOINT_KEY, encode(progress)


def decode_checkpoint_progress(value: bytes | None) -> CheckpointProgress:
    """
    The report in a record.

    Raises:
        SchemaError: the record is damaged.
    """
    return decode(CheckpointProgress, value, "progress record")
