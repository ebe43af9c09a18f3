"""How long copying takes that has not been done yet, and what would be lost meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_FOREVER: Final = -1
_MS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """
    What a partition's copy is behind.

    Attributes:
        records: offsets that have no copy yet.
        offsets: all offsets of the log.
        size: bytes of the log; None if unknown.
    """

    records: int
    offsets: int
    size: int | None

    @property
    def pending_bytes(self) -> int | None:
        """Bytes that have no copy yet, if all records are equally large."""
        if self.size is None or self.offsets == 0:
            return self.size if self.size is None else 0
        return self.size * self.records // self.offsets


def total_bytes(backlogs: Iterable[Backlog]) -> int | None:
    """The bytes without a copy of partitions; None if one's is unknown."""
    sizes = [each.pending_bytes for each in backlogs]
    known = [each for each in sizes if each is not None]
    return sum(known) if len(known) == len(sizes) else None


def copy_ms(pending_bytes: int, rate: float) -> int:
    """How long it takes to copy bytes, at bytes per second."""
    return round(pending_bytes / rate * _MS)


@dataclass(frozen=True, slots=True)
class ShortRetention:
    """A setting of a source topic after which records go that may not be copied by then."""

    key: str
    kept_ms: int


def short_retention(settings: Mapping[str, str | None], takes_ms: int) -> ShortRetention | None:
    """
    Finds the retention of a source topic that is shorter than copying takes.

    A deletion that compaction forgets before it is copied leaves its record in the copy.

    Args:
        takes_ms: how long copying takes until the flow has caught up.
    """
    policy = (settings.get("cleanup.policy") or "delete").split(",")
    keys = [("retention.ms", "delete"), ("delete.retention.ms", "compact")]
    for key, needed in keys:
        kept_ms = int(settings.get(key) or _FOREVER)
        if needed in policy and kept_ms != _FOREVER and kept_ms < takes_ms:
            return ShortRetention(key, kept_ms)
    return None
