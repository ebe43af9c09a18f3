"""The next lease record to write; a later one replaces an earlier one."""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from mm2.core.leadership.leadership_events import Claim, Release, Renew

LeaseWrite: TypeAlias = Claim | Renew | Release


class PendingLeaseWrite:
    """
    Room for one word that waits while another is being written.

    A later word makes an earlier one needless, with one exception: a renewal says nothing that a
    claim or a release has not outdone, so that it never takes the place of one.
    """

    def __init__(self) -> None:
        self._pending: LeaseWrite | None = None
        self._news = asyncio.Event()

    def put(self, write: LeaseWrite) -> None:
        """Has this written next, unless it is a renewal and something weightier waits."""
        if isinstance(write, Renew) and self._pending is not None:
            return
        self._pending = write
        self._news.set()

    def clear(self) -> None:
        """Forgets what waits."""
        self._pending = None
        self._news.clear()

    def next(self) -> LeaseWrite | None:
        """The word that waits, if there is one; it waits no more."""
        write = self._pending
        self.clear()
        return write

    async def take(self) -> LeaseWrite:
        """The word that waits, as soon as there is one."""
        while (write := self.next()) is None:
            await self._news.wait()
        return write
