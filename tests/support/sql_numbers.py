"""Numbers that Spark's SQL changes on their way: the expressions, and what the copies are to be."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.numbers import NumberReader
from tests.support.records import create_topic
from tests.support.traffic import Traffic

_TEXT: Final = "CAST(value AS STRING)"
EXPRESSIONS: Final = {
    "A->B.transforms.sql.where": f"CAST({_TEXT} AS INT) % 3 != 0",
    "A->B.transforms.sql.value": f"concat('-', {_TEXT})",
}
"""Each third number is left out; the others become negative."""

PARTITIONS: Final = 4
_BACK_WITHIN_S: Final = 240.0
"""A machine that does much else starts an executor in half a minute."""


@dataclass
class Outcome:
    """
    What has come of the numbers.

    Attributes:
        gaps_s: how long it took after each event, until what was written later had come.
    """

    written: int = 0
    lost: int = 0
    twice: int = 0
    is_in_order: bool = False
    gaps_s: list[float] = field(default_factory=list)


class SqlNumbers:
    """A topic to which numbers are written, and a reader of the copies."""

    def __init__(self, source: Cluster, target: Cluster, topic: str) -> None:
        create_topic(source.bootstrap, topic, PARTITIONS)
        self.traffic = Traffic(source.bootstrap, {topic: PARTITIONS}, at_once=2)
        self.outcome = Outcome()
        self._topic = topic
        self._reader = NumberReader(target, f"{source.name}.{topic}", PARTITIONS)

    def wait_for_later(self, count: int = 0) -> None:
        """Waits until numbers have come in each partition that are so many behind the present."""
        self._wait_for([self.traffic.sent[self._topic] + count] * PARTITIONS)

    def _wait_for(self, numbers: list[int]) -> None:
        def have_come() -> bool:
            self._reader.count()
            found = self._reader.found
            return all(seen and -seen[-1] >= n for seen, n in zip(found, numbers, strict=True))

        eventually(have_come, timeout=_BACK_WITHIN_S)

    def survive(self, event: Callable[[], None]) -> None:
        """Has something happen, and measures how long it takes until copies come again."""
        event()
        since = time.monotonic()
        self.wait_for_later()
        self.outcome.gaps_s.append(time.monotonic() - since)

    def complete(self) -> Outcome:
        """Waits for all that was written, and says what has come."""
        total, found = self.traffic.sent[self._topic], self._reader.found
        wanted = [
            [-number for number in range(first, total, PARTITIONS) if number % 3]
            for first in range(PARTITIONS)
        ]
        count = sum(map(len, wanted))
        self._wait_for([-each[-1] for each in wanted])
        self._reader.catch_up()
        once = [list(dict.fromkeys(each)) for each in found]
        self.outcome.written = count
        self.outcome.lost = count - len(set().union(*wanted) & set().union(*found))
        self.outcome.twice = sum(map(len, found)) - sum(map(len, once))
        self.outcome.is_in_order = once == wanted
        return self.outcome
