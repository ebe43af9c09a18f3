"""Records that carry the time when they were written, and those who wait for them."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition

from tests.support.bench.mirrors import Stuck

Places = Sequence[tuple[str, int]]
"""Topics with partitions."""

_SIZE: Final = 100
_ARRIVE_WITHIN_S: Final = 60.0
_LAST_WITHIN_S: Final = 10.0


class Arrivals:
    """
    Collects, in a thread, how long records were under way to a cluster.

    Args:
        bootstrap: of the cluster.
        places: where to look.
    """

    def __init__(self, bootstrap: str, places: Places) -> None:
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "none", "fetch.wait.max.ms": 100}
        )
        self._consumer.assign([TopicPartition(*place, OFFSET_END) for place in places])
        self._is_open = True
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self.delays_ms: list[float] = []
        self.numbers: set[int] = set()

    @contextmanager
    def collected(self) -> Iterator[Arrivals]:
        """Collects for as long as the context lasts."""
        self._thread.start()
        try:
            yield self
        finally:
            self._is_open = False
            self._thread.join()
            self._consumer.close()

    def wait_for(self, number: int) -> None:
        """
        Waits for the record with this number.

        Raises:
            Stuck: it does not come.
        """
        deadline = time.monotonic() + _LAST_WITHIN_S
        while number not in self.numbers:
            if time.monotonic() > deadline:
                raise Stuck(f"{len(self.numbers)} records have arrived, {number} not")
            time.sleep(0.01)

    def _follow(self) -> None:
        while self._is_open:
            message = self._consumer.poll(0.1)
            if message is not None and message.error() is None:
                value = message.value() or b""
                now = time.monotonic_ns()
                self.delays_ms.append((now - int(value[:20])) / 1e6)
                self.numbers.add(int(value[20:40]))


class Source:
    """
    Writes records with the time.

    Args:
        bootstrap: of the cluster.
        places: where to.
        random_places: at random rather than one after the other.
    """

    def __init__(self, bootstrap: str, places: Places, *, random_places: bool = False) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._places = places
        self._random = random.Random(11) if random_places else None
        self._number = 0

    def write(self) -> int:
        """Writes one record; returns its number."""
        self._number += 1
        place = (
            self._random.choice(self._places)
            if self._random
            else self._places[self._number % len(self._places)]
        )
        value = b"%020d%020d" % (time.monotonic_ns(), self._number)
        self._producer.produce(place[0], value.ljust(_SIZE), partition=place[1])
        self._producer.poll(0)
        return self._number

    def write_for(self, seconds: float, rate: float) -> int:
        """Writes ``rate`` records a second; returns the last one's number."""
        started, written, last = time.monotonic(), 0, 0
        while (now := time.monotonic() - started) < seconds:
            if now * rate >= written:
                last = self.write()
                written += 1
            else:
                time.sleep(max(0.0, written / rate - now))
        self._producer.flush(_LAST_WITHIN_S)
        return last

    def until_arrived(self, arrivals: Arrivals) -> None:
        """
        Writes now and then until something arrives.

        Raises:
            Stuck: nothing does.
        """
        deadline = time.monotonic() + _ARRIVE_WITHIN_S
        while not arrivals.numbers:
            if time.monotonic() > deadline:
                raise Stuck(f"no record arrives in {_ARRIVE_WITHIN_S:.0f} s")
            self.write()
            time.sleep(0.1)


def percentiles(delays_ms: Sequence[float]) -> dict[str, float]:
    """The 50th and the 99th."""
    cuts = statistics.quantiles(delays_ms, n=100, method="inclusive")
    return {"p50_ms": cuts[49], "p99_ms": cuts[98]}
