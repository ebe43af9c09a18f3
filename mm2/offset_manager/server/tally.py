"""How often something has happened that clients can have happen as often as they like."""

from __future__ import annotations

import time
from typing import Final

_WARN_S: Final = 10.0


class Tally:
    """What to warn of, not each time: whoever can have it happen could fill the disk."""

    def __init__(self) -> None:
        self._count = 0
        self._told_at = -_WARN_S

    def due(self) -> int:
        """Counts one; returns how many came since the last warning, or 0 if it is too soon."""
        self._count += 1
        now = time.monotonic()
        if now - self._told_at < _WARN_S:
            return 0
        count, self._count, self._told_at = self._count, 0, now
        return count
