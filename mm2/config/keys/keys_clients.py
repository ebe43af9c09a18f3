"""
What producer, consumer and admin can be set to, beside the client names they share.

Written ``A.producer.<name>``, ``source.consumer.<name>`` and the like. The names serve to tell a
misspelt key from one that a client knows, and to pick a client's settings out of the worker's; what
mirrored records are read and written with is parsed by ``keys_data``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from mm2.config.keys.definition import Definition, Key
from mm2.config.keys.key_types import Type

ClientKind: TypeAlias = Literal["producer", "consumer", "admin"]
_Row: TypeAlias = tuple[str, ...]
"""Java's default, why a key is not obeyed, and other values that ask for nothing."""

_BYTES: Final = "org.apache.kafka.common.serialization.ByteArray"
_JAVA: Final = "mm2 cannot load Java classes"
_NO_GROUP: Final = "mm2 reads without a consumer group"
_GOES_ON: Final = "mm2 goes on trying"
_PARTITION: Final = "records keep their partition"
_OWN_PAUSES: Final = "only clients of administration obey it; this one has its own"
_METRICS: Final = "mm2 has metrics of its own"

_OBEYED_BY_EVERY: Final = (
    "client.id",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "request.timeout.ms",
    "retry.backoff.ms",
)
_OBEYED_BY_ADMINS: Final[Mapping[str, _Row]] = {
    "receive.buffer.bytes": ("65536", _OWN_PAUSES),
    "reconnect.backoff.max.ms": ("1000", _OWN_PAUSES),
    "reconnect.backoff.ms": ("50", _OWN_PAUSES),
    "retry.backoff.max.ms": ("1000", _OWN_PAUSES),
    "send.buffer.bytes": ("131072", _OWN_PAUSES),
    "socket.connection.setup.timeout.ms": ("10000", _OWN_PAUSES),
}
_HARMLESS: Final[Mapping[str, _Row]] = {
    "client.dns.lookup": (
        "use_all_dns_ips",
        "all addresses of a name are tried, and names are used as they are given",
    ),
    "enable.metrics.push": ("true", _METRICS, "false"),
    "metadata.recovery.rebootstrap.trigger.ms": (
        "300000",
        "mm2 asks bootstrap.servers again as soon as no known broker answers",
    ),
    "metadata.recovery.strategy": (
        "rebootstrap",
        "mm2 always asks bootstrap.servers again when no known broker answers",
    ),
    "metric.reporters": ("org.apache.kafka.common.metrics.JmxReporter", _JAVA),
    "metrics.num.samples": ("2", _METRICS),
    "metrics.recording.level": ("INFO", _METRICS),
    "metrics.sample.window.ms": ("30000", _METRICS),
    "security.providers": ("", "security providers belong to the JVM"),
    "socket.connection.setup.timeout.max.ms": (
        "30000",
        "the time for an attempt to connect does not grow",
    ),
}
_HARMLESS_TO_PRODUCERS: Final[Mapping[str, _Row]] = {
    "acks": ("all", "mm2 always waits for all in-sync replicas", "-1"),
    "delivery.timeout.ms": ("2147483647", f"{_GOES_ON}, as Java does unless told otherwise"),
    "enable.idempotence": ("true", "mm2's producer is always idempotent"),
    "linger.ms": ("0", "mm2 waits for nothing; what has piled up goes together"),
    "max.block.ms": ("9223372036854775807", "mm2 reads no more than it has room for"),
    "max.in.flight.requests.per.connection": ("1", "mm2 keeps order with five", "5"),
    "metadata.max.idle.ms": ("300000", "mm2 asks about the topics that it writes to"),
    "partitioner.adaptive.partitioning.enable": ("true", _PARTITION),
    "partitioner.availability.timeout.ms": ("0", _PARTITION),
    "partitioner.class": ("", _PARTITION),
    "partitioner.ignore.keys": ("false", _PARTITION),
    "retries": ("2147483647", _GOES_ON),
    "transaction.two.phase.commit.enable": ("false", "transactions are mm2's own"),
    "transactional.id": ("", "mm2 names its transactions as Connect does"),
}
_HARMLESS_TO_CONSUMERS: Final[Mapping[str, _Row]] = {
    "allow.auto.create.topics": ("true", "reading creates no topics", "false"),
    "auto.commit.interval.ms": ("5000", _NO_GROUP),
    "check.crcs": ("true", "mm2 checks every batch"),
    "default.api.timeout.ms": ("60000", _GOES_ON),
    "enable.auto.commit": ("false", _NO_GROUP),
    "exclude.internal.topics": ("true", "topics.exclude says what is not mirrored"),
    "group.id": ("", _NO_GROUP),
    "group.instance.id": ("", _NO_GROUP),
    "group.protocol": ("classic", _NO_GROUP),
    "group.remote.assignor": ("", _NO_GROUP),
    "heartbeat.interval.ms": ("3000", _NO_GROUP),
    "internal.throw.on.fetch.stable.offset.unsupported": ("false", "it is Kafka's own"),
    "key.deserializer": (f"{_BYTES}Deserializer", "mm2 copies bytes, as Java does"),
    "max.poll.interval.ms": ("300000", _NO_GROUP),
    "max.poll.records": ("500", "fetch.max.bytes limits what mm2 reads at a time"),
    "partition.assignment.strategy": ("", _NO_GROUP),
    "session.timeout.ms": ("45000", _NO_GROUP),
    "share.acknowledgement.mode": ("implicit", _NO_GROUP),
    "share.acquire.mode": ("batch_optimized", _NO_GROUP),
    "value.deserializer": (f"{_BYTES}Deserializer", "mm2 copies bytes, as Java does"),
}
_ELSEWHERE: Final = "Remove the key, or run the flow in Kafka's own MirrorMaker"
_INTERCEPTED: Final[_Row] = (
    "",
    f"records are copied unchanged, without interceptors. {_ELSEWHERE}",
)
_SERIALIZED: Final[_Row] = (
    f"{_BYTES}Serializer",
    f"records are copied as bytes. {_ELSEWHERE}",
)
_PROVIDED: Final[_Row] = ("", "write config.providers without a prefix, at top level")


_client: Final = partial(Key, importance="MEDIUM", definitions=frozenset({Definition.DATA}))


def _rows(
    *, obeyed: tuple[str, ...], harmless: Mapping[str, _Row], refused: Mapping[str, _Row]
) -> Mapping[str, Key]:
    rows = {name: _client(name, Type.STRING, "", "") for name in obeyed}
    for name, (default, reason, *accepted) in harmless.items():
        rows[name] = _client(
            name, Type.STRING, default, "", ignored=reason, accepted=tuple(accepted)
        )
    for name, (default, reason) in refused.items():
        rows[name] = _client(name, Type.STRING, default, "", refused=reason)
    return MappingProxyType(rows)


CLIENT_KINDS: Final[tuple[ClientKind, ...]] = ("producer", "consumer", "admin")
CLIENT_ROWS: Final[Mapping[ClientKind, Mapping[str, Key]]] = {
    "producer": _rows(
        obeyed=(
            *_OBEYED_BY_EVERY,
            "batch.size",
            "buffer.memory",
            "compression.gzip.level",
            "compression.lz4.level",
            "compression.type",
            "compression.zstd.level",
            "max.request.size",
            "transaction.timeout.ms",
        ),
        harmless={**_HARMLESS, **_OBEYED_BY_ADMINS, **_HARMLESS_TO_PRODUCERS},
        refused={
            "config.providers": _PROVIDED,
            "interceptor.classes": _INTERCEPTED,
            "key.serializer": _SERIALIZED,
            "value.serializer": _SERIALIZED,
        },
    ),
    "consumer": _rows(
        obeyed=(
            *_OBEYED_BY_EVERY,
            "auto.offset.reset",
            "client.rack",
            "fetch.max.bytes",
            "fetch.max.wait.ms",
            "fetch.min.bytes",
            "isolation.level",
            "max.partition.fetch.bytes",
        ),
        harmless={**_HARMLESS, **_OBEYED_BY_ADMINS, **_HARMLESS_TO_CONSUMERS},
        refused={"config.providers": _PROVIDED, "interceptor.classes": _INTERCEPTED},
    ),
    "admin": _rows(
        obeyed=(*_OBEYED_BY_EVERY, *_OBEYED_BY_ADMINS, "default.api.timeout.ms"),
        harmless={**_HARMLESS, "retries": ("2147483647", _GOES_ON)},
        refused={
            "bootstrap.controllers": ("", "mm2 talks to brokers: write bootstrap.servers"),
            "config.providers": _PROVIDED,
        },
    ),
}
"""
What each client knows beyond the client names (``ProducerConfig``, ``ConsumerConfig``,
``AdminClientConfig``), and whether it is obeyed.
"""
CLIENT_SETTINGS: Final[Mapping[ClientKind, frozenset[str]]] = {
    kind: frozenset(rows) for kind, rows in CLIENT_ROWS.items()
}
