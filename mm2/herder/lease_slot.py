"""
What a node has to write next of the lease that it holds or wants.
"""

from __future__ import annotations

import asyncio
from typing import TypeAlias

from mm2.core.leadership import Claim, Release, Renew

LeaseWord: TypeAlias = Claim | Renew | Release


class LeaseSlot:
    """
    Room for one word that waits while another is being written.

    A later word makes an earlier one needless, with one exception: a renewal says nothing that a
    claim or a release has not outdone, so that it never takes the place of one.
    """

    def __init__(self) -> None:
        self._word: LeaseWord | None = None
        self._is_full = asyncio.Event()

    def put(self, word: LeaseWord) -> None:
        """Has this written next, unless it is a renewal and something weightier waits."""
        if isinstance(word, Renew) and self._word is not None:
            return
        self._word = word
        self._is_full.set()

    def clear(self) -> None:
        """Forgets what waits."""
        self._word = None
        self._is_full.clear()

    async def take(self) -> LeaseWord:
        """The word that waits, as soon as there is one."""
        await self._is_full.wait()
        word = self._word
        assert word is not None  # noqa: S101 - it is full
        self.clear()
        return word
