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
        changed: called when a throttled broker may be sent requests again.
    """

    def __init__(self, throttle: Throttle, changed: Callable[[], None]) -> None:
        self._throttle = throttle
        self._changed = changed
        self._counts: dict[int, int] = {}
        self._throttled: set[int] = set()

    def has_room(self, node: int) -> bool:
        """Whether a broker may be sent one more request; if it throttles, ``changed`` follows."""
        if node in self._throttled:
            return False
        if delay_s := self._throttle.delay(node):
            self._throttled.add(node)
            asyncio.get_running_loop().call_later(delay_s, self._resumed, node)
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

    def _resumed(self, node: int) -> None:
        self._throttled.discard(node)
        self._changed()
