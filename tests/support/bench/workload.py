"""What is copied: topics filled once, for every mirror to copy."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Producer

from tests.support.records import create_topic

PARTITIONS: Final = 4
_SAMPLES: Final = 997
_FULL_QUEUE: Final = 200_000
_WORDS: Final = [b"%08x" % n for n in random.Random(7).choices(range(1 << 32), k=4096)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """
    Topics to copy.

    Attributes:
        name: begins the topics' names.
        title: for people.
        codecs: one topic each.
        record_bytes: size of a record's value.
        records: of all topics together.
        batch_bytes: of the producer that fills them.
    """

    name: str
    title: str
    codecs: tuple[str, ...]
    record_bytes: int
    records: int
    batch_bytes: int

    @property
    def topics(self) -> dict[str, int]:
        """The topics and how many records each has."""
        each = self.records // len(self.codecs)
        return {f"{self.name}-{codec}": each for codec in self.codecs}

    @property
    def bytes(self) -> int:
        """Of all values, before compression."""
        return sum(self.topics.values()) * self.record_bytes

    def fill(self, bootstrap: str) -> None:
        """Creates the topics and writes the records."""
        for codec, (topic, count) in zip(self.codecs, self.topics.items(), strict=True):
            create_topic(bootstrap, topic, PARTITIONS)
            _write(bootstrap, topic, count, self._settings(codec), self.record_bytes)

    def _settings(self, codec: str) -> dict[str, str | int]:
        return {
            "compression.type": codec,
            "batch.size": self.batch_bytes,
            "linger.ms": 100,
            "queue.buffering.max.messages": 2 * _FULL_QUEUE,
            "queue.buffering.max.kbytes": 1 << 19,
        }


def _write(
    bootstrap: str, topic: str, count: int, settings: Mapping[str, str | int], size: int
) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", **settings})
    for number, value in enumerate(_values(count, size)):
        producer.produce(topic, value, partition=number % PARTITIONS)
        if number % 10_000 == 0:
            while len(producer) > _FULL_QUEUE:
                producer.poll(0.05)
    if left := producer.flush(120):
        raise RuntimeError(f"{left} records of {topic} could not be written")


def _values(count: int, size: int) -> Iterator[bytes]:
    """Values that compress about as text does, and are not all the same."""
    words = random.Random(size)
    samples = [b" ".join(words.choices(_WORDS[:64], k=size // 9 + 1)) for _ in range(_SAMPLES)]
    for number in range(count):
        yield samples[number % _SAMPLES][:size]


def workloads(megabytes: int, small_records: int) -> list[Workload]:
    """
    The standard ones.

    Args:
        megabytes: how much of 1 KB records.
        small_records: how many records of 100 bytes.
    """
    return [
        Workload(
            name="kilobyte",
            title="1 KB records, 128 KB batches, half plain, half lz4",
            codecs=("none", "lz4"),
            record_bytes=1_000,
            records=megabytes * 1_000,
            batch_bytes=131_072,
        ),
        Workload(
            name="small",
            title="100 B records, 16 KB batches, lz4",
            codecs=("lz4",),
            record_bytes=100,
            records=small_records,
            batch_bytes=16_384,
        ),
    ]
