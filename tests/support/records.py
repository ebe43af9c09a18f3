"""
Produces and consumes whole records with confluent-kafka, to check copies against.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition as AssignedPartition
from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias
from tests.support.eventually import PATIENCE_S
from tests.support.in_time import in_time

_NO_COORDINATOR_YET = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._WAIT_COORD,
}
"""A broker that has just started, or stood still for long, is asked again for its groups."""

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
DEADLINE_S = PATIENCE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """
    One record, as written or as read.

    Attributes:
        timestamp_ms: None lets the client choose.
        offset: -1 while it is not written.
        append_time: the broker set the timestamp.
    """

    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0
    timestamp_ms: int | None = None
    offset: int = -1
    append_time: bool = False

    @property
    def content(self) -> tuple[object, ...]:
        """All that a mirror must keep."""
        return (self.key, self.value, self.headers, self.partition, self.timestamp_ms)


def numbered(first: int, count: int, partitions: int = 1) -> list[Sample]:
    """Records whose values count up, dealt out to partitions."""
    return [
        Sample(value=str(n).encode(), partition=n % partitions) for n in range(first, first + count)
    ]


def heartbeat(timestamp_ms: int = 5) -> Sample:
    """A heartbeat of some other mirror."""
    beat = Heartbeat(ClusterAlias("X"), ClusterAlias("A"), timestamp_ms)
    return Sample(key=beat.key(), value=beat.value(), timestamp_ms=timestamp_ms)


def create_topic(
    bootstrap: str,
    topic: str,
    partitions: int = 1,
    configs: Mapping[str, str] | None = None,
    *,
    replication_factor: int = 1,
) -> None:
    """Creates a topic and waits until the cluster answers for it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(topic, partitions, replication_factor, config=dict(configs or {}))
    admin.create_topics([new])[topic].result(DEADLINE_S)
    deadline = time.monotonic() + DEADLINE_S
    while topic not in admin.list_topics(timeout=DEADLINE_S).topics:
        if time.monotonic() > deadline:
            raise AssertionError(f"the topic {topic} does not appear")
        time.sleep(0.02)


def send(producer: Producer, topic: str, samples: Iterable[Sample]) -> list[object]:
    """Has a producer write the records; what fails comes into the list that is given back."""
    failures: list[object] = []

    def acknowledged(error: object, _: Message) -> None:
        if error:
            failures.append(error)

    for sample in samples:
        producer.produce(
            topic,
            key=sample.key,
            value=sample.value,
            headers=list(sample.headers),
            partition=sample.partition,
            timestamp=sample.timestamp_ms or 0,
            on_delivery=acknowledged,
        )
        producer.poll(0)
    return failures


def produce(
    bootstrap: str,
    topic: str,
    samples: Iterable[Sample],
    *,
    codec: str = "none",
    settings: Mapping[str, str | int] | None = None,
) -> None:
    """Writes the records, each to its own partition, and waits for all acknowledgements."""
    config = {"bootstrap.servers": bootstrap, "compression.type": codec, "acks": "all"}
    producer = Producer({**config, **(settings or {})})
    failures = send(producer, topic, samples)
    unsent = producer.flush(DEADLINE_S)
    if unsent or failures:
        raise AssertionError(f"{unsent} records unsent; {failures[:1]}")


def produce_transaction(
    bootstrap: str, topic: str, samples: Iterable[Sample], *, commit: bool = True
) -> None:
    """
    Writes the records in one transaction of its own, and commits or aborts it.

    Its markers are there then, which are written after the answer to whoever ends it.
    """
    settings = {
        "bootstrap.servers": bootstrap,
        "transactional.id": f"transaction-{uuid.uuid4().hex}",
    }
    producer = Producer(settings)
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    send(producer, topic, samples)
    if commit:
        producer.commit_transaction(DEADLINE_S)
    else:
        producer.flush(DEADLINE_S)
        producer.abort_transaction(DEADLINE_S)
    # Who asks for the id anew is answered once the transaction is complete.
    Producer(settings).init_transactions(DEADLINE_S)


def consume(
    bootstrap: str,
    topic: str,
    count: int,
    *,
    timeout: float = DEADLINE_S,
    settings: Mapping[str, str | int] | None = None,
) -> list[Sample]:
    """
    Reads ``count`` records of the whole topic, sorted by partition and offset.

    Fails with what arrived when there are fewer within ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    found: list[Sample] = []
    with _consumer(bootstrap, settings or {}) as consumer:
        consumer.assign(_partitions(consumer, topic, timeout))
        while len(found) < count:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                found.append(_sample(message))
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(found)} of {count} records of {topic} in {timeout} s")
    return sorted(found, key=lambda sample: (sample.partition, sample.offset))


def everything(
    bootstrap: str, topic: str, *, settings: Mapping[str, str | int] | None = None
) -> list[Sample]:
    """All records of partition 0 up to its end, as a consumer sees them."""
    found: list[Sample] = []
    with _consumer(bootstrap, {"enable.partition.eof": 1, **(settings or {})}) as consumer:
        consumer.assign(_partitions(consumer, topic)[:1])
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                found.append(_sample(message))
            elif error.code() == KafkaError._PARTITION_EOF:
                return found
    raise AssertionError(f"no end of {topic} after {len(found)} records in {DEADLINE_S} s")


def ends(bootstrap: str, topics: Sequence[str]) -> list[int]:
    """The end offsets of partition 0 of each topic."""
    with _consumer(bootstrap, {}) as consumer:
        return [
            consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=DEADLINE_S)[1]
            for topic in topics
        ]


def committed(bootstrap: str, topic: str) -> list[Sample]:
    """All that a reader of committed records sees of a topic now, by partition and offset."""
    found: list[Sample] = []
    settings: dict[str, str | int] = {
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
    }
    deadline = time.monotonic() + DEADLINE_S
    with _consumer(bootstrap, settings) as consumer:
        partitions = _partitions(consumer, topic)
        consumer.assign(partitions)
        open_ = {each.partition for each in partitions}
        while open_:
            message = consumer.poll(0.1)
            if message is not None and (error := message.error()) is None:
                found.append(_sample(message))
            elif message is not None and error and error.code() == KafkaError._PARTITION_EOF:
                open_.discard(message.partition() or 0)
            if time.monotonic() > deadline:
                raise AssertionError(f"{topic} is not read to its end in {DEADLINE_S} s")
    return sorted(found, key=lambda sample: (sample.partition, sample.offset))


def commit_group(bootstrap: str, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Commits offsets for a group that has no members."""
    with _consumer(bootstrap, {"group.id": group}) as consumer:
        positions = [TopicPartition(*where, offset) for where, offset in offsets.items()]
        deadline = time.monotonic() + DEADLINE_S
        while True:
            try:
                in_time(lambda: consumer.commit(offsets=positions, asynchronous=False))
            except KafkaException as error:
                if error.args[0].code() not in _NO_COORDINATOR_YET or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return


async def commit_with_metadata(
    bootstrap: str, group: str, offsets: Mapping[tuple[str, int], tuple[int, str]]
) -> None:
    """
    Commits offsets with metadata for a group that has no members.

    Not with confluent-kafka, which appends a NUL character to them.
    """
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False
    )
    await consumer.start()
    try:
        consumer.assign([AssignedPartition(*where) for where in offsets])
        await consumer.commit(
            {AssignedPartition(*where): offset for where, offset in offsets.items()}
        )
    finally:
        await consumer.stop()


@contextmanager
def group_member(
    bootstrap: str,
    group: str,
    topics: Sequence[str],
    settings: Mapping[str, str | int] | None = None,
) -> Iterator[Consumer]:
    """A live member of a group, which has joined, and has read nothing yet."""
    with _consumer(bootstrap, {"group.id": group, **(settings or {})}) as consumer:
        consumer.subscribe(list(topics))
        deadline = time.monotonic() + DEADLINE_S
        while not consumer.assignment():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                at = message.partition() or 0, message.offset() or 0
                consumer.seek(TopicPartition(message.topic() or "", *at))
            if time.monotonic() > deadline:
                raise AssertionError(f"no assignment in group {group} in {DEADLINE_S} s")
        yield consumer


@contextmanager
def _consumer(bootstrap: str, settings: Mapping[str, str | int]) -> Iterator[Consumer]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"test-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **settings,
        }
    )
    try:
        yield consumer
    finally:
        in_time(consumer.close)


def _partitions(
    consumer: Consumer, topic: str, timeout: float = DEADLINE_S
) -> list[TopicPartition]:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            known = consumer.list_topics(topic, timeout=DEADLINE_S).topics[topic]
        except KafkaException:
            continue
        if known.error is None and known.partitions:
            return [TopicPartition(topic, number, OFFSET_BEGINNING) for number in known.partitions]
        time.sleep(0.05)
    raise AssertionError(f"the topic {topic} does not exist")


def _headers(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    pairs = message.headers() or []
    assert isinstance(pairs, list)
    return tuple((key, value.encode() if isinstance(value, str) else value) for key, value in pairs)


def _sample(message: Message) -> Sample:
    kind, timestamp = message.timestamp()
    known = kind in {TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME}
    return Sample(
        key=message.key(),
        value=message.value(),
        headers=_headers(message),
        partition=message.partition() or 0,
        timestamp_ms=timestamp if known else None,
        offset=message.offset() or 0,
        append_time=kind == TIMESTAMP_LOG_APPEND_TIME,
    )
