"""
Keys of ZooKeeper-era clients, and what becomes of each today.

Those are the keys of ``kafka.consumer.ConsumerConfig`` and ``kafka.producer.ProducerConfig`` of
Kafka 0.7 to 0.11, and the keys of today's clients that the tool decides itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mm2.config.legacy.zookeeper_keys import TLS_KEYS


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderKey:
    """
    One row.

    Attributes:
        today: the key that it becomes; empty if it becomes none.
        reason: why it becomes none, and what to write instead.
        values: how single values are written today; others stay as they are.
        harmless: values that ask for what is done anyway.
        is_refused: whether any other value is refused; else it has no effect, and a warning.
    """

    today: str = ""
    reason: str = ""
    values: Mapping[str, str] | None = None
    harmless: frozenset[str] = frozenset()
    is_refused: bool = False


def _renamed(today: str, values: Mapping[str, str] | None = None) -> OlderKey:
    return OlderKey(today=today, values=values)


def _dropped(reason: str, *harmless: str) -> OlderKey:
    return OlderKey(reason=reason, harmless=frozenset(harmless))


def _refused(reason: str, *harmless: str) -> OlderKey:
    return OlderKey(reason=reason, harmless=frozenset(harmless), is_refused=True)


_BYTES: Final = "org.apache.kafka.common.serialization.ByteArray"
_GROUP: Final = (
    "Kafka's own group protocol takes the place of ZooKeeper, unless offsets.storage=zookeeper or"
    " dual.commit.enabled=true"
)
_COMMITS: Final = (
    "offsets are committed only for what the target has acknowledged, every"
    " --offset.commit.interval.ms"
)
_MEMORY: Final = "buffer.memory of the producer's file limits what waits in memory"
_FOR_EVER: Final = "retriable failures are retried without end, so that nothing is lost"
_IDEMPOTENT: Final = (
    "the producer is idempotent, which keeps the order with five requests under way"
)
_BLOCKS: Final = "a full buffer always blocks, so that nothing is dropped"
_INTERCEPTED: Final = (
    "no class of Java's can be loaded, so that records would be copied unchanged: remove the key,"
    " or write a message handler"
)
_REPORTED: Final = "no class of Java's can be loaded; --metrics.listener shows metrics"
_REPORTER: Final = "org.apache.kafka.common.metrics.JmxReporter"
_KEEP: Final = "records keep their partition, or go where keys lead with --repartition"
_BY_KEYS: Final = "org.apache.kafka.clients.producer.internals.DefaultPartitioner"
_NAMES: Final = "broker names are resolved whenever a connection is made"
_ASSIGNORS: Final = {
    "org.apache.kafka.clients.consumer.RangeAssignor": "range",
    "org.apache.kafka.clients.consumer.RoundRobinAssignor": "roundrobin",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor": "cooperative-sticky",
}
COOPERATIVE: Final = "cooperative-sticky"
ASSIGNORS: Final = frozenset(_ASSIGNORS.values())
"""What librdkafka has; Java's eager sticky assignor is not among them."""

OLDER_CONSUMER_KEYS: Final[Mapping[str, OlderKey]] = {
    "groupid": _renamed("group.id"),
    "consumer.id": _renamed("client.id"),
    "zk.connect": _dropped(_GROUP),
    "zookeeper.connect": _dropped(_GROUP),
    "zookeeper.connection.timeout.ms": _dropped(_GROUP),
    "zookeeper.session.timeout.ms": _dropped(_GROUP),
    "zookeeper.sync.time.ms": _dropped(_GROUP),
    **dict.fromkeys(sorted(TLS_KEYS), _dropped(_GROUP)),
    "zk.connectiontimeout.ms": _dropped(_GROUP),
    "zk.sessiontimeout.ms": _dropped(_GROUP),
    "zk.synctime.ms": _dropped(_GROUP),
    "rebalance.backoff.ms": _dropped(_GROUP),
    "rebalance.max.retries": _dropped(_GROUP),
    "auto.commit.enable": _dropped(_COMMITS, "false"),
    "auto.commit.enabled": _dropped(_COMMITS, "false"),
    "autocommit.enable": _dropped(_COMMITS, "false"),
    "enable.auto.commit": _dropped(_COMMITS, "false"),
    "auto.commit.interval.ms": _dropped(_COMMITS),
    "autocommit.interval.ms": _dropped(_COMMITS),
    "offsets.commit.max.retries": _dropped("a commit that fails is made again with the next one"),
    "offsets.channel.backoff.ms": _dropped(_GROUP),
    "offsets.channel.socket.timeout.ms": _dropped(_GROUP),
    "offsets.storage": _refused("write kafka or zookeeper", "kafka"),
    "dual.commit.enabled": _refused("write true or false", "false"),
    "autooffset.reset": _renamed(
        "auto.offset.reset", {"smallest": "earliest", "largest": "latest"}
    ),
    "fetch.message.max.bytes": _renamed("max.partition.fetch.bytes"),
    "fetch.size": _renamed("max.partition.fetch.bytes"),
    "fetch.wait.max.ms": _renamed("fetch.max.wait.ms"),
    "socket.timeout.ms": _renamed("request.timeout.ms"),
    "socket.receive.buffer.bytes": _renamed("receive.buffer.bytes"),
    "socket.buffersize": _renamed("receive.buffer.bytes"),
    "refresh.leader.backoff.ms": _renamed("retry.backoff.ms"),
    "consumer.timeout.ms": _dropped("a stream waits for records without end", "-1"),
    "num.consumer.fetchers": _dropped("a stream fetches from each broker by itself"),
    "queued.max.message.chunks": _dropped(_MEMORY),
    "queued.max.messages": _dropped(_MEMORY),
    "max.poll.records": _dropped(_MEMORY),
    "shallow.iterator.enable": _dropped("batches are always copied without being taken apart"),
    "mirror.topics.whitelist": _refused("write the topics as --include on the command line"),
    "mirror.topics.blacklist": _refused("write the topics as --blacklist on the command line"),
    "key.deserializer": _dropped("records are copied as bytes", f"{_BYTES}Deserializer"),
    "value.deserializer": _dropped("records are copied as bytes", f"{_BYTES}Deserializer"),
    "interceptor.classes": _refused(_INTERCEPTED, ""),
    "metric.reporters": _dropped(_REPORTED, "", _REPORTER),
    "client.dns.lookup": _dropped(_NAMES),
    "allow.auto.create.topics": _dropped("no topic is created on the source"),
    "check.crcs": _dropped("checksums are computed anew"),
}

OLDER_PRODUCER_KEYS: Final[Mapping[str, OlderKey]] = {
    "metadata.broker.list": _renamed("bootstrap.servers"),
    "broker.list": _refused("write bootstrap.servers=host:port,..., without the ids of brokers"),
    "request.required.acks": _dropped(
        "a copy counts when all replicas in sync have it, so that nothing is lost", "-1", "all"
    ),
    "acks": _dropped(
        "a copy counts when all replicas in sync have it, so that nothing is lost", "-1", "all"
    ),
    "producer.type": _dropped("copies are sent in batches, and acknowledged before they count"),
    "serializer.class": _dropped("records are copied as bytes", "kafka.serializer.DefaultEncoder"),
    "key.serializer.class": _dropped(
        "records are copied as bytes", "kafka.serializer.DefaultEncoder"
    ),
    "key.serializer": _dropped("records are copied as bytes", f"{_BYTES}Serializer"),
    "value.serializer": _dropped("records are copied as bytes", f"{_BYTES}Serializer"),
    "partitioner.class": _refused(
        "write a message handler that sets the partition, or --repartition",
        *("", "kafka.producer.DefaultPartitioner"),
    ),
    "partitioner.ignore.keys": _dropped(_KEEP, "false"),
    "partitioner.adaptive.partitioning.enable": _dropped(_KEEP),
    "partitioner.availability.timeout.ms": _dropped(_KEEP, "0"),
    "compression.codec": _renamed(
        "compression.type", {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4"}
    ),
    "compressed.topics": _dropped("compression.type counts for all topics", ""),
    "message.send.max.retries": _dropped(_FOR_EVER),
    "num.retries": _dropped(_FOR_EVER),
    "retries": _dropped(_FOR_EVER, "2147483647"),
    "delivery.timeout.ms": _dropped(_FOR_EVER, "2147483647"),
    "topic.metadata.refresh.interval.ms": _renamed("metadata.max.age.ms"),
    "queue.buffering.max.ms": _renamed("linger.ms"),
    "queue.time": _renamed("linger.ms"),
    "queue.buffering.max.messages": _dropped(_MEMORY),
    "queue.size": _dropped(_MEMORY),
    "queue.enqueue.timeout.ms": _dropped(_BLOCKS, "-1"),
    "block.on.buffer.full": _dropped(_BLOCKS, "true"),
    "max.block.ms": _dropped(_BLOCKS, "9223372036854775807"),
    "metadata.fetch.timeout.ms": _dropped(_FOR_EVER),
    "batch.num.messages": _dropped("batch.size limits batches that are made into one"),
    "batch.size.messages": _dropped("batch.size limits batches that are made into one"),
    "timeout.ms": _renamed("request.timeout.ms"),
    "max.in.flight.requests.per.connection": _dropped(_IDEMPOTENT, "1", "5"),
    "enable.idempotence": _dropped(_IDEMPOTENT, "true"),
    "transactional.id": _refused(
        "copies are made at least once, outside of transactions; MirrorMaker 2 copies exactly once"
    ),
    "interceptor.classes": _refused(_INTERCEPTED, ""),
    "metric.reporters": _dropped(_REPORTED, "", _REPORTER),
    "client.dns.lookup": _dropped(_NAMES),
}

REPARTITIONING_KEYS: Final[Mapping[str, OlderKey]] = {
    "partitioner.class": _refused(
        "write a message handler that sets the partition, in place of --repartition",
        *("", "kafka.producer.DefaultPartitioner", _BY_KEYS),
    ),
    "partitioner.ignore.keys": _refused(
        "with --repartition keys lead to partitions: leave one of them out", "false"
    ),
}
"""Keys of the producer that mean something else with ``--repartition``."""

_RESET: Final = {"smallest": "earliest", "largest": "latest"}

OLDER_VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    "auto.offset.reset": _RESET,
    "partition.assignment.strategy": _ASSIGNORS,
}
"""Older spellings of values under keys that still have their name."""
