"""
The keys of the worker of a target cluster, written ``B.<key>``: Java's ``DistributedConfig``.

Those without effect belong to machinery of Connect that does not exist here.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Final

from mm2.config.checks.client_override_policy import ALLOWLIST_KEY, POLICY_KEY, known_policy
from mm2.config.keys.definition import Definition, Key
from mm2.config.keys.effects import BUNDLES, FIXED, FLOW, NEW_ONLY, TASKS
from mm2.config.keys.key_types import Type, Value, duration_ms
from mm2.config.keys.value_checks import between, items, one_of, one_of_any_case

_worker: Final = partial(Key, definitions=frozenset({Definition.WORKER}))


def _positive_or_default(value: Value) -> str | None:
    ok = isinstance(value, int) and (value > 0 or value == -1)
    return None if ok else "must be positive, or -1 for the broker's default"


def _lower(value: Value) -> str:
    return str(value).lower()


def _not_negative(value: Value) -> timedelta:
    return max(timedelta(), duration_ms(value) or timedelta())


# fmt: off
_OBEYED: Final = (
    _worker("client.id", Type.STRING, "",
        "Begins the client ids of the worker; filled in as the flow."),
    _worker("group.id", Type.STRING, None,
        "Names the nodes that share the flow; filled in as <source>-mm2.", importance="HIGH",
        required=True, field="group_id", effects=FIXED),
    _worker("config.storage.topic", Type.STRING, None,
        "Topic that holds the connectors' configurations; filled in.",
        importance="HIGH", required=True, field="config_topic", effects=FIXED),
    _worker("config.storage.replication.factor", Type.SHORT, "3",
        "Replicas of that topic; -1 is the broker's default.", check=_positive_or_default,
        field="config_replication_factor", effects=NEW_ONLY),
    _worker("offset.storage.topic", Type.STRING, None,
        "Topic that holds the positions of mirroring; filled in.",
        importance="HIGH", required=True, field="offsets_topic", effects=FIXED),
    _worker("offset.storage.replication.factor", Type.SHORT, "3",
        "Replicas of that topic; -1 is the broker's default.", check=_positive_or_default,
        field="offsets_replication_factor", effects=NEW_ONLY),
    _worker("offset.storage.partitions", Type.INT, "25",
        "Partitions of that topic when it is created; -1 is the broker's default.",
        check=_positive_or_default, field="offsets_partitions", effects=FIXED),
    _worker("status.storage.topic", Type.STRING, None,
        "Topic that holds the state of connectors and tasks; filled in.",
        importance="HIGH", required=True, field="status_topic", effects=FIXED),
    _worker("status.storage.replication.factor", Type.SHORT, "3",
        "Replicas of that topic; -1 is the broker's default.", check=_positive_or_default,
        field="status_replication_factor", effects=NEW_ONLY),
    _worker("status.storage.partitions", Type.INT, "5",
        "Partitions of that topic when it is created; -1 is the broker's default.",
        check=_positive_or_default, field="status_partitions", effects=NEW_ONLY),
    _worker("offset.flush.interval.ms", Type.LONG, "60000",
        "How often positions are committed, in ms. Left out, it is 1000 here, where Java takes"
        " 60000. A task that writes more than 2,000 positions a second waits longer. Those of"
        " heartbeats alone are committed each 5 s, except exactly once.",
        mm2_default="1000", field="offset_flush_interval", effects=TASKS),
    _worker("offset.flush.timeout.ms", Type.LONG, "5000", "Longest wait for such a commit, in ms.",
        ignored="a commit is waited for, however long it takes; copying goes on meanwhile"),
    _worker("exactly.once.source.support", Type.STRING, "disabled",
        "Whether records and positions are written in transactions. Any case.", importance="HIGH",
        check=one_of_any_case("disabled", "enabled", "preparing"), field="exactly_once",
        convert=_lower, effects=FLOW),
    _worker("connector.client.config.override.policy", Type.STRING, "All",
        "Which settings of its clients a connector may override (producer.override.*,"
        " consumer.override.*, admin.override.*): All, Principal, None or Allowlist.",
        importance="MEDIUM", check=known_policy, effects=BUNDLES),
    _worker("task.shutdown.graceful.timeout.ms", Type.LONG, "5000",
        "Time in which a task may drain when it stops, in ms. Left out, it is 8000 here, where"
        " Java takes 5000.", mm2_default="8000", field="shutdown_timeout",
        convert=_not_negative, effects=BUNDLES),
)

_CLIENT: Final = (
    _worker("client.dns.lookup", Type.STRING, "use_all_dns_ips",
        "How brokers' names are looked up.", importance="MEDIUM",
        check=one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
        ignored="all addresses of a name are tried, and names are used as they are given"),
    _worker("connections.max.idle.ms", Type.LONG, "540000",
        "Idle time after which connections are closed, in ms.", importance="MEDIUM"),
    _worker("metadata.max.age.ms", Type.LONG, "300000",
        "Age at which metadata is read anew, in ms.", check=between(0)),
    _worker("metadata.recovery.rebootstrap.trigger.ms", Type.LONG, "300000",
        "Time without any broker after which bootstrap.servers are asked again, in ms.",
        check=between(0),
        ignored="bootstrap.servers are asked again as soon as no known broker answers"),
    _worker("metadata.recovery.strategy", Type.STRING, "rebootstrap",
        "What to do when no known broker answers. Any case.",
        check=one_of_any_case("rebootstrap", "none"),
        ignored="bootstrap.servers are always asked again when no known broker answers"),
    _worker("receive.buffer.bytes", Type.INT, "32768", "Socket buffer; -1 is the system's.",
        importance="MEDIUM", check=between(-1)),
    _worker("send.buffer.bytes", Type.INT, "131072", "Socket buffer; -1 is the system's.",
        importance="MEDIUM", check=between(-1)),
    _worker("reconnect.backoff.ms", Type.LONG, "50", "First pause between connections, in ms.",
        check=between(0)),
    _worker("reconnect.backoff.max.ms", Type.LONG, "1000",
        "Longest pause between connections, in ms.", check=between(0)),
    _worker("request.timeout.ms", Type.INT, "40000", "Longest wait for an answer, in ms.",
        importance="MEDIUM", check=between(0)),
    _worker("retry.backoff.ms", Type.LONG, "100", "First pause between attempts, in ms.",
        check=between(0)),
    _worker("retry.backoff.max.ms", Type.LONG, "1000", "Longest pause between attempts, in ms.",
        check=between(0)),
    _worker("socket.connection.setup.timeout.ms", Type.LONG, "10000",
        "First wait for a connection, in ms.", check=between(0)),
    _worker("socket.connection.setup.timeout.max.ms", Type.LONG, "30000",
        "Longest wait for a connection, in ms.", check=between(0),
        ignored="the time for an attempt to connect does not grow"),
    _worker("session.timeout.ms", Type.INT, "10000",
        "Silence after which a node counts as gone, in ms. Left out, it is 6000 here, where Java"
        " takes 10000.", importance="HIGH", effects=FLOW),
    _worker("heartbeat.interval.ms", Type.INT, "3000",
        "How often a node reports to its group, in ms, at most a third of the session's timeout."
        " Left out, it is 2000 here, where Java takes 3000.", importance="HIGH", effects=FLOW),
    _worker("rebalance.timeout.ms", Type.INT, "60000",
        "Longest time to join a rebalance, in ms. Left out, it is session.timeout.ms here, where"
        " Java takes 60000.", importance="HIGH", effects=FLOW),
)
# fmt: on

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
    *_OBEYED,
    *_CLIENT,
    _worker(
        "rest.extension.classes",
        Type.LIST,
        "",
        "Extensions of the REST server; Kafka's basic authentication alone is known.",
    ),
    _worker(
        "plugin.discovery",
        Type.STRING,
        "hybrid_warn",
        "How plug-ins are found.",
        check=one_of_any_case("only_scan", "service_load", "hybrid_warn", "hybrid_fail"),
        ignored=_NO_PLUGINS,
        accepted=("only_scan", "service_load", "hybrid_fail"),
    ),
    Key(
        ALLOWLIST_KEY,
        Type.LIST,
        "",
        f"With {POLICY_KEY} = Allowlist: the settings that may be overridden.",
        importance="MEDIUM",
        definitions=frozenset({Definition.POLICY}),
        check=items(),
        effects=BUNDLES,
    ),
    *(
        _worker(
            name,
            type_,
            default,
            "Connect's own.",
            importance="MEDIUM" if name.startswith("worker.") else "LOW",
            ignored=reason,
        )
        for name, type_, default, reason in _IGNORED
    ),
)
