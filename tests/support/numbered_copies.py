"""A topic to which numbers are written, and what has come of them on the other cluster."""

from __future__ import annotations

import time
from typing import Final

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.numbers import NumberReader
from tests.support.records import create_topic
from tests.support.traffic import Traffic

PARTITIONS: Final = 4
_GOES_ON_WITHIN_S: Final = 150.0
"""Spark may need half a minute to see what is gone, and as long to start executors elsewhere."""

OF_THREE_S: Final = 600
"""About as many come meanwhile; the task of an executor that was killed may go on so long."""


class NumberedCopies:
    """
    The topic, which is made, and a reader of its copies.

    Args:
        alias: of the source, unless it is its cluster's name.

    Attributes:
        traffic: writes while it runs.
    """

    def __init__(self, source: Cluster, target: Cluster, topic: str, alias: str = "") -> None:
        create_topic(source.bootstrap, topic, PARTITIONS)
        self.traffic = Traffic(source.bootstrap, {topic: PARTITIONS}, at_once=2)
        self._topic = topic
        self._reader = NumberReader(target, f"{alias or source.name}.{topic}", PARTITIONS)

    def go_on(self, later: int = 0) -> float:
        """
        Waits until what is written from now on is copied, in each partition; for how long.

        Args:
            later: so many of these need not be.
        """
        number, since = self.traffic.sent[self._topic] + later, time.monotonic()

        def have_come() -> bool:
            self._reader.count()
            return all(found and found[-1] >= number for found in self._reader.found)

        eventually(have_come, timeout=_GOES_ON_WITHIN_S)
        return time.monotonic() - since

    def check_that_all_came(self) -> int:
        """Waits for all, which must be in order; how many came twice."""
        total = self.traffic.sent[self._topic]
        eventually(self._missing, until=lambda missing: not any(missing), timeout=_GOES_ON_WITHIN_S)
        self._reader.catch_up()
        found = [list(dict.fromkeys(each)) for each in self._reader.found]
        assert found == [list(range(first, total, PARTITIONS)) for first in range(PARTITIONS)]
        return sum(map(len, self._reader.found)) - total

    def _missing(self) -> list[list[int]]:
        """What has not come yet, by partition."""
        total = self.traffic.sent[self._topic]
        self._reader.count()
        return [
            sorted(set(range(number, total, PARTITIONS)).difference(found))
            for number, found in enumerate(self._reader.found)
        ]

    def check_that_all_came_once(self) -> None:
        """Waits for all, which must be in order and there once."""
        assert self.check_that_all_came() == 0
