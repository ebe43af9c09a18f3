"""
Names of what producer, consumer and admin can be set to, beside the client names they share.

Written ``A.producer.<name>``, ``source.consumer.<name>`` and the like. They are not parsed here:
the names serve to tell a misspelt key from one that a client knows, and to pick a client's settings
out of the worker's.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

ClientKind: TypeAlias = Literal["producer", "consumer", "admin"]

_EVERY: Final = frozenset(
    [
        "client.dns.lookup",
        "client.id",
        "config.providers",
        "connections.max.idle.ms",
        "enable.metrics.push",
        "metadata.max.age.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "security.providers",
        "send.buffer.bytes",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    ]
)
_PRODUCER: Final = frozenset(
    [
        "acks",
        "batch.size",
        "buffer.memory",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "delivery.timeout.ms",
        "enable.idempotence",
        "interceptor.classes",
        "key.serializer",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "max.request.size",
        "metadata.max.idle.ms",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.class",
        "partitioner.ignore.keys",
        "retries",
        "transaction.timeout.ms",
        "transaction.two.phase.commit.enable",
        "transactional.id",
        "value.serializer",
    ]
)
_CONSUMER: Final = frozenset(
    [
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "auto.offset.reset",
        "check.crcs",
        "client.rack",
        "default.api.timeout.ms",
        "enable.auto.commit",
        "exclude.internal.topics",
        "fetch.max.bytes",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "interceptor.classes",
        "internal.throw.on.fetch.stable.offset.unsupported",
        "isolation.level",
        "key.deserializer",
        "max.partition.fetch.bytes",
        "max.poll.interval.ms",
        "max.poll.records",
        "partition.assignment.strategy",
        "session.timeout.ms",
        "share.acknowledgement.mode",
        "share.acquire.mode",
        "value.deserializer",
    ]
)
_ADMIN: Final = frozenset({"bootstrap.controllers", "default.api.timeout.ms", "retries"})

CLIENT_KINDS: Final[tuple[ClientKind, ...]] = ("producer", "consumer", "admin")
CLIENT_SETTINGS: Final[dict[ClientKind, frozenset[str]]] = {
    "producer": _EVERY | _PRODUCER,
    "consumer": _EVERY | _CONSUMER,
    "admin": _EVERY | _ADMIN,
}
"""
What each client knows beyond the client names (``ProducerConfig``, ``ConsumerConfig``,
``AdminClientConfig``).
"""
