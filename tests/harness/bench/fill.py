"""
Fills topics, as fast as brokers take it: what is measured is the copying.

Batches of a shape that matters are made once by hand and written many times; only what needs
keys or transactions goes through a client, record by record.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition, admin

from mm2.core.model import TopicName
from mm2.core.model import TopicPartition as Partition
from mm2.demo.raw_batches import RawRecord, encode
from mm2.demo.raw_cluster import RawCluster

client: Any = admin
"""Without types for most of its names."""

_SAMPLES: Final = 997
_WORDS: Final = [b"%08x" % n for n in random.Random(7).choices(range(1 << 32), k=4096)]
_BATCHES: Final = 16
"""Different batches of a topic; more would only take longer to make."""

_WRITERS: Final = 3
_FULL_QUEUE: Final = 200_000
_CLEANED_WITHIN_S: Final = 90.0


def values(size: int) -> Iterator[bytes]:
    """Endless values that compress about as text does, and are not all the same."""
    words = random.Random(size)
    samples = [b" ".join(words.choices(_WORDS[:64], k=size // 9 + 1)) for _ in range(_SAMPLES)]
    return (sample[:size] for sample in cycle(samples))


def write_batches(
    bootstrap: str,
    topic: str,
    partitions: int,
    *,
    codec: str,
    size: int,
    in_batch: int,
    records: int,
    keys: int = 0,
    level: int | None = None,
) -> int:
    """
    Writes at least ``records`` records of ``size`` bytes, ``in_batch`` to a batch.

    They have one of so many ``keys``; of none if there are none. ``level`` is that of the codec.

    Returns:
        How many there are now: whole batches, as many in each partition.
    """
    rounds = -(-records // (in_batch * partitions))
    made = batches(codec, size, in_batch, keys=keys, level=level)
    asyncio.run(_write_batches(bootstrap, topic, partitions, made, rounds))
    return rounds * partitions * in_batch


def batches(
    codec: str, size: int, in_batch: int, *, keys: int = 0, level: int | None = None
) -> list[bytes]:
    """Some batches of ``in_batch`` records of ``size`` bytes, ready to be written."""
    now = time.time_ns() // 1_000_000
    endless, choices = values(size), random.Random(keys)

    def record() -> RawRecord:
        key = b"%08d" % choices.randrange(keys) if keys else None
        return RawRecord(key=key, value=next(endless), timestamp_ms=now)

    return [encode([record() for _ in range(in_batch)], codec, level) for _ in range(_BATCHES)]


async def _write_batches(
    bootstrap: str, topic: str, partitions: int, made: Sequence[bytes], rounds: int
) -> None:
    left = iter(range(rounds))

    async def write() -> None:
        async with RawCluster("A", bootstrap) as cluster:
            for number in left:
                batch = made[number % len(made)]
                await cluster.write(
                    {Partition(TopicName(topic), p): batch for p in range(partitions)}
                )

    async with asyncio.TaskGroup() as group:
        for _ in range(_WRITERS):
            group.create_task(write())


def write_compacted(bootstrap: str, topic: str, partitions: int, *, size: int, records: int) -> int:
    """
    Writes keys again and again, and waits until compaction has left gaps in the batches.

    The topic must be made for it: small segments, ``cleanup.policy=compact``.

    Returns:
        How many records are left; the topic is not compacted any more.
    """
    keys = random.Random(records).choices(range(records * 3 // 5), k=records)
    producer = _producer(bootstrap, {"batch.size": 65_536})
    for number, (key, value) in enumerate(zip(keys, values(size), strict=False)):
        # A key stays in its partition, or nothing would be compacted.
        producer.produce(topic, value, key=b"%08d" % key, partition=key % partitions)
        _pace(producer, number)
    _flush(producer, topic)
    left = _compacted(bootstrap, topic, partitions, records)
    _keep_all(bootstrap, topic)
    return left


def _compacted(bootstrap: str, topic: str, partitions: int, records: int) -> int:
    deadline = time.monotonic() + _CLEANED_WITHIN_S
    before, left = records, count(bootstrap, topic, partitions)
    while left > records * 0.8 or left != before:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{topic} is not compacted: {left} of {records} records are left")
        time.sleep(1)
        before, left = left, count(bootstrap, topic, partitions)
    return left


def _keep_all(bootstrap: str, topic: str) -> None:
    resource = client.ConfigResource(client.ResourceType.TOPIC, topic)
    kept = {"cleanup.policy": "delete", "retention.ms": "-1"}
    for key, value in kept.items():
        entry = client.ConfigEntry(key, value, incremental_operation=client.AlterConfigOpType.SET)
        resource.add_incremental_config(entry)
    admin = client.AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(20)


def write_transactions(
    bootstrap: str, topic: str, partitions: int, *, size: int, records: int, in_each: int
) -> int:
    """
    Writes transactions of two producers, interleaved; each fourth is aborted.

    Returns:
        How many records are committed.
    """
    producers = [
        _producer(bootstrap, {"batch.size": 16_384, "transactional.id": f"{topic}-{number}"})
        for number in range(2)
    ]
    for producer in producers:
        producer.init_transactions(20)
    committed = 0
    endless = values(size)
    for number in range(records // (2 * in_each)):
        for producer in producers:
            producer.begin_transaction()
        for record in range(in_each):
            for producer in producers:
                producer.produce(topic, next(endless), partition=record % partitions)
                _pace(producer, record)
        first, second = producers
        first.commit_transaction(20)
        # Records that are not sent yet would be thrown away, and leave nothing to filter.
        second.flush(20)
        (second.abort_transaction if number % 2 else second.commit_transaction)(20)
        committed += in_each if number % 2 else 2 * in_each
    return committed


def count(bootstrap: str, topic: str, partitions: int) -> int:
    """How many records a topic has, read one by one."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.partition.eof": False,
            "fetch.wait.max.ms": 10,
            "queued.min.messages": 1_000_000,
        }
    )
    where = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)]
    consumer.assign(where)
    ends = {p.partition: consumer.get_watermark_offsets(p, timeout=10)[1] for p in where}
    found = 0
    while _is_short(consumer, where, ends):
        found += len(consumer.consume(50_000, timeout=0.2))
    consumer.close()
    return found


def _is_short(consumer: Consumer, where: list[TopicPartition], ends: Mapping[int, int]) -> bool:
    return any(p.offset < ends[p.partition] for p in consumer.position(where))


def _producer(bootstrap: str, settings: Mapping[str, str | int]) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": 0,
            "acks": "all",
            "compression.type": "lz4",
            "linger.ms": 50,
            "queue.buffering.max.messages": 2 * _FULL_QUEUE,
            "queue.buffering.max.kbytes": 1 << 19,
            **settings,
        }
    )


def _pace(producer: Producer, number: int) -> None:
    if number % 10_000 == 0:
        while len(producer) > _FULL_QUEUE:
            producer.poll(0.05)


def _flush(producer: Producer, topic: str) -> None:
    if left := producer.flush(120):
        raise RuntimeError(f"{left} records of {topic} could not be written")
