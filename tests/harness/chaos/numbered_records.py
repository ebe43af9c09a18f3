"""Numbered records at a steady rate, and who reads their copies."""

from __future__ import annotations

import threading
import time
from functools import partial
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer
from confluent_kafka import TopicPartition as At

from tests.harness.chaos.ledger import Seen, Toll, toll_of

_TICK_S: Final = 0.02
_FLUSH_S: Final = 60.0
_PADDING: Final = b" " + b"x" * 90
_AT_ONCE: Final = 5_000


class Writer:
    """
    Writes to the partitions of a topic in turn until it is stopped, from a thread of its own.

    Args:
        bootstrap: of the cluster.
        topic: with these partitions.
        partitions: how many.
        rate: records per second, over all partitions.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, rate: int) -> None:
        settings = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "log_level": 0,
        }
        self._producer = Producer(settings)
        self._topic = topic
        self._partitions = partitions
        self._rate = rate
        self._acknowledged = [0] * partitions
        self._failures: list[object] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._write_on, name=f"writer-{topic}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Writes no more, and waits for what is not acknowledged yet; may be called twice."""
        self._stopped.set()
        self._thread.join()

    @property
    def acknowledged(self) -> list[int]:
        """How many records of each partition the source has; their numbers are those below."""
        assert not self._failures, self._failures[0]
        return list(self._acknowledged)

    def _write_on(self) -> None:
        begin = time.monotonic()
        written = 0
        while not self._stopped.wait(_TICK_S):
            due = int((time.monotonic() - begin) * self._rate)
            for number in range(written, due):
                self._write(*divmod(number, self._partitions))
            written = due
            self._producer.poll(0)
        if left := self._producer.flush(_FLUSH_S):
            self._failures.append(f"{left} records of {self._topic} are not acknowledged")

    def _write(self, number: int, partition: int) -> None:
        self._producer.produce(
            self._topic,
            value=b"%d" % number + _PADDING,
            partition=partition,
            on_delivery=partial(self._delivered, number),
        )

    def _delivered(self, number: int, error: KafkaError | None, message: Message) -> None:
        partition = message.partition() or 0
        if error is not None:
            self._failures.append(error)
        elif number != self._acknowledged[partition]:
            self._failures.append(f"{number} acknowledged before its predecessors")
        else:
            self._acknowledged[partition] += 1


class Reader:
    """
    Reads the committed records of a copy, from a thread of its own, as soon as they are there.

    Args:
        bootstrap: of the cluster.
        topic: the copy, which exists.
        partitions: how many.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"reader-{uuid4().hex}",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 100,
                "log_level": 0,
            }
        )
        self._consumer.assign([At(topic, n, OFFSET_BEGINNING) for n in range(partitions)])
        self._seen = [Seen(newest_s=time.monotonic()) for _ in range(partitions)]
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read_on, name=f"reader-{topic}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()
        self._consumer.close()

    @property
    def next(self) -> list[int]:
        """How far each partition was read."""
        with self._lock:
            return [each.next for each in self._seen]

    @property
    def toll(self) -> Toll:
        """What the copy has suffered; gaps and delays since ``measure``."""
        with self._lock:
            return toll_of(self._seen)

    def measure(self) -> None:
        """Begins to measure gaps and delays."""
        with self._lock:
            for each in self._seen:
                each.measure(time.monotonic())

    def _read_on(self) -> None:
        while not self._stopped.is_set():
            messages = self._consumer.consume(_AT_ONCE, timeout=0.05)
            now_s, clock_ms = time.monotonic(), time.time() * 1000
            with self._lock:
                for message in messages:
                    self._take(message, now_s, clock_ms)

    def _take(self, message: Message, now_s: float, clock_ms: float) -> None:
        if message.error() is None:
            age_s = (clock_ms - message.timestamp()[1]) / 1000
            number = int((message.value() or b"").split(b" ", 1)[0])
            self._seen[message.partition() or 0].see(number, now_s, age_s)


def lag(writer: Writer, reader: Reader) -> list[int]:
    """How many records of each partition have not been copied."""
    return [written - read for written, read in zip(writer.acknowledged, reader.next, strict=True)]
