"""
The keys of the worker of a target cluster, written ``B.<key>``: Java's ``DistributedConfig``.

Those without effect belong to machinery of Connect that does not exist here.
"""

from __future__ import annotations

from typing import Final

from mm2.config.checks.client_override_policy import known_policy
from mm2.config.keys.definition import (
    Check,
    Definition,
    Key,
    Type,
    Value,
    between,
    harmless,
    one_of,
    one_of_any_case,
)

DEFAULT_SHUTDOWN_TIMEOUT_MS: Final = 8_000
"""Time in which a task may drain when the user is silent; Java's is 5,000."""

_WORKER: Final = frozenset({Definition.WORKER})


def _positive_or_default(value: Value) -> str | None:
    ok = isinstance(value, int) and (value > 0 or value == -1)
    return None if ok else "must be positive, or -1 for the broker's default"


def _key(name: str, type_: Type, default: str | None, doc: str, check: Check | None = None) -> Key:
    return Key(
        name=name,
        type=type_,
        default=default,
        importance="HIGH" if name in _HIGH else "MEDIUM" if name in _MEDIUM else "LOW",
        doc=doc,
        definitions=_WORKER,
        required=name.endswith(".storage.topic") or name == "group.id",
        check=check,
    )


_HIGH: Final = frozenset(
    {
        "config.storage.topic",
        "exactly.once.source.support",
        "group.id",
        "heartbeat.interval.ms",
        "offset.storage.topic",
        "rebalance.timeout.ms",
        "session.timeout.ms",
        "status.storage.topic",
    }
)
_MEDIUM: Final = frozenset(
    {
        "client.dns.lookup",
        "connections.max.idle.ms",
        "connector.client.config.override.policy",
        "receive.buffer.bytes",
        "request.timeout.ms",
        "send.buffer.bytes",
        "worker.sync.timeout.ms",
        "worker.unsync.backoff.ms",
    }
)


def _storage(what: str, topic: str, partitions: str | None) -> tuple[Key, ...]:
    keys = (
        _key(f"{what}.storage.topic", Type.STRING, None, f"Topic that holds {topic}; filled in."),
        _key(
            f"{what}.storage.replication.factor",
            Type.SHORT,
            "3",
            "Replicas of that topic; -1 is the broker's default.",
            _positive_or_default,
        ),
    )
    if partitions is None:
        return keys
    doc = "Partitions of that topic when it is created; -1 is the broker's default."
    return (
        *keys,
        _key(f"{what}.storage.partitions", Type.INT, partitions, doc, _positive_or_default),
    )


_HONOURED: Final = (
    _key(
        "client.id", Type.STRING, "", "Begins the client ids of the worker; filled in as the flow."
    ),
    _key(
        "group.id",
        Type.STRING,
        None,
        "Names the nodes that share the flow; filled in as <source>-mm2.",
    ),
    *_storage("config", "the connectors' configurations", None),
    *_storage("offset", "the positions of mirroring", "25"),
    *_storage("status", "the state of connectors and tasks", "5"),
    _key(
        "offset.flush.interval.ms",
        Type.LONG,
        "60000",
        "How often positions are committed, in ms. Left out, it is 1000 here, where Java "
        "takes 60000.",
    ),
    harmless(
        _key(
            "offset.flush.timeout.ms", Type.LONG, "5000", "Longest wait for such a commit, in ms."
        ),
        "a commit is waited for, however long it takes; copying goes on meanwhile",
    ),
    _key(
        "exactly.once.source.support",
        Type.STRING,
        "disabled",
        "Whether records and positions are written in transactions. Any case.",
        one_of_any_case("disabled", "enabled", "preparing"),
    ),
    _key(
        "connector.client.config.override.policy",
        Type.STRING,
        "All",
        "Which settings of its clients a connector may override (producer.override.*,"
        " consumer.override.*, admin.override.*): All, Principal, None or Allowlist.",
        known_policy,
    ),
    _key(
        "task.shutdown.graceful.timeout.ms",
        Type.LONG,
        "5000",
        "Time in which a task may drain when it stops, in ms. Left out, it is"
        f" {DEFAULT_SHUTDOWN_TIMEOUT_MS} here, where Java takes 5000.",
    ),
)

_CLIENT: Final = (
    harmless(
        _key(
            "client.dns.lookup",
            Type.STRING,
            "use_all_dns_ips",
            "How brokers' names are looked up.",
            one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        ),
        "all addresses of a name are tried, and names are used as they are given",
    ),
    _key(
        "connections.max.idle.ms",
        Type.LONG,
        "540000",
        "Idle time after which connections are closed, in ms.",
    ),
    _key(
        "metadata.max.age.ms",
        Type.LONG,
        "300000",
        "Age at which metadata is read anew, in ms.",
        between(0),
    ),
    harmless(
        _key(
            "metadata.recovery.rebootstrap.trigger.ms",
            Type.LONG,
            "300000",
            "Time without any broker after which bootstrap.servers are asked again, in ms.",
            between(0),
        ),
        "bootstrap.servers are asked again as soon as no known broker answers",
    ),
    harmless(
        _key(
            "metadata.recovery.strategy",
            Type.STRING,
            "rebootstrap",
            "What to do when no known broker answers. Any case.",
            one_of_any_case("rebootstrap", "none"),
        ),
        "bootstrap.servers are always asked again when no known broker answers",
    ),
    _key(
        "receive.buffer.bytes", Type.INT, "32768", "Socket buffer; -1 is the system's.", between(-1)
    ),
    _key(
        "send.buffer.bytes", Type.INT, "131072", "Socket buffer; -1 is the system's.", between(-1)
    ),
    _key(
        "reconnect.backoff.ms",
        Type.LONG,
        "50",
        "First pause between connections, in ms.",
        between(0),
    ),
    _key(
        "reconnect.backoff.max.ms",
        Type.LONG,
        "1000",
        "Longest pause between connections, in ms.",
        between(0),
    ),
    _key("request.timeout.ms", Type.INT, "40000", "Longest wait for an answer, in ms.", between(0)),
    _key("retry.backoff.ms", Type.LONG, "100", "First pause between attempts, in ms.", between(0)),
    _key(
        "retry.backoff.max.ms",
        Type.LONG,
        "1000",
        "Longest pause between attempts, in ms.",
        between(0),
    ),
    _key(
        "socket.connection.setup.timeout.ms",
        Type.LONG,
        "10000",
        "First wait for a connection, in ms.",
        between(0),
    ),
    harmless(
        _key(
            "socket.connection.setup.timeout.max.ms",
            Type.LONG,
            "30000",
            "Longest wait for a connection, in ms.",
            between(0),
        ),
        "the time for an attempt to connect does not grow",
    ),
    _key(
        "session.timeout.ms",
        Type.INT,
        "10000",
        "Silence after which a node counts as gone, in ms. Left out, it is 6000 here, where Java"
        " takes 10000.",
    ),
    _key(
        "heartbeat.interval.ms",
        Type.INT,
        "3000",
        "How often a node reports to its group, in ms, at most a third of the session's timeout."
        " Left out, it is 1000 here, where Java takes 3000.",
    ),
    _key(
        "rebalance.timeout.ms",
        Type.INT,
        "60000",
        "Longest time to join a rebalance, in ms. Left out, it is session.timeout.ms here, where"
        " Java takes 60000.",
    ),
)

_NO_INTERNAL_REST: Final = "nodes talk to each other through Kafka"
_NO_METRICS: Final = "mm2 has metrics of its own"
_NO_PLUGINS: Final = "Java plug-ins cannot be loaded"
_NO_SHARING: Final = "tasks are divided by each flow's leader"
_NO_TRACKING: Final = "topics are those of the assignment, and not collected"
_IGNORED: Final = (
    ("admin.listeners", Type.LIST, None, "there is one set of listeners"),
    ("connect.protocol", Type.STRING, "sessioned", _NO_SHARING),
    ("inter.worker.key.generation.algorithm", Type.STRING, "HmacSHA256", _NO_INTERNAL_REST),
    ("inter.worker.key.size", Type.INT, None, _NO_INTERNAL_REST),
    ("inter.worker.key.ttl.ms", Type.INT, "3600000", _NO_INTERNAL_REST),
    ("inter.worker.signature.algorithm", Type.STRING, "HmacSHA256", _NO_INTERNAL_REST),
    ("inter.worker.verification.algorithms", Type.LIST, "HmacSHA256", _NO_INTERNAL_REST),
    ("metrics.num.samples", Type.INT, "2", _NO_METRICS),
    ("metrics.recording.level", Type.STRING, "INFO", _NO_METRICS),
    ("metrics.sample.window.ms", Type.LONG, "30000", _NO_METRICS),
    ("plugin.path", Type.LIST, None, _NO_PLUGINS),
    ("scheduled.rebalance.max.delay.ms", Type.INT, "300000", _NO_SHARING),
    ("topic.creation.enable", Type.BOOLEAN, "true", "mirroring creates its topics itself"),
    ("topic.tracking.allow.reset", Type.BOOLEAN, "true", _NO_TRACKING),
    ("topic.tracking.enable", Type.BOOLEAN, "true", _NO_TRACKING),
    ("worker.sync.timeout.ms", Type.INT, "3000", _NO_SHARING),
    ("worker.unsync.backoff.ms", Type.INT, "300000", _NO_SHARING),
)

WORKER_KEYS: Final = (
    *_HONOURED,
    *_CLIENT,
    _key(
        "rest.extension.classes",
        Type.LIST,
        "",
        "Extensions of the REST server; Kafka's basic authentication alone is known.",
    ),
    harmless(
        _key(
            "plugin.discovery",
            Type.STRING,
            "hybrid_warn",
            "How plug-ins are found.",
            one_of_any_case("only_scan", "service_load", "hybrid_warn", "hybrid_fail"),
        ),
        _NO_PLUGINS,
    ),
    *(
        harmless(_key(name, type_, default, "Connect's own."), reason)
        for name, type_, default, reason in _IGNORED
    ),
)
