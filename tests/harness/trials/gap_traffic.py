"""Topics whose logs have gaps of every kind, and writers that go on writing to them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import Final, Self
from uuid import uuid4

from confluent_kafka import KafkaError, Message, Producer

from tests.harness.trials.verdict import Where
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import log_of
from tests.support.records import CODECS, DEADLINE_S, create_topic

PARTITIONS: Final = 2
_COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "1000",
}
_KEYS: Final = 20
"""Of a compacted topic."""

_BURSTS: Final = (1, 1, 2, 5, 20, 60, 200)
_PAUSES_S: Final = (0.0, 0.005, 0.02, 0.1)
_SIZES: Final = (0, 10, 90, 90, 400, 4_000)
_TRANSACTIONS: Final = 2


@dataclass(frozen=True, slots=True)
class Kind:
    """How the log of a topic comes about."""

    name: str
    configs: Mapping[str, str] = field(default_factory=dict)
    transactional: bool = False
    one_by_one: bool = False

    @property
    def compacted(self) -> bool:
        """Whether old values of keys go."""
        return bool(self.configs)


KINDS: Final = (
    Kind("plain"),
    Kind("single", one_by_one=True),
    Kind("compacted", _COMPACTED),
    Kind("transactional", transactional=True),
    Kind("both", _COMPACTED, transactional=True),
)


class GapTraffic:
    """
    Writes numbered records at random until it is stopped; each knows its place in the log.

    One thread writes, and knows the place of all it has written before it goes on.

    Args:
        cluster: where to.
        prefix: of the topics' names.
        random: decides everything.
    """

    def __init__(self, cluster: Cluster, prefix: str, random: Random) -> None:
        self._cluster = cluster
        self._random = random
        self._kinds = {f"{prefix}-{kind.name}": kind for kind in KINDS}
        self._numbers = count()
        self._offsets: dict[Where, dict[int, int]] = {}
        self._uncommitted: list[list[tuple[Where, int, int]]] = [[] for _ in range(_TRANSACTIONS)]
        self._open: set[int] = set()
        self._lock = threading.RLock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._write_on, name="traffic")
        self._failures: list[object] = []
        for topic, kind in self._kinds.items():
            create_topic(cluster.bootstrap, topic, PARTITIONS, kind.configs)
            self._offsets |= {(topic, number): {} for number in range(PARTITIONS)}
        self._connect()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def topics(self) -> list[str]:
        """The names of the topics."""
        return list(self._kinds)

    @property
    def partitions(self) -> list[Where]:
        """All partitions of all topics."""
        return list(self._offsets)

    def fill(self, steps: int) -> None:
        """Writes as fast as it can, and waits until the brokers have compacted some of it."""
        for _ in range(steps):
            self._step()
        compacted = [topic for topic, kind in self._kinds.items() if kind.compacted]
        eventually(lambda: all(self._cleaned(topic) for topic in compacted), timeout=60)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Writes nothing meanwhile; what was written before is known."""
        with self._lock:
            yield

    def offsets(self, where: Where) -> Mapping[int, int]:
        """The offset of each number in a partition; of committed records only."""
        with self._lock:
            return dict(self._offsets[where])

    def next_offset(self, where: Where, position: int) -> int:
        """The offset of the first record at or behind a position that is not aborted, or it."""
        topic, partition = where
        with self._lock:
            pending = [
                offset
                for transaction in self._uncommitted
                for (at, _, offset) in transaction
                if at == (topic, partition)
            ]
            known = [*self._offsets[where].values(), *pending]
        return min((offset for offset in known if offset >= position), default=position)

    def _connect(self) -> None:
        self._plain = [self._producer(codec) for codec in CODECS]
        self._single = self._producer("none", {"batch.num.messages": 1})
        self._transactional = [
            self._producer(self._random.choice(CODECS), self._transactions())
            for _ in range(_TRANSACTIONS)
        ]
        for producer in self._transactional:
            producer.init_transactions(DEADLINE_S)

    @staticmethod
    def _transactions() -> dict[str, str | int]:
        # They stay open while writing pauses.
        return {"transactional.id": uuid4().hex, "transaction.timeout.ms": 600_000}

    def _producer(self, codec: str, more: Mapping[str, str | int] | None = None) -> Producer:
        common = {
            "bootstrap.servers": self._cluster.bootstrap,
            "compression.type": codec,
            "linger.ms": 5,
            "log_level": 0,
        }
        return Producer({**common, **(more or {})})

    def _write_on(self) -> None:
        while not self._stopped.wait(self._random.choice(_PAUSES_S)):
            self._step()
        for number in sorted(self._open):
            self._end(number)

    def _step(self) -> None:
        with self._lock:
            topic = self._random.choice(self.topics)
            kind = self._kinds[topic]
            if kind.transactional and self._random.random() < 0.8:
                self._continue_or_end(topic)
            elif kind.one_by_one:
                self._send(self._single, topic, self._keep)
            else:
                self._send(self._random.choice(self._plain), topic, self._keep)
        assert not self._failures, self._failures[0]

    def _continue_or_end(self, topic: str) -> None:
        number = self._random.randrange(_TRANSACTIONS)
        if number in self._open and self._random.random() < 0.6:
            self._end(number)
            return
        if number not in self._open:
            self._transactional[number].begin_transaction()
            self._open.add(number)
        keep = partial(self._hold, number)
        self._send(self._transactional[number], topic, keep)

    def _end(self, number: int) -> None:
        self._open.discard(number)
        producer = self._transactional[number]
        if self._random.random() < 0.6:
            producer.commit_transaction(DEADLINE_S)
            for record in self._uncommitted[number]:
                self._keep(*record)
        else:
            producer.abort_transaction(DEADLINE_S)
        self._uncommitted[number].clear()

    def _send(
        self, producer: Producer, topic: str, keep: Callable[[Where, int, int], None]
    ) -> None:
        """A burst to one partition, acknowledged when this returns."""
        where = (topic, self._random.randrange(PARTITIONS))
        for _ in range(self._random.choice(_BURSTS)):
            number = next(self._numbers)
            key = self._random.randrange(_KEYS) if self._kinds[topic].compacted else number
            producer.produce(
                topic,
                key=b"%d" % key,
                value=b"%d %s" % (number, b"x" * self._random.choice(_SIZES)),
                partition=where[1],
                on_delivery=partial(self._delivered, keep, where, number),
            )
            producer.poll(0)
        assert producer.flush(DEADLINE_S) == 0

    def _delivered(
        self,
        keep: Callable[[Where, int, int], None],
        where: Where,
        number: int,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        if error is None:
            keep(where, number, message.offset() or 0)
        else:
            self._failures.append(error)

    def _keep(self, where: Where, number: int, offset: int) -> None:
        self._offsets[where][number] = offset

    def _hold(self, transaction: int, where: Where, number: int, offset: int) -> None:
        self._uncommitted[transaction].append((where, number, offset))

    def _cleaned(self, topic: str) -> bool:
        """Whether there are gaps; nudges the log so that its segments end."""
        with self._lock:
            self._send(self._plain[0], topic, self._keep)
        return any(
            batch.last_offset - batch.base_offset + 1 != batch.count
            for partition in range(PARTITIONS)
            for batch in log_of(self._cluster.bootstrap, topic, partition=partition)
            if not batch.is_control
        )


def number_of(value: bytes | None) -> int:
    """The number that a record carries."""
    assert value is not None
    return int(value.split(b" ", 1)[0])
