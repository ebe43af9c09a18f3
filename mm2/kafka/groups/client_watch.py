"""
Finds out that a client of librdkafka knows no broker any more, though its cluster answers others.

A cluster whose brokers were all silent for too long tells of no broker for a moment. librdkafka
(2.10 to 2.16) drops those it knows then, and may never look for others (its issue 5301). It tells
nobody: each call fails as if the cluster were away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from mm2.errors import ClusterError

_EVERY_S: Final = 10.0
_ANSWERS_WITHIN_S: Final = 5.0


class OtherClient(Protocol):
    """Another client of the same cluster, such as ``Admin``."""

    async def cluster_id(self, *, within_s: float | None = None) -> str:
        """
        Asks the cluster something.

        Raises:
            ClusterError: it does not answer.
        """


class ClientWatch:
    """
    Looks at a client now and then, which takes two small requests.

    Args:
        other: is asked first. While it has no answer, the cluster is away, and the client is not
            looked at.
        patience_s: for how long the client alone has to be without a broker.
        every_s: how often it is looked at.
    """

    def __init__(self, other: OtherClient, *, patience_s: float, every_s: float = _EVERY_S) -> None:
        self._other = other
        self._patience_s = patience_s
        self._every_s = every_s
        self._next = 0.0
        self._since: float | None = None

    async def is_stuck(self, knows_broker: Callable[[], Awaitable[bool]]) -> bool:
        """Whether the client is to be replaced; the next one is given as long again."""
        now = asyncio.get_running_loop().time()
        if now < self._next:
            return False
        self._next = now + self._every_s
        # In this order: an answer without a broker is what the client must not be given.
        if not await self._is_there() or await knows_broker():
            self._since = None
            return False
        if self._since is None:
            self._since = now
        if now - self._since < self._patience_s:
            return False
        self._since = None
        return True

    async def _is_there(self) -> bool:
        try:
            await self._other.cluster_id(within_s=_ANSWERS_WITHIN_S)
        except ClusterError:
            return False
        return True
