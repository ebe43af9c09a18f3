"""Logs at random, written by real producers and cleaned by real cleaners."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final
from uuid import uuid4

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_translation import OffsetTranslation
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.raw import log_of
from tests.support.records import CODECS, DEADLINE_S, Sample, create_topic, everything, produce
from tests.support.topics import delete_before

_CLEANED_WITHIN_S = 15.0
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "100",
}
_APPEND_TIME = {"message.timestamp.type": "LogAppendTime"}
KINDS: Sequence[dict[str, str]] = ({}, {}, _APPEND_TIME, COMPACTED, COMPACTED | _APPEND_TIME)
"""Settings of topics."""

_HEADERS: Sequence[list[tuple[str, str | bytes | None]]] = (
    [],
    [("h", b"1"), ("h", None), ("", b"\xff"), ("é", b"")],
)
_SIZES = (0, 1, 10, 90, 90, 90, 2_000, 200_000)


@dataclass
class Author:
    """
    Writes at random, with several producers at a time, two of them in transactions.

    Args:
        cluster: where to.
        random: decides everything.
        topics: and whether they are compacted.
    """

    cluster: Cluster
    random: Random
    topics: dict[str, bool]
    open: set[int] = field(default_factory=set)
    clock_ms: int = 1_600_000_000_000

    def __post_init__(self) -> None:
        """Connects the producers."""
        self._plain = {codec: self._producer(codec, {}) for codec in CODECS}
        self._single = self._producer("none", {"batch.num.messages": 1})
        self._transactional = [
            self._producer(self.random.choice(CODECS), {"transactional.id": uuid4().hex})
            for _ in range(2)
        ]
        for producer in self._transactional:
            producer.init_transactions(DEADLINE_S)

    def write(self, steps: int) -> None:
        """Some records, or an end of a transaction, in each step."""
        for _ in range(steps):
            match self.random.choice(("plain", "plain", "single", "part", "part", "end")):
                case "plain":
                    self._send(self.random.choice(list(self._plain.values())))
                case "single":
                    self._send(self._single)
                case "part":
                    self._continue(self.random.randrange(2))
                case _:
                    self._end(self.random.randrange(2))

    def end_all(self) -> None:
        """Ends what transactions there are."""
        for number in range(2):
            self._end(number)

    def write_last(self, is_copied: Callable[[Sample], object]) -> None:
        """Ends each topic with a record that is copied; LogAppendTime may need some attempts."""
        for topic in self.topics:
            self.tick(topic)
            while not is_copied(everything(self.cluster.bootstrap, topic)[-1]):
                self.tick(topic)

    def tick(self, topic: str) -> None:
        """A record that lets an earlier segment end."""
        self.clock_ms += 1_000
        producer = self._plain["none"]
        producer.produce(topic, key=b"tick", value=b"", partition=0, timestamp=self.clock_ms)
        producer.flush(DEADLINE_S)

    def _continue(self, number: int) -> None:
        if number not in self.open:
            self._transactional[number].begin_transaction()
            self.open.add(number)
        self._send(self._transactional[number])

    def _end(self, number: int) -> None:
        if number in self.open:
            self.open.discard(number)
            producer = self._transactional[number]
            if self.random.random() < 0.5:
                producer.commit_transaction(DEADLINE_S)
            else:
                producer.abort_transaction(DEADLINE_S)

    def _send(self, producer: Producer) -> None:
        random = self.random
        topic = random.choice(list(self.topics))
        for _ in range(random.choice((1, 1, 2, 5, 30))):
            self.clock_ms += random.choice((0, 1, 1_000, -3))
            key = b"%d" % random.randrange(4)
            size = random.choice(_SIZES if random.random() < 0.2 else _SIZES[:6])
            producer.produce(
                topic,
                key=key if self.topics[topic] else random.choice((None, b"", key)),
                value=random.choice((None, random.randbytes(size // 2) + b"x" * (size // 2))),
                headers=random.choice(_HEADERS),
                partition=0,
                timestamp=self.clock_ms,
            )
        assert producer.flush(DEADLINE_S) == 0

    def _producer(self, codec: str, more: dict[str, str | int]) -> Producer:
        common = {
            "bootstrap.servers": self.cluster.bootstrap,
            "compression.type": codec,
            "linger.ms": 20,
        }
        return Producer({**common, **more})


def author_of_changed_logs(cluster: Cluster, random: Random, unique: str, steps: int) -> Author:
    """
    Topics of all kinds with some records, cleaned; the first one begins at offset 500.

    Args:
        unique: what their names begin with.
        steps: of writing.
    """
    kinds = [{}, *KINDS[2:]]
    topics = {f"{unique}-{n}": "cleanup.policy" in each for n, each in enumerate(kinds)}
    for topic, each in zip(topics, kinds, strict=True):
        create_topic(cluster.bootstrap, topic, configs=each)
    late = next(iter(topics))
    produce(cluster.bootstrap, late, [Sample(value=b"gone") for _ in range(500)])
    delete_before(cluster, late, 500)
    author = Author(cluster, random, topics)
    author.write(steps)
    author.end_all()
    clean(cluster, author)
    return author


def check_translation(
    translation: OffsetTranslation, topic: str, made: Sequence[Sample], found: Sequence[Sample]
) -> None:
    """
    A translated offset leads to the copy of the first unread record, or to one before it.

    That of the last record leads to its own first copy. A task that is killed may not have
    published the runs of its last copies, so the last record is one of a task that stops.

    Args:
        made: what the copies were made of, one for each, in their order.
        found: the copies.
    """
    sources, copies = [each.offset for each in made], [each.offset for each in found]
    where = None
    for offset in range(sources[-1] + 1):
        where = translation.translate(TopicPartition(TopicName(topic), 0), offset)
        unread = copies[bisect_left(sources, offset)]
        assert where is None or where <= unread, f"{topic}: {offset} at {where}"
    # Between the two may be what ended a transaction.
    assert where is not None
    assert copies[bisect_left(copies, where)] == copies[bisect_left(sources, sources[-1])]


def _has_gaps(cluster: Cluster, topic: str) -> bool:
    batches = log_of(cluster.bootstrap, topic)
    return any(b.last_offset - b.base_offset + 1 != b.count for b in batches)


def clean(cluster: Cluster, author: Author) -> None:
    """Lets the cleaner make gaps, then stops it, so that the source stays what it is."""
    waiting = {topic for topic, is_compacted in author.topics.items() if is_compacted}
    compacted = sorted(waiting)
    begun = time.monotonic()
    while waiting and time.monotonic() - begun < (
        _CLEANED_WITHIN_S if len(waiting) < len(compacted) else PATIENCE_S
    ):
        for topic in sorted(waiting):
            author.tick(topic)
        waiting = {topic for topic in waiting if not _has_gaps(cluster, topic)}
    entry = ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.SET)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    changes = [
        ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        for topic in compacted
    ]
    for future in admin.incremental_alter_configs(changes).values():
        future.result(DEADLINE_S)
    seen: list[list[int]] = []

    def is_settled() -> bool:
        nonlocal seen
        before, seen = (
            seen,
            [[b.count for b in log_of(cluster.bootstrap, topic)] for topic in compacted],
        )
        return before == seen

    eventually(is_settled)
    assert not compacted or len(waiting) < len(compacted), "nothing was cleaned"
