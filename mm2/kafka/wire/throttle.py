"""
Brokers that ask us to hold back, because a quota is used up.

A broker that throttles a client answers at once, says for how long it should hold back, and reads
nothing more from the connection in the meantime (KIP-219). A client that sent all the same would
see its request time out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

import structlog

log = structlog.get_logger()

_SAY_AGAIN_S: Final = 60.0


class Throttle:
    """
    Remembers which brokers of a cluster asked us to hold back.

    Args:
        clock: seconds, monotonic.

    Attributes:
        total_ms: for how long brokers have asked us to hold back since the client was made.
    """

    def __init__(self, cluster: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.total_ms = 0
        self._cluster = cluster
        self._clock = clock
        self._until: dict[int, float] = {}
        self._logged_at = -math.inf

    def answered(self, node: int, throttle_ms: int) -> None:
        """Learns what a broker's answer said of throttling."""
        if throttle_ms <= 0:
            self._until.pop(node, None)
            return
        now = self._clock()
        self.total_ms += throttle_ms
        self._until[node] = now + throttle_ms / 1000
        if now - self._logged_at >= _SAY_AGAIN_S:
            self._logged_at = now
            log.info(
                "kafka.throttled",
                cluster=self._cluster,
                broker=node,
                throttle_ms=throttle_ms,
                total_ms=self.total_ms,
            )

    def is_throttled(self, node: int) -> bool:
        """Whether the broker's last answer was throttled, its time over or not."""
        return node in self._until

    def delay(self, node: int) -> float:
        """Seconds until the broker may be asked again."""
        if node not in self._until:
            return 0.0
        return max(0.0, self._until[node] - self._clock())
