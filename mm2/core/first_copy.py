"""
The progress of a copy that has just begun or has fallen behind.

A first copy is a backlog like any other: all that the source holds is still to come. So the same
numbers tell of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from mm2.core.model import NO_OFFSET

_BACKLOG_S: Final = 10.0
"""What takes longer to be copied at the present rate is a backlog."""


class CopiedPartition(Protocol):
    """What is known of a partition; as ``mm2.herder.view.flow_views.PartitionView`` has it."""

    @property
    def start(self) -> int:
        """First offset that the source has; -1 if not known."""

    @property
    def end(self) -> int:
        """Where the source's log ends; -1 if not known."""

    @property
    def lag(self) -> int | None:
        """Records that are to be copied; None if not known."""

    @property
    def lag_per_s(self) -> float:
        """How fast that grows."""

    @property
    def records_per_s(self) -> float:
        """Records copied lately."""

    @property
    def bytes_per_s(self) -> float:
        """Bytes copied lately."""

    @property
    def record_bytes(self) -> float | None:
        """Mean size of a copied record; None if not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstCopyProgress:
    """
    How far the copy of some partitions is.

    Attributes:
        percent: how much of what the source holds is copied, 0 to 100, rounded down, so that 100
            means all; None while a partition's log is not known.
        records_left: to be copied, as far as known.
        bytes_left: the same, estimated by the mean size of the records copied so far; None if
            nothing was copied yet.
        eta_s: seconds until nothing is left, if both clusters go on as they do; None if that is
            not known, or if the copy does not come nearer.
    """

    percent: int | None
    records_left: int
    bytes_left: int | None
    records_per_s: float
    bytes_per_s: float
    eta_s: int | None
    is_behind: bool


def first_copy_progress(partitions: Iterable[CopiedPartition]) -> FirstCopyProgress:
    """The progress of partitions together."""
    known = list(partitions)
    left = sum(each.lag or 0 for each in known)
    rate = sum(each.records_per_s for each in known)
    return FirstCopyProgress(
        percent=_percent(known),
        records_left=left,
        bytes_left=_bytes_left(known),
        records_per_s=rate,
        bytes_per_s=sum(each.bytes_per_s for each in known),
        eta_s=_eta_s(left, sum(each.lag_per_s for each in known)),
        is_behind=is_behind(left, rate),
    )


def is_behind(lag: int, per_s: float) -> bool:
    """Whether so many records are a backlog at this rate."""
    return lag > _BACKLOG_S * per_s


def _percent(partitions: Iterable[CopiedPartition]) -> int | None:
    held = left = 0
    for each in partitions:
        if each.lag is None or NO_OFFSET in (each.start, each.end):
            return None
        # Retention may take away what is not copied yet.
        of_log = max(0, each.end - each.start)
        held, left = held + of_log, left + min(each.lag, of_log)
    return 100 if not left else 100 * (held - left) // held


def _bytes_left(partitions: Iterable[CopiedPartition]) -> int | None:
    known = list(partitions)
    sizes = [each.record_bytes for each in known if each.record_bytes is not None]
    mean = sum(sizes) / len(sizes) if sizes else None
    total = 0.0
    for each in known:
        size = mean if each.record_bytes is None else each.record_bytes
        if each.lag and size is None:
            return None
        total += (each.lag or 0) * (size or 0)
    return round(total)


def _eta_s(left: int, grows_per_s: float) -> int | None:
    if not left:
        return 0
    return math.ceil(left / -grows_per_s) if grows_per_s < 0 else None
