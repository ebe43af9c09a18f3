"""A bound on the memory between fetch and acknowledgement."""

from __future__ import annotations

import asyncio


class MemoryBudget:
    """
    Counts bytes in use against a limit.

    Not a lock: what was reserved for a fetch is given back when its answer is in, and the batches
    that it brought are taken one by one, so that the limit is exceeded by one answer at most.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._room = asyncio.Event()
        self._room.set()

    def charge(self, size: int) -> None:
        """Counts bytes as used."""
        self.used += size
        if self.used >= self.limit:
            self._room.clear()

    def release(self, size: int) -> None:
        """Counts bytes as free again."""
        self.used -= size
        if self.used < self.limit:
            self._room.set()

    async def acquire(self, most: int) -> int:
        """Waits until there is room, then takes and returns up to ``most`` bytes of it."""
        await self._room.wait()
        size = max(1, min(most, self.limit - self.used))
        self.charge(size)
        return size
