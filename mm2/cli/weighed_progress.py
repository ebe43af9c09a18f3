"""How much of several parts is done, each of which has a size of its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence


class WeighedProgress:
    """
    Adds up what parts say of themselves; threads may call it at the same time.

    Args:
        sizes: of the parts, in their order. An empty one counts, too.

    Attributes:
        total: what is done once all parts are.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = [max(1, size) for size in sizes]
        self._done = [0 for _ in sizes]
        self._lock = threading.Lock()
        self.total = sum(self._sizes)

    def reached(self, part: int, done: int) -> int:
        """Notes how much of a part is done, and returns how much that is more than before."""
        if part not in range(len(self._sizes)):
            return 0
        with self._lock:
            more = max(0, min(done, self._sizes[part]) - self._done[part])
            self._done[part] += more
            return more

    def ended(self, part: int) -> int:
        """Notes that a part is done, and returns how much that is more than before."""
        return self.reached(part, self._sizes[part])
