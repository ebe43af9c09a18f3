"""Which brokers may be sent one more request: neither too many at once, nor while they throttle."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from flows.source.send.send_queue import MAX_IN_FLIGHT
from mm2.kafka.wire.throttle import Throttle


class InFlightLimits:
    """
    Counts the requests that are under way to each broker.

    Args:
        throttle: knows which brokers want to be left alone.
        changed: called when a broker that was left alone may be sent something again.
    """

    def __init__(self, throttle: Throttle, changed: Callable[[], None]) -> None:
        self._throttle = throttle
        self._changed = changed
        self._counts: dict[int, int] = {}
        self._resting: set[int] = set()

    def has_room(self, node: int) -> bool:
        """Whether a broker may be sent one more request now; if it rests, ``changed`` follows."""
        if node in self._resting:
            return False
        if delay_s := self._throttle.delay(node):
            self._resting.add(node)
            asyncio.get_running_loop().call_later(delay_s, self._rested, node)
            return False
        # What is sent behind a request that is throttled would wait in vain, and time out.
        most = 1 if self._throttle.is_throttled(node) else MAX_IN_FLIGHT
        return self._counts.get(node, 0) < most

    def begin(self, node: int) -> None:
        """A request is sent."""
        self._counts[node] = self._counts.get(node, 0) + 1

    def end(self, node: int) -> None:
        """It is answered, or will never be."""
        self._counts[node] -= 1

    def _rested(self, node: int) -> None:
        self._resting.discard(node)
        self._changed()
