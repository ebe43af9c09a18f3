"""The leaders of the target's partitions, asked for again when there is trouble."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from flows.source.send.send_recovery import BACKOFF_FIRST_S
from mm2.core.model import TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.wire_client import WireClient

_REFRESH_MOST_S: Final = 2.0


class TargetLeaders:
    """
    Keeps a producer's metadata fresh.

    ``changed`` is called after each refresh, even if nothing is new.
    """

    def __init__(self, client: WireClient, changed: Callable[[], None]) -> None:
        self._client = client
        self._changed = changed
        self._stale = asyncio.Event()

    def has_followers(self, partition: TopicPartition) -> bool:
        """Whether a partition has followers, as far as is known."""
        found = self._client.partition(partition)
        return found is not None and len(found.replicas) > 1

    def refresh(self) -> None:
        """Asks for a refresh soon."""
        self._stale.set()

    async def follow(self) -> None:
        """Refreshes when asked to, with a backoff while that does not help; until cancelled."""
        delay_s = BACKOFF_FIRST_S
        while True:
            if not self._stale.is_set():
                delay_s = BACKOFF_FIRST_S
                await self._stale.wait()
            self._stale.clear()
            try:
                await self._client.refresh()
            except Unavailable:
                self._stale.set()
            self._changed()
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, _REFRESH_MOST_S)
