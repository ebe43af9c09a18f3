"""
What it takes to give a running flow other settings: one table, key by key.

Nobody else decides this; the reference page is written from the same table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final


class Effect(Enum):
    """What a changed setting has the flow do; the value says it for people."""

    TASKS = "tasks take it over while they run"
    TOPICS = "topics are looked at anew; partitions that stay are not touched"
    SHARES = "partitions are divided anew; only those that move are drained, each by itself"
    CHECKPOINTS = "the flow of checkpoints starts again; copying goes on"
    HEARTBEATS = "the flow of heartbeats starts again; copying goes on"
    BUNDLES = "tasks drain and start again, one after the other"
    FLOW = "the whole flow drains and starts again; the process and other flows go on"
    PROCESS = "counts from the next start of the process"
    FIXED = "says which flow this is: cannot be altered, and needs another start of the process"
    NEW_ONLY = "counts for what is created from now on"
    VALUES = "says how expressions are read: counts when the file is read, by SIGHUP too"
    NONE = "nothing reads it"


Effects = frozenset[Effect]


def _of(*effects: Effect) -> Effects:
    return frozenset(effects)


_CONNECTOR: Final[Mapping[str, Effects]] = {
    **dict.fromkeys(("flow.byte.rate.limit",), _of(Effect.TASKS)),
    **dict.fromkeys(
        ("topics", "topics.exclude", "topic.filter.class"), _of(Effect.TOPICS, Effect.CHECKPOINTS)
    ),
    **dict.fromkeys(
        (
            "config.properties.exclude",
            "config.property.filter.class",
            "heartbeats.replication.enabled",
            "refresh.topics.enabled",
            "refresh.topics.interval.seconds",
            "replication.factor",
            "replication.factor.default.from",
            "source.topic.deleted.policy",
            "sync.topic.acls.delete.enabled",
            "sync.topic.acls.enabled",
            "sync.topic.acls.interval.seconds",
            "sync.topic.acls.prefixed.enabled",
            "sync.topic.acls.same.name",
            "sync.topic.configs.enabled",
            "sync.topic.configs.interval.seconds",
            "use.defaults.from",
        ),
        _of(Effect.TOPICS),
    ),
    **dict.fromkeys(
        ("tasks.max", "assignment.strategy", "assignment.balance.interval.seconds"),
        _of(Effect.SHARES),
    ),
    **dict.fromkeys(
        (
            "checkpoints.deleted.groups.policy",
            "emit.checkpoints.enabled",
            "emit.checkpoints.follow.commits.enabled",
            "emit.checkpoints.interval.seconds",
            "group.filter.class",
            "groups",
            "groups.exclude",
            "refresh.groups.enabled",
            "refresh.groups.interval.seconds",
            "reverse.checkpointing.enabled",
            "sync.group.offsets.enabled",
            "sync.group.offsets.interval.seconds",
        ),
        _of(Effect.CHECKPOINTS),
    ),
    **dict.fromkeys(
        ("emit.heartbeats.enabled", "emit.heartbeats.interval.seconds"), _of(Effect.HEARTBEATS)
    ),
    **dict.fromkeys(
        (
            "emit.offset-syncs.enabled",
            "offset-syncs.topic.location",
        ),
        _of(Effect.BUNDLES, Effect.CHECKPOINTS),
    ),
    **dict.fromkeys(
        (
            "decompressed.batch.max.bytes",
            "emit.offset-runs.enabled",
            "errors.deadletterqueue.context.headers.enable",
            "errors.deadletterqueue.topic.name",
            "errors.log.enable",
            "errors.log.include.messages",
            "errors.retry.delay.max.ms",
            "errors.retry.timeout",
            "errors.tolerance",
            "offset.lag.max",
            "source.gap.policy",
            "source.hanging.transaction.timeout.ms",
            "source.start.offsets",
            "target.topic.deleted.policy",
            "transaction.boundary",
            "transaction.boundary.interval.ms",
        ),
        _of(Effect.BUNDLES),
    ),
    **dict.fromkeys(
        (
            "admin.timeout.ms",
            "enabled",
            "forwarding.admin.class",
            "replication.policy.class",
            "replication.policy.internal.topic.separator.enabled",
            "replication.policy.separator",
        ),
        _of(Effect.FLOW),
    ),
    **dict.fromkeys(
        ("name", "connector.class", "source.cluster.alias", "target.cluster.alias"),
        _of(Effect.FIXED),
    ),
    **dict.fromkeys(
        (
            "checkpoints.topic.replication.factor",
            "checkpoints.topic.retention.ms",
            "errors.deadletterqueue.topic.replication.factor",
            "heartbeats.topic.replication.factor",
            "heartbeats.topic.retention.ms",
            "offset-syncs.topic.replication.factor",
            "offset.syncs.topic.retention.ms",
        ),
        _of(Effect.NEW_ONLY),
    ),
    "config.providers": _of(Effect.VALUES),
    **dict.fromkeys(
        (
            "config.action.reload",
            "connector.plugin.version",
            "consumer.poll.timeout.ms",
            "exactly.once.support",
            "header.converter",
            "header.converter.plugin.version",
            "key.converter",
            "key.converter.plugin.version",
            "metric.names.formats",
            "metric.reporters",
            "offsets.storage.topic",
            "predicates",
            "tasks.max.enforce",
            "transforms",
            "value.converter",
            "value.converter.plugin.version",
        ),
        _of(Effect.NONE),
    ),
}

_CONNECTOR_PREFIXES: Final[tuple[tuple[str, Effects], ...]] = (
    ("producer.override.", _of(Effect.BUNDLES)),
    ("consumer.override.", _of(Effect.NONE)),
    ("admin.override.", _of(Effect.NONE)),
    ("config.providers.", _of(Effect.VALUES)),
    *(
        (name, _of(Effect.NONE))
        for name in (
            "header.converter.",
            "key.converter.",
            "predicates.",
            "topic.creation.",
            "transforms.",
            "value.converter.",
        )
    ),
    *(
        (f"{side}{kind}.", _of(Effect.BUNDLES, Effect.CHECKPOINTS, Effect.HEARTBEATS))
        for side in ("", "source.", "target.")
        for kind in ("consumer", "producer")
    ),
)
"""The first that fits counts; a key that fits none, a plug-in's say, has the flow start anew."""

_WORKER: Final[Mapping[str, Effects]] = {
    "offset.flush.interval.ms": _of(Effect.TASKS),
    **dict.fromkeys(
        (
            "config.storage.topic",
            "group.id",
            "offset.storage.partitions",
            "offset.storage.topic",
            "status.storage.topic",
        ),
        _of(Effect.FIXED),
    ),
    **dict.fromkeys(
        (
            "connector.client.config.override.allowlist",
            "connector.client.config.override.policy",
            "task.shutdown.graceful.timeout.ms",
        ),
        _of(Effect.BUNDLES),
    ),
    **dict.fromkeys(
        (
            "config.storage.replication.factor",
            "offset.storage.replication.factor",
            "status.storage.partitions",
            "status.storage.replication.factor",
        ),
        _of(Effect.NEW_ONLY),
    ),
    **dict.fromkeys(
        (
            "exactly.once.source.support",
            "heartbeat.interval.ms",
            "rebalance.timeout.ms",
            "session.timeout.ms",
        ),
        _of(Effect.FLOW),
    ),
    **dict.fromkeys(
        (
            "connect.protocol",
            "header.converter",
            "inter.worker.key.generation.algorithm",
            "inter.worker.key.size",
            "inter.worker.key.ttl.ms",
            "inter.worker.signature.algorithm",
            "inter.worker.verification.algorithms",
            "key.converter",
            "metrics.num.samples",
            "metrics.recording.level",
            "metrics.sample.window.ms",
            "offset.flush.timeout.ms",
            "plugin.discovery",
            "plugin.path",
            "scheduled.rebalance.max.delay.ms",
            "topic.creation.enable",
            "topic.tracking.allow.reset",
            "topic.tracking.enable",
            "value.converter",
            "worker.sync.timeout.ms",
            "worker.unsync.backoff.ms",
        ),
        _of(Effect.NONE),
    ),
}

_WORKER_PREFIXES: Final[tuple[tuple[str, Effects], ...]] = (
    ("producer.", _of(Effect.BUNDLES)),
    ("consumer.", _of(Effect.NONE)),
    ("admin.", _of(Effect.NONE)),
    ("config.providers", _of(Effect.NONE)),
    ("replication.policy", _of(Effect.NONE)),
)
"""What is behind ``admin.`` and ``replication.policy.`` reaches the flow through its connectors."""

_CLUSTERS: Final = ("source.cluster.", "target.cluster.")

_PROCESS: Final = (
    "access.control.",
    "admin.listeners",
    "dedicated.mode.enable.internal.rest",
    "listeners",
    "plugin.allowed.",
    "response.http.headers.config",
    "rest.",
    "spark.",
    "ssl.client.auth",
)


def effects_in_connector(key: str) -> Effects:
    """
    What follows when a key of the connectors' configuration changes.

    Args:
        key: as connectors see it, without ``A->B.``; a cluster's begins with ``source.cluster.`` or
            ``target.cluster.``.
    """
    if is_of_process(key):
        return _of(Effect.PROCESS)
    if key.startswith(_CLUSTERS) and key not in _CONNECTOR:
        inherited = key.split(".", 2)[2]
        # Workers see the keys of clusters too, and speak for those that are theirs.
        return _of(Effect.NONE) if _is_of_worker(inherited) else _of(Effect.FLOW)
    return _look_up(key, _CONNECTOR, _CONNECTOR_PREFIXES)


def effects_in_worker(key: str) -> Effects:
    """What follows when a key of the worker's configuration changes, written ``B.`` and the key."""
    return _of(Effect.PROCESS) if is_of_process(key) else _look_up(key, _WORKER, _WORKER_PREFIXES)


def is_of_process(key: str) -> bool:
    """Whether a key at top level is read once, when the process starts."""
    return key.startswith(_PROCESS)


def effects_of(connector: Iterable[str], worker: Iterable[str]) -> Effects:
    """
    What follows when keys change together; that the flow starts anew comprises all that is less.

    Args:
        connector: changed keys of the connectors' configuration.
        worker: changed keys of the worker's.
    """
    found = {effect for key in connector for effect in effects_in_connector(key)}
    found |= {effect for key in worker for effect in effects_in_worker(key)}
    if Effect.FIXED in found:
        found.add(Effect.FLOW)
    return frozenset(found - {Effect.NONE, Effect.VALUES})


def changed_keys(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Keys that came, went, or have another value, sorted."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def rows() -> list[tuple[str, Effects]]:
    """The table for people: keys, or how they begin and ``*``; as the connectors' first."""
    table = [*_CONNECTOR.items(), *((f"{name}*", found) for name, found in _CONNECTOR_PREFIXES)]
    own = [*_WORKER.items(), *((f"{name}*", found) for name, found in _WORKER_PREFIXES)]
    table += [(f"B.{name}", found) for name, found in own if found != _of(Effect.NONE)]
    return table


def _is_of_worker(key: str) -> bool:
    return key in _WORKER or is_of_process(key) or key.startswith(("spark.", "config.providers"))


def _look_up(
    key: str, table: Mapping[str, Effects], prefixes: Iterable[tuple[str, Effects]]
) -> Effects:
    if key in table:
        return table[key]
    fitting = (found for prefix, found in prefixes if key.startswith(prefix))
    return next(fitting, _of(Effect.FLOW))
