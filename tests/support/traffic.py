"""Records that are written while something else happens."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import KafkaError, Message, Producer

_PAUSE_S = 0.01


class Traffic:
    """
    An idempotent producer that writes numbered records until it is stopped.

    Args:
        topics: the number of partitions of each; record ``n`` goes to partition ``n`` modulo that.
        at_once: records to each topic, a hundred times a second.
        keys: how many different keys; record ``n`` has ``n`` modulo that. None: no keys.

    Attributes:
        sent: how many each topic has; values count from 0.
    """

    def __init__(
        self,
        bootstrap: str,
        topics: Mapping[str, int],
        *,
        at_once: int = 20,
        keys: int | None = None,
    ) -> None:
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5}
        self._producer = Producer({**settings, "delivery.timeout.ms": 300_000})
        self._topics = topics
        self._at_once = at_once
        self._keys = keys
        self._stop = threading.Event()
        self._failed: list[str] = []
        self.sent = dict.fromkeys(topics, 0)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Writes meanwhile; all is acknowledged at the end."""
        thread = threading.Thread(target=self._write)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
        assert self._producer.flush(120) == 0
        assert self._failed == []

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append(f"{message.topic()}-{message.partition()}: {error}")

    def _write(self) -> None:
        while not self._stop.wait(_PAUSE_S):
            for topic, partitions in self._topics.items():
                first = self.sent[topic]
                for number in range(first, first + self._at_once):
                    key = None if self._keys is None else b"%d" % (number % self._keys)
                    self._producer.produce(
                        topic,
                        value=b"%d" % number,
                        key=key,
                        partition=number % partitions,
                        on_delivery=self._delivered,
                    )
                self.sent[topic] += self._at_once
            self._producer.poll(0)
