"""
The unacknowledged-offset list of KIP-3, for one source partition.

A record may become several copies, in several partitions of the target, or none; batches of copies
are acknowledged in any order. What may be committed is the smallest offset of which a copy is still
missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from itertools import count


@dataclass(slots=True, eq=False)
class BatchOffsets:
    """
    The source offsets of the copies in one batch, which are acknowledged from the first one on.

    Attributes:
        offsets: ascending; the same one several times where a record has several copies.
        acknowledged: how many of them are.
    """

    offsets: Sequence[int]
    acknowledged: int = 0

    @property
    def first(self) -> int:
        """The smallest that is missing; only if one is."""
        return self.offsets[self.acknowledged]

    @property
    def is_complete(self) -> bool:
        """Whether none is missing."""
        return self.acknowledged == len(self.offsets)


class UnacknowledgedOffsets:
    """
    Batches of copies that are not acknowledged.

    Attributes:
        end: the offset behind the last record that was taken.
    """

    def __init__(self, start: int) -> None:
        self.end = start
        self._missing: list[tuple[int, int, BatchOffsets]] = []
        self._numbers = count()

    def begin(self, batch: BatchOffsets) -> None:
        """Takes a batch with at least one copy; those that are added to it later count, too."""
        heappush(self._missing, (batch.first, next(self._numbers), batch))

    def reach(self, end: int) -> None:
        """Each record before ``end`` was taken, or is not to be copied."""
        self.end = max(self.end, end)

    @property
    def smallest(self) -> int:
        """The offset to commit: the first that is not acknowledged, or the end."""
        while self._missing:
            first, number, batch = self._missing[0]
            if batch.is_complete:
                heappop(self._missing)
            elif batch.first == first:
                return min(first, self.end)
            else:
                heapreplace(self._missing, (batch.first, number, batch))
        return self.end
