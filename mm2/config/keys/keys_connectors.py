"""The keys of the three connectors beside the security keys: ``Mirror*Config``, and Connect's."""

from __future__ import annotations

from functools import partial
from typing import Final

from mm2.config.keys.definition import Definition, Key
from mm2.config.keys.effects import (
    BUNDLES,
    CHECKPOINTS,
    FIXED,
    FLOW,
    HEARTBEATS,
    NEW_ONLY,
    NONE,
    SHARES,
    TASKS,
    TOPICS,
)
from mm2.config.keys.key_types import Type, Value, duration_ms, equals
from mm2.config.keys.value_checks import between, items, one_of, one_of_any_case

_MIRROR: Final = "org.apache.kafka.connect.mirror."
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_SIMPLE: Final = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_PLUGINS: Final = "there are no versions of plug-ins to choose from"
_CONVERTS: Final = f"records are copied as bytes, unchanged. Write {_BYTES}, or remove the key"

_S: Final = frozenset({Definition.SOURCE})
_C: Final = frozenset({Definition.CHECKPOINT})
_H: Final = frozenset({Definition.HEARTBEAT})
_each: Final = partial(Key, definitions=_S | _C | _H)
_source: Final = partial(Key, definitions=_S)
_checkpoint: Final = partial(Key, definitions=_C)
_source_checkpoint: Final = partial(Key, definitions=_S | _C)
_heartbeat: Final = partial(Key, definitions=_H)
_exactly_once: Final = partial(
    Key, importance="MEDIUM", definitions=frozenset({Definition.CONNECT})
)


def _converter(part: str) -> Key:
    doc = f"Connect's converter of a record's {part}; left out, it is ByteArrayConverter."
    accepted: tuple[str, ...] = (_BYTES, "ByteArrayConverter", "ByteArray")
    if part == "header":
        # Java's MirrorMaker needs it for InsertHeader; headers that exist stay as they are here.
        accepted += (_SIMPLE, "SimpleHeaderConverter", "Simple")
    return _each(
        f"{part}.converter",
        Type.CLASS,
        None,
        doc,
        own_class=True,
        refused=_CONVERTS,
        accepted=accepted,
    )


def _converter_version(part: str) -> Key:
    name, doc = f"{part}.converter.plugin.version", "Version of that converter plug-in."
    return _each(name, Type.STRING, None, doc, ignored=_PLUGINS)


def _unless_negative(value: Value) -> object:
    return duration_ms(value) if isinstance(value, int) and value >= 0 else None


# A row each, so that the table can be read as one.
# fmt: off
_FLOW: Final = (
    _each("enabled", Type.BOOLEAN, "true",
        "Whether the flow runs. In a properties file, absence means false.", field="enabled",
        effects=FLOW),
    _each("source.cluster.alias", Type.STRING, None,
        "Alias of the cluster to copy from; filled in.", importance="HIGH", required=True,
        effects=FIXED),
    _each("target.cluster.alias", Type.STRING, "target",
        "Alias of the cluster to copy to; filled in.", importance="HIGH", effects=FIXED),
    _each("admin.timeout.ms", Type.LONG, "60000",
        "Longest wait for an administrative call, in ms, where default.api.timeout.ms of an admin"
        " client is not set.", field="admin_timeout", effects=FLOW),
    _each("replication.policy.class", Type.CLASS, _MIRROR + "DefaultReplicationPolicy",
        "How remote topics are named: Default, Identity or Legacy policy, or a Python class of"
        " yours.", own_class=True, effects=FLOW),
    _each("replication.policy.separator", Type.STRING, ".", "Stands between alias and topic.",
        effects=FLOW),
    _each("replication.policy.internal.topic.separator.enabled", Type.BOOLEAN, "true",
        "Whether internal topics are named with the separator too.", effects=FLOW),
    _each("forwarding.admin.class", Type.CLASS, "org.apache.kafka.clients.admin.ForwardingAdmin",
        "Java class through which every administrative call goes.", own_class=True,
        refused=("mm2 calls the clusters itself, and cannot load Java classes. Remove the key, or"
         " run the flow in Kafka's own MirrorMaker"), effects=FLOW),
    _each("metric.reporters", Type.LIST, "org.apache.kafka.common.metrics.JmxReporter",
        "Java classes to hand metrics to.", check=items(),
        ignored=("mm2 cannot load Java classes; mm2 status, /metrics and the progress topic show"
         " figures")),
)

_SOURCE: Final = (
    _source("topics", Type.LIST, ".*", "Regular expressions of topics to mirror.",
        importance="HIGH", check=items(), effects=TOPICS | CHECKPOINTS),
    _source("topics.exclude", Type.LIST, r"mm2.*\.internal,.*\.replica,__.*",
        "Regular expressions of topics not to mirror; they win over topics.", importance="HIGH",
        check=items(), effects=TOPICS | CHECKPOINTS),
    _source("config.properties.exclude", Type.LIST,
        "follower.replication.throttled.replicas,leader.replication.throttled.replicas,"
        "message.timestamp.difference.max.ms,log.message.timestamp.before.max.ms,"
        "log.message.timestamp.after.max.ms,message.timestamp.type,unclean.leader.election.enable,"
        "min.insync.replicas",
        "Regular expressions of topic settings not to copy; replaces the default list.",
        importance="HIGH", check=items(), effects=TOPICS),
    _source_checkpoint("topic.filter.class", Type.CLASS, _MIRROR + "DefaultTopicFilter",
        "Class that decides which topics are mirrored.", own_class=True,
        effects=TOPICS | CHECKPOINTS),
    _source("config.property.filter.class", Type.CLASS, _MIRROR + "DefaultConfigPropertyFilter",
        "Class that decides which topic settings are copied.", own_class=True, effects=TOPICS),
    _source_checkpoint("consumer.poll.timeout.ms", Type.LONG, "1000",
        "Longest wait of one poll, in ms.",
        ignored=("mm2 waits for nothing but answers; fetch.max.wait.ms says how long a broker may"
         " take")),
    _source("refresh.topics.enabled", Type.BOOLEAN, "true",
        "Whether to look for new topics and partitions.", effects=TOPICS),
    _source("refresh.topics.interval.seconds", Type.LONG, "600",
        "How often to look for new topics and partitions, in s.", field="refresh_topics",
        effects=TOPICS),
    _source("sync.topic.configs.enabled", Type.BOOLEAN, "true",
        "Whether topic settings are copied.", effects=TOPICS),
    _source("sync.topic.configs.interval.seconds", Type.LONG, "600",
        "How often topic settings are copied, in s.", field="sync_topic_configs", effects=TOPICS),
    _source("sync.topic.acls.enabled", Type.BOOLEAN, "true", "Whether topic ACLs are copied.",
        effects=TOPICS),
    _source("sync.topic.acls.interval.seconds", Type.LONG, "600",
        "How often topic ACLs are copied, in s.", field="sync_topic_acls", effects=TOPICS),
    _source("replication.factor", Type.INT, "2", "Replicas of the topics that mirroring creates.",
        field="replication_factor", effects=TOPICS),
    _source("offset-syncs.topic.replication.factor", Type.SHORT, "3",
        "Replicas of the offset-syncs topic.", field="offset_syncs_replication_factor",
        effects=NEW_ONLY),
    _source_checkpoint("offset-syncs.topic.location", Type.STRING, "source",
        "Cluster that holds the offset-syncs topic.", check=one_of("source", "target"),
        field="offset_syncs_location", effects=CHECKPOINTS | BUNDLES),
    _source("offset.lag.max", Type.LONG, "100", "Records by which an offset sync may be behind.",
        field="offset_lag_max", effects=BUNDLES),
    _source("emit.offset-syncs.enabled", Type.BOOLEAN, "true", "Whether offset syncs are written.",
        field="emit_offset_syncs", effects=CHECKPOINTS | BUNDLES),
    _source("heartbeats.replication.enabled", Type.BOOLEAN, "true",
        "Whether heartbeats topics are mirrored always.", field="heartbeats_replication",
        effects=TOPICS),
    _source_checkpoint("metric.names.formats", Type.LIST, "legacy",
        "Formats in which metrics are named (KIP-1280).",
        check=items(empty_allowed=False, allowed=("legacy", "new")),
        field="metric_names_formats", effects=TASKS),
)

_CHECKPOINT: Final = (
    _checkpoint("groups", Type.LIST, ".*", "Regular expressions of groups to follow.",
        importance="HIGH", check=items(), effects=CHECKPOINTS),
    _checkpoint("groups.exclude", Type.LIST, "console-consumer-.*,connect-.*,__.*",
        "Regular expressions of groups not to follow; they win over groups.", importance="HIGH",
        check=items(), effects=CHECKPOINTS),
    _checkpoint("group.filter.class", Type.CLASS, _MIRROR + "DefaultGroupFilter",
        "Class that decides which groups are followed.", own_class=True, effects=CHECKPOINTS),
    _checkpoint("refresh.groups.enabled", Type.BOOLEAN, "true", "Whether to look for new groups.",
        effects=CHECKPOINTS),
    _checkpoint("refresh.groups.interval.seconds", Type.LONG, "600",
        "How often to look for new groups, in s.", field="refresh_groups", effects=CHECKPOINTS),
    _checkpoint("emit.checkpoints.enabled", Type.BOOLEAN, "true",
        "Whether checkpoints are written.", effects=CHECKPOINTS),
    _checkpoint("emit.checkpoints.interval.seconds", Type.LONG, "60",
        "How often checkpoints are written, in s.", field="emit_checkpoints", effects=CHECKPOINTS),
    _checkpoint("sync.group.offsets.enabled", Type.BOOLEAN, "false",
        "Whether idle groups' offsets are set on the target.", effects=CHECKPOINTS),
    _checkpoint("sync.group.offsets.interval.seconds", Type.LONG, "60",
        "How often groups' offsets are set on the target, in s.", field="sync_group_offsets",
        effects=CHECKPOINTS),
    _checkpoint("checkpoints.topic.replication.factor", Type.SHORT, "3",
        "Replicas of the checkpoints topic.", field="checkpoints_replication_factor",
        effects=NEW_ONLY),
)

_HEARTBEAT: Final = (
    _heartbeat("emit.heartbeats.enabled", Type.BOOLEAN, "true", "Whether heartbeats are written.",
        effects=HEARTBEATS),
    _heartbeat("emit.heartbeats.interval.seconds", Type.LONG, "1",
        "How often heartbeats are written, in s.", field="emit_heartbeats", effects=HEARTBEATS),
    _heartbeat("heartbeats.topic.replication.factor", Type.SHORT, "3",
        "Replicas of the heartbeats topic.", field="heartbeats_replication_factor",
        effects=NEW_ONLY),
)

_CONNECT: Final = (
    _each("name", Type.STRING, None, "Name of the connector; filled in.", importance="HIGH",
        required=True, effects=FIXED),
    _each("connector.class", Type.STRING, None, "Java class of the connector; filled in.",
        importance="HIGH", required=True, effects=FIXED),
    _each("connector.plugin.version", Type.STRING, None, "Version of the plug-in.",
        importance="MEDIUM", ignored=_PLUGINS),
    _each("tasks.max", Type.INT, "1",
        "Most parallel tasks of a connector. `auto` lets their number follow the lag, up to the"
        " partitions, the cores of the machine or the slots of the Spark cluster.",
        importance="HIGH", check=between(1), word="auto", field="tasks_max", effects=SHARES),
    _each("tasks.max.enforce", Type.BOOLEAN, "true",
        "Whether a connector with more tasks than that fails.",
        ignored="there are never more tasks"),
    *(_converter(part) for part in ("key", "value", "header")),
    *(_converter_version(part) for part in ("key", "value", "header")),
    _each("transforms", Type.LIST, "",
        "Names of Connect's transforms to apply to records, in this order.", check=items(),
        effects=BUNDLES | CHECKPOINTS | HEARTBEATS),
    _each("predicates", Type.LIST, "", "Names of the predicates that transforms use.",
        check=items(), effects=BUNDLES | CHECKPOINTS | HEARTBEATS),
    _each("config.action.reload", Type.STRING, "restart",
        "What to do when a provider's value has expired.", check=one_of("none", "restart"),
        ignored="values of Kafka's providers do not expire"),
    _each("errors.retry.timeout", Type.LONG, "0",
        "How long a refused record is sent again before it is skipped, in ms; -1: for ever.",
        importance="MEDIUM", field="retry_timeout", convert=_unless_negative, effects=BUNDLES),
    _each("errors.retry.delay.max.ms", Type.LONG, "60000",
        "After what time a partition that stopped tries again, in ms.", importance="MEDIUM",
        field="retry_delay", effects=BUNDLES),
    _each("errors.tolerance", Type.STRING, "none",
        "none: a partition stops at a record that the target refuses; all: the record is skipped.",
        importance="MEDIUM", check=one_of("none", "all"), field="tolerates", convert=equals("all"),
        effects=BUNDLES),
    _each("errors.log.enable", Type.BOOLEAN, "false",
        "Whether each skipped record is logged, also with a dead-letter topic.",
        importance="MEDIUM", field="logs", effects=BUNDLES),
    _each("errors.log.include.messages", Type.BOOLEAN, "false",
        "Whether its key and value are logged with it. If true, the reason why an expression of"
        " transforms.sql fails has the values of its operands, too.", importance="MEDIUM",
        field="logs_messages", effects=BUNDLES),
)
"""The keys that every connector has, whatever it does: Connect's ``ConnectorConfig``."""

_EXACTLY_ONCE: Final = (
    _exactly_once("exactly.once.support", Type.STRING, "requested",
        "With `required` the file is refused unless the flow mirrors exactly once:"
        " `B.exactly.once.source.support = enabled`, and its consumer reads what is committed.",
        check=one_of_any_case("requested", "required"), effects=NONE),
    _exactly_once("transaction.boundary", Type.STRING, "poll",
        "When transactions end: `poll` as soon as what was fetched is written, and at least every"
        " 250 ms; `interval` every `transaction.boundary.interval.ms`.",
        check=one_of_any_case("poll", "interval", "connector"), effects=BUNDLES),
    _exactly_once("transaction.boundary.interval.ms", Type.LONG, None,
        "Time between commits with `transaction.boundary = interval`, in ms; left out, it is"
        " `offset.flush.interval.ms`. Never more than half of `transaction.timeout.ms`.",
        check=lambda value: None if value is None else between(1)(value), effects=BUNDLES),
    _exactly_once("offsets.storage.topic", Type.STRING, None,
        "Positions are written to the worker's `offset.storage.topic`; any other is refused.",
        effects=NONE),
)
"""Written ``A->B.key``; Java's MirrorMaker leaves them to Connect's framework (KIP-618)."""
# fmt: on

CONNECTOR_KEYS: Final = (*_FLOW, *_SOURCE, *_CHECKPOINT, *_HEARTBEAT, *_CONNECT, *_EXACTLY_ONCE)
