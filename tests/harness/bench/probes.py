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

from tests.harness.bench.mirrors import Stuck

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

    Attributes:
        delays_ms: of each record, in the order in which they came.
        written_ns: when each record was written, by its number, in ns of the monotonic clock.
        arrived_ns: when it came first.
    """

    def __init__(self, bootstrap: str, places: Places) -> None:
        self._bootstrap = bootstrap
        self._places = places
        self._is_open = True
        self.delays_ms: list[float] = []
        self.written_ns: dict[int, int] = {}
        self.arrived_ns: dict[int, int] = {}

    @contextmanager
    def collected(self) -> Iterator[Arrivals]:
        """Collects for as long as the context lasts."""
        consumer = Consumer(
            {"bootstrap.servers": self._bootstrap, "group.id": "none", "fetch.wait.max.ms": 100}
        )
        consumer.assign([TopicPartition(*place, OFFSET_END) for place in self._places])
        thread = threading.Thread(target=self._follow, args=(consumer,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._is_open = False
            thread.join()
            consumer.close()

    def wait_for(self, number: int) -> int:
        """
        Waits for the record with this number, and returns it.

        Raises:
            Stuck: it does not come.
        """
        deadline = time.monotonic() + _LAST_WITHIN_S
        while number not in self.arrived_ns:
            if time.monotonic() > deadline:
                raise Stuck(f"{len(self.arrived_ns)} records have arrived, {number} not")
            time.sleep(0.01)
        return number

    def _follow(self, consumer: Consumer) -> None:
        while self._is_open:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                value = message.value() or b""
                now, written, number = time.monotonic_ns(), int(value[:20]), int(value[20:40])
                self.delays_ms.append((now - written) / 1e6)
                self.written_ns[number] = written
                self.arrived_ns.setdefault(number, now)


class Source:
    """
    Writes records with the time.

    Args:
        bootstrap: of the cluster.
        places: where to.
        random_places: at random rather than one after the other.
        linger_ms: how long the producer waits for more.
        in_a_row: records to one place before the next one has its turn.
    """

    def __init__(
        self,
        bootstrap: str,
        places: Places,
        *,
        random_places: bool = False,
        linger_ms: int = 0,
        in_a_row: int = 1,
    ) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": linger_ms})
        self._places = places
        self._in_a_row = in_a_row
        self._random = random.Random(11) if random_places else None
        self._number = 0

    def write(self) -> int:
        """Writes one record; returns its number."""
        self._number += 1
        turn = self._number // self._in_a_row % len(self._places)
        place = self._random.choice(self._places) if self._random else self._places[turn]
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
        while not arrivals.arrived_ns:
            if time.monotonic() > deadline:
                raise Stuck(f"no record arrives in {_ARRIVE_WITHIN_S:.0f} s")
            self.write()
            time.sleep(0.1)


def percentiles(delays_ms: Sequence[float]) -> dict[str, float]:
    """The 50th and the 99th."""
    cuts = statistics.quantiles(delays_ms, n=100, method="inclusive")
    return {"p50_ms": cuts[49], "p99_ms": cuts[98]}
