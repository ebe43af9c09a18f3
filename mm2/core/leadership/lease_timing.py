"""
How long a lease counts, for those who can tell only by what they read of it.

A leader writes its lease into a log again and again, and reads it back there, as its tasks do. Who
has not read it for too long may have missed that somebody else leads by now, and does nothing that
only a leader may do; what it reads first after a silence may be old, and proves nothing yet.
"""

from __future__ import annotations

import math
from typing import Final

LASTS_MS: Final = 10_000
"""How long a lease counts without being renewed."""

APART_MS: Final = 1_000
"""
Renewals that are read at least so far apart are read as they are written, every two seconds.

What was written before, while nothing could be read, comes all at once.
"""


class LeaseLife:
    """
    Whether a lease counts; for ever, as long as nobody has said how long.

    All times are in milliseconds, by a clock that never goes back and counts sleep too.

    Attributes:
        ends_at_ms: when it ends unless it is renewed.
    """

    def __init__(self) -> None:
        self._read_at_ms = -math.inf
        self.ends_at_ms = math.inf

    def is_valid(self, now_ms: float) -> bool:
        """Whether it counts now."""
        return now_ms < self.ends_at_ms

    def renewed(self, lasts_ms: int, now_ms: float) -> bool:
        """
        It was read, and for how long it counts; 0 says nothing. Says whether it has come back.

        A lease that has ended needs two such words at some distance: the first may be old.
        """
        if not lasts_ms:
            return False
        is_valid = self.is_valid(now_ms)
        is_back = self.ends_at_ms <= self._read_at_ms <= now_ms - APART_MS
        self._read_at_ms = now_ms
        if is_valid or is_back:
            self.ends_at_ms = now_ms + lasts_ms
        return is_back
